import { describe, expect, it } from "vitest";
import { streamsOf } from "./topics";

describe("streams of topics", () => {
  it("have each topic once, whatever the order", () => {
    expect(streamsOf(["runs", "logs:p_1", "runs"])).toEqual(["/v1/stream?topics=logs%3Ap_1,runs"]);
    expect(streamsOf(["logs:p_1", "runs"])).toEqual(streamsOf(["runs", "logs:p_1"]));
    expect(streamsOf([])).toEqual([]);
  });

  it("have no more topics than the server allows", () => {
    const many = Array.from({ length: 17 }, (_, at) => `logs:p_${at + 10}`);
    const streams = streamsOf(many);
    expect(streams.map((url) => url.split(",").length)).toEqual([16, 1]);
  });
});
