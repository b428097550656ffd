import { describe, expect, test } from "vitest";
import { curlStep, isCurl } from "./curl";

type Config = {
  method: string;
  url: string;
  headers?: Record<string, unknown>;
  data?: unknown;
  transformRequest?: unknown;
};

/** The request that the step of a line makes: its code, run. */
async function made(line: string): Promise<Config & { authorization?: unknown; notes: string[] }> {
  const found = curlStep(line);
  if ("problem" in found) throw new Error(found.problem);
  const { step, notes } = found;
  const code = step.runs.kind === "code" ? step.runs.code : "";
  const body = code.replace(/^import.*$/m, "").replace("export default", "return");
  const component = new Function("axios", "defineComponent", body)(
    (_: unknown, config: Config) => config,
    (given: unknown) => given,
  );
  const config: Config = await component.run.call(step.props, { steps: {}, $: {} });
  const { Authorization: _, ...headers } = config.headers ?? {};
  return { ...config, headers, notes, ...step.props };
}

const U = "https://a.example/p";
const FORM = { "Content-Type": "application/x-www-form-urlencoded" };
const JSON_TYPE = { "Content-Type": "application/json" };

describe("a pasted line makes the request that curl makes", () => {
  const bs = String.raw;
  test.each<[string, Partial<Awaited<ReturnType<typeof made>>>]>([
    [`curl ${U}`, { method: "GET", url: U }],
    [`$ curl ${U}`, { url: U }],
    [`# first\nAPI=1 curl.exe ${U}`, { url: U }],
    ["curl localhost:3000/x", { url: "http://localhost:3000/x" }],
    [`curl -d a=1 --data b=2 ${U}`, { method: "POST", data: "a=1&b=2", headers: FORM }],
    [`curl -sd 'x=1' ${U}`, { url: U, data: "x=1" }],
    [`curl -dx=1 -XPUT ${U}`, { method: "PUT", data: "x=1" }],
    [`curl --request=PATCH --data=x --url=${U}`, { method: "PATCH", data: "x", url: U }],
    [`curl -sXPOST ${U}`, { method: "POST" }],
    [`curl -I ${U}`, { method: "HEAD" }],
    [`curl -X DELETE ${U} -d x`, { method: "DELETE", data: "x" }],
    [`curl -X GET ${U} -d x`, { method: "GET", data: "x" }],
    [
      `curl -G ${U} -d a=1 --data-urlencode 'q=a b&c'`,
      { method: "GET", url: `${U}?a=1&q=a+b%26c` },
    ],
    [`curl -G '${U}?z=0' -d a=1`, { url: `${U}?z=0&a=1` }],
    [`curl -G -X POST ${U} -d a=1`, { method: "POST", url: `${U}?a=1` }],
    [`curl --url-query 'a=b c' ${U}`, { url: `${U}?a=b+c` }],
    [`curl ${U} --data-urlencode 'q=ü'`, { data: "q=%C3%BC" }],
    [`curl ${U} --data-urlencode 'a b'`, { data: "a+b" }],
    [`curl --json '{"a":' --json '1}' ${U}`, { data: { a: 1 }, method: "POST" }],
    [`curl --json '{}' ${U}`, { headers: { ...JSON_TYPE, Accept: "application/json" } }],
    [
      `curl ${U} -H 'Content-Type: application/json' -d '{"id": 12345678901234567890}'`,
      { data: '{"id": 12345678901234567890}' },
    ],
    [`curl ${U} -H 'content-type: application/json' -d '{"a": 1.0}'`, { data: '{"a": 1.0}' }],
    [
      `curl ${U} -H 'content-type: application/json' -d '{"a": [1, "x y"]}'`,
      { data: { a: [1, "x y"] } },
    ],
    [
      `curl ${U} -H 'content-type: application/json' -d 'not json'`,
      { data: "not json", transformRequest: expect.any(Function) },
    ],
    [`curl --data-raw @me ${U}`, { data: "@me" }],
    [`curl -b 'a=1; b=2' ${U}`, { url: U, headers: { Cookie: "a=1; b=2" } }],
    [
      `curl -A agent/1 -e https://ref.example/ ${U}`,
      { url: U, headers: { "User-Agent": "agent/1", Referer: "https://ref.example/" } },
    ],
    [`curl -A agent/1 -H 'User-Agent: mine' ${U}`, { headers: { "User-Agent": "mine" } }],
    [`curl -r 0-9 ${U}`, { headers: { Range: "bytes=0-9" } }],
    [`curl -H 'X-A: 1' -H 'x-a: 2' ${U}`, { headers: { "X-A": ["1", "2"] } }],
    [
      `curl -H 'X-Empty;' -H 'Accept:' -H 'X-None:' ${U}`,
      { headers: { "X-Empty": "", Accept: false } },
    ],
    [`curl -H 'X: a: b' ${U}`, { headers: { X: "a: b" } }],
    [`curl -u ada:pw ${U}`, { url: U, authorization: "Basic YWRhOnB3" }],
    [`curl -isuada:pw ${U}`, { url: U, authorization: "Basic YWRhOnB3" }],
    [`curl -u 'müller:€' ${U}`, { authorization: "Basic bcO8bGxlcjrigqw=" }],
    [`curl --oauth2-bearer tok ${U}`, { url: U, authorization: "Bearer tok" }],
    [
      "curl https://ada:p%40w@a.example/p?x=1",
      { url: `${U}?x=1`, authorization: "Basic YWRhOnBAdw==" },
    ],
    [`curl -u a:b -H 'authorization: Bearer t' ${U}`, { authorization: "Bearer t", headers: {} }],
    [`curl ${U} -s | jq .x`, { url: U, notes: [] }],
    [`curl -s ${U} > out.json 2>&1 && echo b`, { url: U, notes: [] }],
    [`curl '${U}?a=1&b=2'`, { url: `${U}?a=1&b=2` }],
    [`curl -H "X: say \\"hi\\"" -H 'Y: it'\\''s' ${U}`, { headers: { X: 'say "hi"', Y: "it's" } }],
    [`curl -X POST \\\r\n  -d 'a' \\\r\n  ${U}\r\n`, { method: "POST", data: "a", url: U }],
    [`curl -X POST \`\n  -d 'a' \`\n  ${U}`, { data: "a", url: U }],
    [`curl ${U}\n  -d 'a'`, { data: "a" }],
    [
      bs`curl ${U} --data-raw $'{"t":"it\'s\nnew \u0021\x c3\xc3\xa9"}'`.replace("\\x c3", ""),
      { data: '{"t":"it\'s\nnew !é"}' },
    ],
    [
      bs`curl ^"${U}?a^=1^&b=2^" ^` +
        "\n" +
        bs` -H ^"accept: */*^" ^` +
        "\n" +
        bs` --data-raw ^"^{^\^"a^\^":1^}^"`,
      { url: `${U}?a=1&b=2`, headers: { accept: "*/*", ...FORM }, data: '{"a":1}' },
    ],
    [`curl "${U}" ^\r\n -d "{\\"a\\":\\"b c\\"}"`, { data: '{"a":"b c"}' }],
    [bs`curl.exe -X POST "${U}" -d "{\"a\":1}"`, { data: '{"a":1}' }],
    [`curl "${U}" -d "{""a"":""b""}"`, { data: '{"a":"b"}' }],
    [`curl ${U} -d '{"a":"","b":""}'`, { data: '{"a":"","b":""}' }],
    [`curl --noproxy '*' -x http://proxy.example:1 ${U}`, { url: U, notes: ["Ignored: -x."] }],
    [
      `curl -k --proxy http://p.example --cert c.pem ${U}`,
      { url: U, notes: ["Ignored: -k, --proxy, --cert."] },
    ],
    [`curl ${U} https://b.example`, { url: U, notes: ["Only the first request is used."] }],
    [
      `curl ${U} --next -d x https://b.example`,
      { url: U, method: "GET", notes: ["Only the first request is used."] },
    ],
    [`curl -H "Authorization: Bearer $TOKEN" ${U}`, { notes: ["Replace $TOKEN with its value."] }],
    [`curl ${U} && curl https://b.example`, { url: U, notes: ["Only the first request is used."] }],
    [`curl ${U}\ncurl https://b.example`, { url: U, notes: ["Only the first request is used."] }],
    [`curl -b a=1 -b b=2 ${U}`, { headers: { Cookie: "a=1; b=2" } }],
    [`curl -b a=1 -H 'Cookie: c=3' ${U}`, { headers: { Cookie: "c=3" } }],
    [
      `curl --digest -u a:b ${U}`,
      {
        headers: {},
        notes: [
          "Ignored: --digest.",
          "The user and the password are not sent: --digest is not Basic.",
        ],
      },
    ],
    [
      `curl --aws-sigv4 aws:amz:us-east-1:s3 --user AK:SK ${U}`,
      { headers: {}, notes: expect.arrayContaining(["Ignored: --aws-sigv4."]) },
    ],
    [
      `curl -F 'd={"a":1};type=application/json' ${U}`,
      { notes: ["Ignored: type=application/json of d."] },
    ],
    [`export A=b\ncurl ${U}`, { url: U }],
    [`sudo -E /usr/bin/curl ${U}`, { url: U, notes: [] }],
    ["```bash\ncurl -d a=1 https://a.example/p\n```", { url: U, data: "a=1", notes: [] }],
    [
      `curl -H \u201cX: 1\u201d ${U}`,
      { notes: expect.arrayContaining(["Use plain quotes and dashes instead of \u201c."]) },
    ],
    [`curl ${U} -d @- <<'EOF'\na=$1\n&b=2\nEOF\n`, { url: U, data: "a=$1&b=2", notes: [] }],
    [`curl --json @- ${U} <<EOF\n{"a": 1}\nEOF`, { data: { a: 1 } }],
    [`curl --data-binary @- ${U} <<< 'x y'`, { url: U, data: "x y\n" }],
    [`curl -d 'price=$5' ${U}`, { data: "price=$5", notes: [] }],
    [
      `curl --no-location --connect-timeout 5 -o out -w '%{http_code}' -L --retry 3 ${U}`,
      { url: U, notes: [] },
    ],
    [
      `curl --max-time 5 --resolve a.example:443:1.2.3.4 ${U}`,
      { url: U, notes: ["Ignored: --resolve."] },
    ],
  ])("%s", async (line, wanted) => {
    expect(isCurl(line)).toBe(true);
    expect(await made(line)).toMatchObject(wanted);
  });
});

