// An OAuth 2 provider for tests: codes with PKCE, rotating refresh tokens, revocation. Prints its port.
// A client's first token ends at once, those after it after an hour; those of other scopes always as LIVES has it.
import { createHash } from "node:crypto";
import { createServer } from "node:http";

const codes = new Map();
const refreshTokens = new Map();
const LIVES = { ended: 0, short: 60, brief: 300, hour: 3600 };
const stats = { asked: 0, refreshes: 0, revoked: [], last: 0 };
let refuses = false;
let isDown = false;
let hangs = false;
let said;

const send = (response, status, body, headers = {}) => response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

function tokens(scope, first) {
  const n = ++stats.last;
  refreshTokens.set(`rt${n}`, scope);
  const claims = Buffer.from(JSON.stringify({ sub: "user-7" })).toString("base64url");
  return { access_token: `at${n}`, refresh_token: `rt${n}`, token_type: "bearer", expires_in: LIVES[scope] ?? (first ? 0 : 3600), id_token: `h.${claims}.s` };
}

const knows = (form, authorization) => (authorization === undefined ? form.get("client_id") === "client" && form.get("client_secret") === "s3cret" : authorization === `Basic ${Buffer.from("client:s3cret").toString("base64")}` && !form.has("client_secret"));

function token(form, authorization) {
  if (!knows(form, authorization)) return [401, { error: "invalid_client" }];
  if (form.get("grant_type") === "refresh_token") {
    const scope = refreshTokens.get(form.get("refresh_token"));
    if (refuses || scope === undefined) return [400, { error: "invalid_grant" }];
    refreshTokens.delete(form.get("refresh_token"));
    stats.refreshes++;
    return [200, tokens(scope, false)];
  }
  const code = codes.get(form.get("code"));
  codes.delete(form.get("code"));
  const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
  if (!code || code.challenge !== challenge || code.redirect !== form.get("redirect_uri")) return [400, { error: "invalid_grant" }];
  return [200, tokens(code.scope, true)];
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  let body = "";
  for await (const chunk of request) body += chunk;
  const form = new URLSearchParams(body);
  switch (url.pathname) {
    case "/authorize": {
      const code = `code${codes.size + 1}`;
      codes.set(code, { challenge: url.searchParams.get("code_challenge"), redirect: url.searchParams.get("redirect_uri"), scope: url.searchParams.get("scope") });
      const back = new URL(url.searchParams.get("redirect_uri"));
      back.searchParams.set("code", code);
      back.searchParams.set("state", url.searchParams.get("state"));
      return response.writeHead(302, { location: back.href }).end();
    }
    case "/token":
      stats.asked++;
      if (hangs) return;
      if (said) {
        const repeated = { refresh_token: form.get("refresh_token"), basic: request.headers.authorization ?? "" };
        return response.writeHead(said.status, { "content-type": "application/json" }).end(said.body.replace(/\{(\w+)\}/g, (whole, name) => repeated[name] ?? whole));
      }
      if (isDown) return send(response, 503, { error: "temporarily_unavailable" });
      return send(response, ...token(form, request.headers.authorization));
    case "/revoke":
      if (!knows(form, request.headers.authorization) || form.get("token_type_hint") !== "refresh_token") return send(response, 401, { error: "invalid_client" });
      stats.revoked.push(form.get("token"));
      return send(response, 200, {});
    case "/hang":
      hangs = true;
      return send(response, 200, {});
    case "/say": // What the token endpoint answers from now on; without a status as it does by itself.
      said = url.searchParams.has("status") ? { status: Number(url.searchParams.get("status")), body: url.searchParams.get("body") } : undefined;
      return send(response, 200, {});
    case "/down":
      isDown = url.searchParams.get("for") === "now";
      return send(response, 200, {});
    case "/refuse":
      refuses = true;
      return send(response, 200, {});
    default:
      return send(response, 200, stats);
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit(0));
