// A provider of OpenID Connect for tests. Prints its port. What it says is set with `POST /next`: claims over its own, and how it goes wrong.
import { createHash, createHmac, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";

const SECRET = "s3cret-of-the-client";
const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
const other = generateKeyPairSync("rsa", { modulusLength: 2048 });
const codes = new Map();
let next = {};
let url = "";

const encode = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const send = (response, status, body) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

function idToken(nonce) {
  const now = Math.floor(Date.now() / 1000);
  const person = { email: "jo@x.test", email_verified: true, name: "Jo" };
  const claims = { iss: url, sub: "s-1", aud: "millrace", iat: now, exp: now + 300, nonce, ...(next.userinfo ? {} : person), ...next.claims };
  const header = { alg: next.alg ?? "RS256", kid: next.kid ?? "k1", typ: "JWT" };
  const message = `${encode(header)}.${encode(claims)}`;
  if (next.alg === "none") return `${message}.`;
  if (next.alg === "HS256") return `${message}.${createHmac("sha256", next.hmac === "key" ? createPublicKey(pair.privateKey).export({ type: "spki", format: "pem" }) : SECRET).update(message).digest("base64url")}`;
  const key = next.sign === "other" ? other.privateKey : pair.privateKey;
  return `${message}.${sign("sha256", Buffer.from(message), key).toString("base64url")}`;
}

function token(form, authorization) {
  if (authorization !== `Basic ${Buffer.from(`millrace:${SECRET}`).toString("base64")}`) return [401, { error: "invalid_client" }];
  const code = codes.get(form.get("code"));
  codes.delete(form.get("code"));
  const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
  if (!code || code.challenge !== challenge || code.redirect !== form.get("redirect_uri")) return [400, { error: "invalid_grant" }];
  return [200, { access_token: "at", token_type: "bearer", expires_in: 60, id_token: idToken(code.nonce) }];
}

/** The most that one answer without an end came to, until it is asked for. */
let taken = 0;

/** Blanks, until the other side has enough. */
function endless(response) {
  let count = 0;
  response.writeHead(200, { "content-type": "application/json" });
  const piece = Buffer.alloc(64 << 10, " ");
  const more = () => {
    for (let room = true; room && !response.destroyed; taken = Math.max(taken, (count += piece.length))) room = response.write(piece);
  };
  response.on("drain", more);
  more();
}

const server = createServer(async (request, response) => {
  const at = new URL(request.url, url);
  let body = "";
  for await (const chunk of request) body += chunk;
  if (next.endless === at.pathname) return endless(response);
  if (next.redirects === at.pathname) return response.writeHead(307, { location: `${url}/elsewhere` }).end();
  switch (at.pathname) {
    case "/.well-known/openid-configuration":
      return send(response, 200, {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
        userinfo_endpoint: `${url}/userinfo`,
      });
    case "/authorize": {
      const asked = (name) => at.searchParams.get(name);
      if (asked("response_type") !== "code" || asked("code_challenge_method") !== "S256") return send(response, 400, { error: "invalid_request" });
      const code = `code-${Math.random()}`;
      codes.set(code, { challenge: asked("code_challenge"), redirect: asked("redirect_uri"), nonce: asked("nonce") });
      const back = new URL(asked("redirect_uri"));
      back.searchParams.set("code", code);
      back.searchParams.set("state", asked("state"));
      return response.writeHead(302, { location: back.href }).end();
    }
    case "/token":
      return send(response, ...token(new URLSearchParams(body), request.headers.authorization));
    case "/keys": {
      // A key of a kind that nobody knows is passed over.
      const key = { ...createPublicKey(pair.privateKey).export({ format: "jwk" }), kid: "k1", use: "sig", alg: "RS256" };
      return send(response, 200, { keys: [{ kty: "future", kid: "k0" }, key] });
    }
    case "/userinfo":
      return request.headers.authorization === "Bearer at" ? send(response, 200, next.userinfo ?? {}) : send(response, 401, {});
    case "/taken":
      send(response, 200, { bytes: taken });
      taken = 0;
      return;
    case "/next":
      next = JSON.parse(body);
      return send(response, 200, {});
  }
  send(response, 404, {});
});

server.listen(0, "127.0.0.1", () => {
  url = `http://127.0.0.1:${server.address().port}`;
  console.log(String(server.address().port));
});
process.stdin.on("close", () => process.exit()).resume();
