import { describe, expect, it } from "vitest";
import { changedNumber, ExactJson, exactText, readExact, WrittenNumber } from "./exact";

describe("JSON with its numbers as they were written", () => {
  it("keeps numbers, the order of names, and strings that look like marks", () => {
    const text =
      '{"b":12345678901234567890,"10":-1.50,"2":1e400,"s":"n1","n":"s\\"2\\u0000","__proto__":[true,null,0]}';
    expect(ExactJson.parse(text).text()).toBe(text);
  });

  it("reads a part of an answer", () => {
    const answer = ExactJson.parse('{"data":[{"value":{"id":9007199254740993}},{"value":1.0}]}');
    expect(
      answer
        .at("data")
        .items()
        .map((item) => item.at("value").text()),
    ).toEqual(['{"id":9007199254740993}', "1.0"]);
    expect(answer.at("nothing").at("more").text()).toBe("");
    expect(ExactJson.parse('{"a":1.0}').text(2)).toBe('{\n  "a": 1.0\n}');
  });

  it("refuses what is no JSON", () => {
    expect(() => ExactJson.parse('{"a":01}')).toThrow();
    expect(() => ExactJson.parse('{"a":"')).toThrow();
  });
});

describe("values with numbers that JavaScript would change", () => {
  it("are written as they were read", () => {
    const text =
      '{"id":1234567890123456789,"f":1.0,"e":[1e+3,-0],"n":1.5,"s":"1.0","__proto__":2.0}';
    expect(exactText(readExact(text))).toBe(text);
    expect(exactText(readExact('{"a":1.0}'), 2)).toBe('{\n  "a": 1.0\n}');
    expect(exactText(undefined)).toBeUndefined();
  });

  it("are numbers to all others", () => {
    expect(readExact('[1.5,12,"1e3"]')).toEqual([1.5, 12, "1e3"]);
    const value = readExact("[1.0]");
    expect(value).toEqual([new WrittenNumber("1.0")]);
    expect(JSON.stringify(value)).toBe("[1]");
    expect(() => readExact('{"a":01.0}')).toThrow();
  });
});

describe("a number that JavaScript would change", () => {
  it("is found outside strings alone", () => {
    expect(changedNumber('{"a":"9007199254740993","b":-9007199254740993}')).toBe(
      "-9007199254740993",
    );
    expect(changedNumber("[1e400]")).toBe("1e400");
    expect(
      changedNumber('{"a\\"9007199254740993":[0.1,1e21,-0,9007199254740991]}'),
    ).toBeUndefined();
  });
});
