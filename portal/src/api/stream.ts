// A stream of events that heals. It remembers the last event it saw and goes on behind it, waits longer after every
// failure, tries at once when the browser says that the network is back, and tells its state to whoever shows it.
// `fetch` is used instead of `EventSource`, which gives up for good on an error status and cannot say when it tries again.
import { EventReader, backOffMs, type Message } from './sse';

/** How a connection stands. */
export type Connection =
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'lost'; retryAt: number }
  | { kind: 'ended' };

/** What a stream tells. */
export interface StreamOptions {
  url: string;
  onMessage: (message: Message) => void;
  onConnection: (connection: Connection) => void;
  /** Called when a connection stands; `resumed` says whether it goes on behind what was seen. */
  onOpen?: (resumed: boolean) => void;
  /** Called when the server answered with an error; it is tried again all the same. */
  onRefused?: (status: number) => void;
  /** Whether this message is the last there will be. */
  isLast?: (message: Message) => boolean;
  lastId?: string;
}

/** A connection without a word for this long is taken for dead: the server speaks more often, if only a comment. */
const silenceMs = 60_000;

/** Starts a stream; returns how to end it. */
export function follow(options: StreamOptions): () => void {
  let lastId = options.lastId;
  let attempt = 0;
  let ended = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let abort = new AbortController();

  const lose = (): void => {
    if (ended) return;
    attempt += 1;
    const waitMs = backOffMs(attempt, Math.random());
    options.onConnection({ kind: 'lost', retryAt: Date.now() + waitMs });
    timer = setTimeout(() => void connect(), waitMs);
  };

  const connect = async (): Promise<void> => {
    if (ended) return;
    clearTimeout(timer);
    abort = new AbortController();
    const mine = abort;
    options.onConnection({ kind: 'connecting' });
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const heard = (): void => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => mine.abort(), silenceMs);
    };
    try {
      const headers: Record<string, string> = { accept: 'text/event-stream' };
      if (lastId !== undefined) headers['last-event-id'] = lastId;
      heard();
      const response = await fetch(options.url, { headers, signal: mine.signal, credentials: 'same-origin', cache: 'no-store' });
      if (!response.ok) options.onRefused?.(response.status);
      if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
      attempt = 0;
      options.onConnection({ kind: 'live' });
      options.onOpen?.(lastId !== undefined);
      const reader = new EventReader();
      const text = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await text.read();
        if (done) break;
        heard();
        for (const message of reader.push(value).messages) {
          lastId = message.id ?? lastId;
          options.onMessage(message);
          if (options.isLast?.(message)) {
            ended = true;
            options.onConnection({ kind: 'ended' });
          }
        }
      }
    } catch {
      // Told by `lose`: whatever went wrong, the answer is the same.
    } finally {
      clearTimeout(watchdog);
    }
    if (abort === mine) lose();
  };

  const online = (): void => {
    attempt = 0;
    abort.abort();
    void connect();
  };
  const offline = (): void => abort.abort();
  window.addEventListener('online', online);
  window.addEventListener('offline', offline);
  void connect();

  return () => {
    ended = true;
    clearTimeout(timer);
    abort.abort();
    window.removeEventListener('online', online);
    window.removeEventListener('offline', offline);
  };
}
