// The control plane behind the development server. `GPUAAS_URL` says where it is; requests for the API and its
// documents are passed on. Nothing of this is in the build.
//
// With `GPUAAS_TOKEN` set, every request is sent with that token and the session is answered from `whoami`, so that pages
// can be worked on without signing in again after every start.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Plugin, ProxyOptions } from 'vite';

const target = process.env.GPUAAS_URL ?? 'http://127.0.0.1:7070';
const token = process.env.GPUAAS_TOKEN;

/** What the control plane sends with every page, so that a page that would break there breaks here. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const authorization: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};

const onward: ProxyOptions = { target, changeOrigin: false, headers: authorization };
const proxy = { '/api': onward, '/auth': onward, '/docs': onward, '/openapi.json': onward, '/asyncapi.json': onward };

async function session(_request: IncomingMessage, response: ServerResponse): Promise<void> {
  const who = await fetch(`${target}/api/v1/whoami`, { headers: authorization });
  response.statusCode = who.status;
  response.setHeader('content-type', who.headers.get('content-type') ?? 'application/json');
  const body: unknown = await who.json();
  const end = new Date(Date.now() + 43_200_000).toISOString();
  response.end(JSON.stringify(who.ok ? { who: body, csrf_token: 'development', idle_expires_at: end, expires_at: end } : body));
}

/** Passes on what is not the portal's own. */
export function controlPlane(): Plugin {
  return {
    name: 'control-plane',
    config: () => ({ server: { proxy }, preview: { proxy, headers: { 'content-security-policy': policy } } }),
    configureServer(server) {
      if (token) server.middlewares.use('/api/v1/session', (request, response) => void session(request, response));
    },
    configurePreviewServer(server) {
      if (token) server.middlewares.use('/api/v1/session', (request, response) => void session(request, response));
    },
  };
}