test("a form is sent in parts", async () => {
  const { method, data } = await made(
    `curl -F name=Ada -F 'note="a;b";type=text/plain' -F 'f={};type=application/json;filename=f.json' --form-string '@x=@y' ${U}`,
  );
  expect(method).toBe("POST");
  const form = data as FormData;
  expect(form.get("name")).toBe("Ada");
  expect(form.get("@x")).toBe("@y");
  // As text, which has no file name: curl sends none, and a form of the step would.
  expect(form.get("note")).toBe("a;b");
  const file = form.get("f") as File;
  expect([await file.text(), file.type, file.name]).toEqual(["{}", "application/json", "f.json"]);
});

test("credentials are a secret, and not in the code", () => {
  for (const line of [
    `curl -u ada:s3cret ${U}`,
    `curl ${U} -H "Authorization: Bearer s3cret"`,
    "curl https://ada:s3cret@a.example/p",
  ]) {
    const found = curlStep(line);
    if ("problem" in found) throw new Error(found.problem);
    expect(found.step.secrets).toEqual(["authorization"]);
    expect(JSON.stringify(found.step.runs)).not.toContain("s3cret");
  }
});

test("a password of another scheme than Basic is not in the step", () => {
  for (const line of [
    `curl --digest -u ada:s3cret ${U}`,
    `curl --aws-sigv4 aws:amz -u ada:s3cret ${U}`,
    "curl --ntlm https://ada:s3cret@a.example/p",
  ]) {
    const found = curlStep(line);
    if ("problem" in found) throw new Error(found.problem);
    expect(found.step.props).toEqual({});
    expect(JSON.stringify(found)).not.toContain("s3cret");
  }
});

test.each([
  ["curl --version", "no URL"],
  [`curl --flub x ${U}`, "--flub"],
  [`curl -s^ ${U}`, "-^"],
  [`curl ${U} -d`, "-d has no value"],
  ["curl ftp://a.example/x", "ftp://"],
  [`curl -d @body.json ${U}`, "@body.json"],
  [`curl -T a.txt ${U}`, "a.txt"],
  [`curl -d @- ${U} <<EOF\n$A\nEOF`, "@-"],
  [`curl -F 'f=@a.png' ${U}`, "@a.png"],
  [`curl -H @heads ${U}`, "@heads"],
  [`curl -b jar.txt ${U}`, "jar.txt"],
  [`curl --data-urlencode x@f ${U}`, "x@f"],
  ["curl 'https://a.example/[1-3]'", "several"],
])("%s is refused: %s", (line, says) => {
  expect(curlStep(line)).toEqual({ problem: expect.stringContaining(says) });
});

test("other text is no curl line", () => {
  for (const text of ["curly braces", "code: curl x", "echo curl x"])
    expect(isCurl(text)).toBe(false);
});
