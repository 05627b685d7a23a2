// A real OpenID Connect provider for tests: people sign in with any name that a test has put in, and its keys can be
// changed while it runs. It listens on a free port of this machine, prints its address, and ends with its standard input.

import { createServer } from 'node:http';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import Provider from 'oidc-provider';

const [redirectUri] = process.argv.slice(2);
const accounts = new Map();

// What ID tokens are signed with.
function freshKeys() {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  return { keys: [{ ...rsa.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' }] };
}

function providerWith(issuer, jwks) {
  const provider = new Provider(issuer, {
    jwks,
    clients: [{ client_id: 'gpuaas', client_secret: 'a secret: with/odd+characters', redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'], profile: ['name'] },
    cookies: { keys: ['only-for-tests'] },
    pkce: { required: () => true },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, ...accounts.get(id) }),
    }),
  });
  provider.on('server_error', (_, error) => console.error(error));
  return provider.callback();
}

async function bodyOf(request) {
  let text = '';
  for await (const piece of request) text += piece;
  return text;
}

let answer;
const server = createServer(async (request, response) => {
  // What tests change goes past the provider.
  if (request.url.startsWith('/test/accounts/')) {
    accounts.set(request.url.split('/').pop(), JSON.parse(await bodyOf(request)));
    response.end();
  } else if (request.url === '/test/rotate') {
    answer = providerWith(issuer, freshKeys());
    response.end();
  } else {
    answer(request, response);
  }
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
answer = providerWith(issuer, freshKeys());
console.log(issuer);
// Whoever started this may not listen any longer; that is no reason to end.
process.stdout.on('error', () => {});
// A test that dies leaves nothing behind.
process.stdin.on('end', () => process.exit(0)).resume();
