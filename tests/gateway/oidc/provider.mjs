// An OpenID provider with its own login form: any name signs in, and is the user's e-mail address.
import { Provider } from "oidc-provider";

const [port, redirectUri] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [
    { client_id: "heddle", client_secret: "a-secret-of-the-client", redirect_uris: [redirectUri] },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  cookies: { keys: ["only for tests"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: id, email_verified: !id.startsWith("new"), name: "Ann" }),
  }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
