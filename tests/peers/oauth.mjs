// An OAuth 2 provider for tests: codes with PKCE, rotating refresh tokens, revocation. Prints its port.
// A client's first token ends after a minute, those after it after an hour; those of the scope `short` always after a minute.
import { createHash } from "node:crypto";
import { createServer } from "node:http";

const codes = new Map();
const refreshTokens = new Map();
const stats = { refreshes: 0, revoked: [], last: 0 };
let refuses = false;
let isDown = false;

const send = (response, status, body, headers = {}) => response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

function tokens(scope, first) {
  const n = ++stats.last;
  refreshTokens.set(`rt${n}`, scope);
  const claims = Buffer.from(JSON.stringify({ sub: "user-7" })).toString("base64url");
  return { access_token: `at${n}`, refresh_token: `rt${n}`, token_type: "bearer", expires_in: first || scope === "short" ? 60 : 3600, id_token: `h.${claims}.s` };
}

function token(form, authorization) {
  if (authorization !== `Basic ${Buffer.from("client:s3cret").toString("base64")}`) return [401, { error: "invalid_client" }];
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
      if (isDown) return send(response, 503, { error: "temporarily_unavailable" });
      return send(response, ...token(form, request.headers.authorization));
    case "/revoke":
      stats.revoked.push(form.get("token"));
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
