// What the browser tests run against: a real `gpuaas dev` with its simulated fleet on a free port and in a folder of its own,
// and Debian's Chromium. Both are ended in any case, and nothing of the network is made up.
//
// GPUAAS names the program. While the portal is worked on, PORTAL=preview serves portal/dist in front of a program that was
// built without it.
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const program = process.env.GPUAAS ?? new URL('../../target/debug/gpuaas', import.meta.url).pathname;

/** How long anything on a page may take. Generous, since it is only waited for when something is wrong. */
const patienceMs = Number(process.env.PATIENCE_MS ?? '30000');

const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** Starts the program, and reads its address and the tokens from what it prints. */
async function startProgram(dataDir, listen) {
  const child = spawn(program, ['dev', '--instant', '--listen', listen, '--agents-listen', '127.0.0.1:0', '--data-dir', dataDir, '--log', 'error', '--rate-limit-per-s', '10000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  // Whatever ends the tests ends the program, too.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const tokens = {};
  let url;
  const ready = (async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      url ??= line;
      const token = /^ {2}(\w+) +(gpuaas_\S+)/.exec(line);
      if (token) tokens[token[1]] = token[2];
      if (line.startsWith('The API is described at')) return;
    }
    throw new Error(`${program} ended before it was ready`);
  })();
  await ready;
  child.stdout.resume();
  return {
    url,
    tokens,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Serves portal/dist in front of a program that was built without it. */
async function startPreview(url) {
  process.env.GPUAAS_URL = url;
  const { preview } = await import('vite');
  const server = await preview({ root: new URL('..', import.meta.url).pathname, preview: { port: 0, host: '127.0.0.1' }, logLevel: 'error' });
  return { url: server.resolvedUrls.local[0].replace(/\/$/, ''), stop: () => server.close() };
}

/** A platform and a browser. `end` has to be called, whatever happens. */
export async function startPlatform() {
  const dataDir = await mkdtemp(join(tmpdir(), 'gpuaas-portal-'));
  let running = await startProgram(dataDir, '127.0.0.1:0');
  const { url: apiUrl, tokens } = running;
  const front = process.env.PORTAL === 'preview' ? await startPreview(apiUrl) : undefined;
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
    /** Starts it again where it was, with what it kept. */
    async startProgramAgain() {
      running = await startProgram(dataDir, new URL(apiUrl).host);
    },
    async end() {
      await browser.close();
      await front?.stop();
      await running.stop();
      await rm(dataDir, { recursive: true, force: true });
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
