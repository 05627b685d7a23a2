// Reads a stream of server-sent events as text arrives. Pure: bytes in, messages out, whatever way the network cuts them.

/** One message of the stream. */
export interface Message {
  id: string | undefined;
  event: string;
  data: string;
}

/** What came out of a piece of the stream. */
export interface Parsed {
  messages: Message[];
  retryMs: number | undefined;
}

/** Keeps what is not complete yet between two pieces. */
export class EventReader {
  private rest = '';
  private id: string | undefined;
  private event = '';
  private data: string[] = [];

  /** Takes the next piece of text and answers the messages that it completed. */
  push(text: string): Parsed {
    const parsed: Parsed = { messages: [], retryMs: undefined };
    this.rest += text;
    const lines = this.rest.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.line(line, parsed);
    return parsed;
  }

  private line(line: string, parsed: Parsed): void {
    if (line === '') {
      if (this.data.length > 0) {
        parsed.messages.push({ id: this.id, event: this.event || 'message', data: this.data.join('\n') });
      }
      this.event = '';
      this.data = [];
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.data.push(value);
    else if (field === 'event') this.event = value;
    else if (field === 'id' && !value.includes('\0')) this.id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) parsed.retryMs = Number(value);
  }
}

/** How long to wait before try number `attempt` (from 1): doubling from a second to half a minute, spread by `random` (0 to 1). */
export function backOffMs(attempt: number, random: number): number {
  const whole = Math.min(1000 * 2 ** Math.min(attempt - 1, 5), 30_000);
  return Math.round(whole * (0.75 + 0.5 * random));
}
