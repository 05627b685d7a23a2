// The one way to the API. Types come from the committed contract; an answer that is not a success becomes a `Refusal` that
// carries the problem, so that pages never look at status codes. Requests that change something carry the session's
// CSRF token, and creates and actions an idempotency key.
import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from './schema';

/** The schemas of the contract. */
export type Schemas = components['schemas'];
/** Why a request was refused, as the API says it. */
export type Problem = Schemas['Problem'];
/** The kinds of things whose changes are told. */
export type Noun = Schemas['Noun'];

/** A request that was refused, or that got no answer. */
export class Refusal extends Error {
  constructor(
    readonly problem: Problem | undefined,
    readonly status: number,
    readonly requestId: string | undefined,
    message: string,
  ) {
    super(message);
    this.name = 'Refusal';
  }

  /** Whether the caller may not do this. */
  get denied(): boolean {
    return this.status === 403;
  }

  /** Whether there is no such thing, or none that the caller may see. */
  get missing(): boolean {
    return this.status === 404;
  }

  /** Whether nobody is signed in. */
  get signedOut(): boolean {
    return this.status === 401;
  }
}

let csrfToken: string | undefined;
const onSignedOut = new Set<() => void>();

/** Sets what every request that changes something has to carry. */
export function setCsrfToken(token: string | undefined): void {
  csrfToken = token;
}

/** Calls back when an answer says that the session has ended; returns how to stop that. */
export function whenSignedOut(call: () => void): () => void {
  onSignedOut.add(call);
  return () => void onSignedOut.delete(call);
}

/** Says that an answer told so. */
export function tellSignedOut(): void {
  onSignedOut.forEach((call) => call());
}

const guard: Middleware = {
  onRequest({ request }) {
    if (request.method !== 'GET' && csrfToken) request.headers.set('x-csrf-token', csrfToken);
    return request;
  },
  onResponse({ response, schemaPath }) {
    if (response.status === 401 && !schemaPath.startsWith('/api/v1/session')) tellSignedOut();
    return response;
  },
};

/** The typed client. */
export const api = createClient<paths>({ baseUrl: '/', credentials: 'same-origin' });
api.use(guard);

/** Whether a value is a problem document. */
export function isProblem(value: unknown): value is Problem {
  return typeof value === 'object' && value !== null && 'code' in value && 'title' in value && 'status' in value;
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** What came back, or a `Refusal` thrown. */
export async function answer<T>(asked: Promise<Answer<T>>): Promise<T> {
  let got: Answer<T>;
  try {
    got = await asked;
  } catch (cause) {
    throw new Refusal(undefined, 0, undefined, cause instanceof Error ? cause.message : String(cause));
  }
  if (got.response.ok) return got.data as T;
  const requestId = got.response.headers.get('x-request-id') ?? undefined;
  const problem = isProblem(got.error) ? got.error : undefined;
  throw new Refusal(problem, got.response.status, requestId, problem?.detail ?? got.response.statusText);
}

/** A new name for one wish; the same one is sent again when the same wish is repeated. */
export function wishKey(): string {
  return crypto.randomUUID();
}

/** The `Idempotency-Key` header of a new wish. */
export function wish(): { 'Idempotency-Key': string } {
  return { 'Idempotency-Key': wishKey() };
}

/** The `If-Match` header for a thing that was read in this version. */
export function ifMatch(thing: { version: number }): { 'If-Match': string } {
  return { 'If-Match': `"${thing.version}"` };
}

/** One page of a list. */
export interface ListPage<T> {
  items: T[];
  next_page_token?: string;
}

/** A list that was read to its end, or to the most that a page shows. */
export interface Whole<T> {
  items: T[];
  complete: boolean;
}

/** How many entries a page of a list has when everything is wanted. */
export const pageSize = 200;

/** Follows a list to its end; `most` keeps one browser from reading a store dry. */
export async function readAll<T>(read: (token: string | undefined) => Promise<ListPage<T>>, most = 4000): Promise<Whole<T>> {
  const items: T[] = [];
  let token: string | undefined;
  do {
    const page = await read(token);
    items.push(...page.items);
    token = page.next_page_token;
  } while (token !== undefined && items.length < most);
  return { items, complete: token === undefined };
}

/** The query parameters for one page of everything. */
export function pageQuery(token: string | undefined): { page_size: number; page_token?: string } {
  return token === undefined ? { page_size: pageSize } : { page_size: pageSize, page_token: token };
}
