// What the browser tests run against: a real `gpuaas` process on a free port with a folder of its own, and Debian's Chromium. Both
// are ended in any case, and nothing of the network is made up. `startPlatform` has a simulated fleet; `startEmptyPlatform` has
// nothing but its first operator, and a real identity provider for people to sign in through.
//
// GPUAAS names the program. While the portal is worked on, PORTAL=preview serves portal/dist in front of a program that was
// built without it.
import { execFile, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

const program = process.env.GPUAAS ?? new URL('../../target/debug/gpuaas', import.meta.url).pathname;
const previewed = process.env.PORTAL === 'preview';

/** How long anything on a page may take. Generous, since it is only waited for when something is wrong. */
const patienceMs = Number(process.env.PATIENCE_MS ?? '30000');

const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** Starts something that prints lines, and gives it every line until it says that it is ready. */
async function startProcess(command, args, { stdin = 'ignore', ready }) {
  const child = spawn(command, args, { stdio: [stdin, 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  // Whatever ends the tests ends it, too.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  let isReady = false;
  for await (const line of createInterface({ input: child.stdout })) {
    isReady = ready(line);
    if (isReady) break;
  }
  if (!isReady) throw new Error(`${command} ended before it was ready`);
  child.stdout.resume();
  const end = async (signal) => {
    child.kill(signal);
    await ended;
  };
  return {
    stop: () => end('SIGTERM'),
    /** Ends it as a power cut would. */
    kill: () => end('SIGKILL'),
    /** Has it do nothing at all, until it may go on. */
    pause: () => child.kill('SIGSTOP'),
    goOn: () => child.kill('SIGCONT'),
  };
}

/** Starts the program; its address, and the tokens that it prints. */
async function startProgram(args, lastLine) {
  const tokens = {};
  let url;
  const running = await startProcess(program, [...args, '--log', 'error', '--rate-limit-per-s', '10000'], {
    ready(line) {
      url ??= line;
      const token = /^ {2}(\w+) +(gpuaas_\S+)/.exec(line);
      if (token) tokens[token[1]] = token[2];
      return line.startsWith(lastLine ?? url);
    },
  });
  return { url, tokens, ...running };
}

/** Serves portal/dist in front of a program that was built without it. */
async function startPreview(url, port) {
  process.env.GPUAAS_URL = url;
  const { preview } = await import('vite');
  const server = await preview({ root: new URL('..', import.meta.url).pathname, preview: { port, host: '127.0.0.1' }, logLevel: 'error' });
  return { url: server.resolvedUrls.local[0].replace(/\/$/, ''), stop: () => server.close() };
}

/** A port that nobody uses. */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** A browser before a program that runs. `begin` starts the program at an address; `end` has to be called, whatever happens. */
async function platformOf({ begin, listen, frontPort = 0, tokens: known, endAlso = async () => {} }) {
  let running = await begin(listen);
  const apiUrl = running.url;
  const tokens = known ?? running.tokens;
  const front = previewed ? await startPreview(apiUrl, frontPort) : undefined;
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags }).catch((error) => {
    console.error(error);
    process.exit(1);
  });
  const url = front?.url ?? apiUrl;

  /** Asks the API as somebody with a token, for what a test needs to be there before. */
  const call = async (role, method, path, body, headers = {}) => {
    const response = await fetch(apiUrl + path, {
      method,
      headers: { authorization: `Bearer ${tokens[role]}`, 'idempotency-key': crypto.randomUUID(), ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const value = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(value)}`);
    return value;
  };

  return {
    url,
    tokens,
    call,
    /** A new window, with nobody signed in. */
    async window(options = {}) {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...options });
      context.setDefaultTimeout(patienceMs);
      return context;
    },
    /** A new window in which somebody is signed in already. */
    async windowOf(role, options = {}) {
      const context = await this.window(options);
      const response = await context.request.post(`${url}/api/v1/session`, { data: { token: tokens[role] } });
      if (!response.ok()) throw new Error(`${role} could not sign in: ${await response.text()}`);
      return context;
    },
    /** Ends the program, and nothing else. */
    stopProgram: () => running.stop(),
    killProgram: () => running.kill(),
    pauseProgram: () => running.pause(),
    goOnProgram: () => running.goOn(),
    /** Starts it again where it was, with what it kept. */
    async startProgramAgain() {
      running = await begin(new URL(apiUrl).host);
    },
    async end() {
      await browser.close();
      await front?.stop();
      running.goOn();
      await running.stop();
      await endAlso();
    },
  };
}

/** A platform with a simulated fleet, tenants, and a token for every role. */
export async function startPlatform() {
  const dataDir = await mkdtemp(join(tmpdir(), 'gpuaas-portal-'));
  return platformOf({
    listen: '127.0.0.1:0',
    begin: (listen) => startProgram(['dev', '--instant', '--listen', listen, '--agents-listen', '127.0.0.1:0', '--data-dir', dataDir], 'The API is described at'),
    endAlso: () => rm(dataDir, { recursive: true, force: true }),
  });
}

/** Starts the identity provider of the tests, which sends people back to this address. */
async function startIdentityProvider(redirectUri) {
  let issuer;
  const server = new URL('../../scripts/oidc-provider/server.mjs', import.meta.url).pathname;
  const running = await startProcess(process.execPath, [server, redirectUri], {
    // It ends with its standard input.
    stdin: 'pipe',
    ready(line) {
      issuer = line;
      return true;
    },
  });
  return { issuer, ...running };
}

/** A platform that is new: an operator with a token, people who come through an identity provider, and nothing else. */
export async function startEmptyPlatform(groups) {
  const dataDir = await mkdtemp(join(tmpdir(), 'gpuaas-portal-'));
  const database = `sqlite:${join(dataDir, 'gpuaas.db')}`;
  const { stdout } = await promisify(execFile)(program, ['bootstrap', '--database', database, '--email', 'ops@cloud.example', '--output', 'json']);
  // Both the provider and the platform have to know before they start where the portal will be.
  const port = await freePort();
  const provider = await startIdentityProvider(`http://127.0.0.1:${port}/auth/callback`);
  const [rules, secret] = [join(dataDir, 'groups.yaml'), join(dataDir, 'secret')];
  await writeFile(rules, JSON.stringify({ rules: groups }));
  await writeFile(secret, 'a secret: with/odd+characters');
  const platform = await platformOf({
    listen: previewed ? '127.0.0.1:0' : `127.0.0.1:${port}`,
    frontPort: port,
    tokens: { platform_operator: JSON.parse(stdout).secret },
    begin: (listen) =>
      startProgram([
        ...['serve', '--database', database, '--listen', listen, '--public-url', `http://127.0.0.1:${port}`],
        ...['--oidc-issuer', provider.issuer, '--oidc-client-id', 'gpuaas', '--oidc-client-secret-file', secret, '--oidc-name', 'Example ID', '--oidc-rules', rules],
      ]),
    async endAlso() {
      await provider.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  });
  return {
    ...platform,
    /** Lets somebody sign in at the provider, with what it says about them. */
    async person(name, claims) {
      const response = await fetch(`${provider.issuer}/test/accounts/${name}`, { method: 'PUT', body: JSON.stringify(claims) });
      if (!response.ok) throw new Error(`the identity provider does not take ${name}`);
    },
  };
}
/** A new public key, as it stands in a .pub file. Nobody keeps its private half. */
export function newPublicKey() {
  const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  const withLength = (bytes) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  const wire = Buffer.concat([withLength(Buffer.from('ssh-ed25519')), withLength(Buffer.from(x, 'base64url'))]);
  return `ssh-ed25519 ${wire.toString('base64')} test`;
}

/** The projects and the catalogue by their names, as an operator sees them. */
export async function readCatalogue(platform) {
  const list = async (path) => (await platform.call('platform_operator', 'GET', path)).items;
  const byName = (items) => Object.fromEntries(items.map((each) => [each.slug ?? each.name, each]));
  const projects = {};
  for (const tenant of await list('/api/v1/tenants')) {
    for (const project of await list(`/api/v1/tenants/${tenant.id}/projects`)) projects[`${tenant.slug}/${project.slug}`] = project;
  }
  return { projects, skus: byName(await list('/api/v1/skus')), regions: byName(await list('/api/v1/regions')), nodes: byName(await list('/api/v1/admin/nodes')) };
}

/** A key of a project, a new one if it has none. */
export async function keyOf(platform, role, projectId) {
  const keys = await platform.call(role, 'GET', `/api/v1/projects/${projectId}/ssh-keys`);
  return keys.items[0] ?? platform.call(role, 'POST', `/api/v1/projects/${projectId}/ssh-keys`, { name: 'test', public_key: newPublicKey() });
}

/** Launches through the API; the id of the allocation. */
export async function launch(platform, catalogue, role, { project, name, sku, gpus }) {
  const projectId = catalogue.projects[project].id;
  const key = await keyOf(platform, role, projectId);
  const operation = await platform.call(role, 'POST', `/api/v1/projects/${projectId}/allocations`, {
    name,
    sku_id: catalogue.skus[sku].id,
    region_id: catalogue.regions['eu-north'].id,
    gpu_count: gpus,
    ssh_key_ids: [key.id],
  });
  return operation.subject_id;
}

/** Presses Tab until the focus is on something with this role and name, as somebody without a mouse does. */
export async function tabTo(page, role, name) {
  const wanted = page.getByRole(role, { name, exact: true }).first();
  await wanted.waitFor();
  for (let presses = 0; presses < 120; presses += 1) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to the ${role} ${name}`);
}
