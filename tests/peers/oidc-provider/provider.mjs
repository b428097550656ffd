// `oidc-provider` from npm with one person, who signs in and consents without being asked. Prints its port.
import Provider from "oidc-provider";
import { createServer } from "node:http";

// Its warnings about a provider for development would come before the port, and after it to nobody.
console.info = console.warn = () => {};

const server = createServer((request, response) => handle(request, response));
let handle;
server.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(url, {
    clients: [{ client_id: "millrace", client_secret: "s3cret-of-the-client", redirect_uris: ["https://millrace.test/login"], response_types: ["code"], grant_types: ["authorization_code"] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/sign-in/${interaction.uid}` },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: "jo@x.test", email_verified: true, name: "Jo" }) }),
    cookies: { keys: ["a key of the cookies"] },
  });
  // The server's port is not known yet.
  provider.Client.prototype.redirectUriAllowed = (uri) => /^http:\/\/127\.0\.0\.1:\d+\/login$/.test(uri);
  const callback = provider.callback();
  handle = async (request, response) => {
    if (!request.url.startsWith("/sign-in/")) return callback(request, response);
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    if (prompt.name === "login") return provider.interactionFinished(request, response, { login: { accountId: "person-7" } });
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope(params.scope);
    const grantId = await grant.save();
    await provider.interactionFinished(request, response, { consent: { grantId } }, { mergeWithLastSubmission: true });
  };
  console.log(String(server.address().port));
});
process.stdin.on("close", () => process.exit()).resume();
