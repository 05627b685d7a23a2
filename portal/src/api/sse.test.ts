import { describe, expect, it } from 'vitest';
import { EventReader, backOffMs } from './sse';

describe('a stream of events', () => {
  const text = ': connected\nretry: 2000\n\nid: 7\nevent: a.b\ndata: {"x":1}\n\nid: 8\ndata: one\ndata: two\n\n';

  it('is the same however it is cut', () => {
    for (let cut = 0; cut <= text.length; cut += 1) {
      const reader = new EventReader();
      const first = reader.push(text.slice(0, cut));
      const second = reader.push(text.slice(cut));
      expect([...first.messages, ...second.messages]).toEqual([
        { id: '7', event: 'a.b', data: '{"x":1}' },
        { id: '8', event: 'message', data: 'one\ntwo' },
      ]);
      expect(first.retryMs ?? second.retryMs).toBe(2000);
    }
  });

  it('reads lines that end with carriage returns', () => {
    const reader = new EventReader();
    expect(reader.push('id: 1\r\ndata: x\r').messages).toEqual([]);
    expect(reader.push('\n\r\n').messages).toEqual([{ id: '1', event: 'message', data: 'x' }]);
  });

  it('does not answer a message that has not ended', () => {
    expect(new EventReader().push('id: 9\ndata: half\n').messages).toEqual([]);
  });
});

describe('the wait before another try', () => {
  it('doubles, and stays below forty seconds', () => {
    expect([1, 2, 3, 4, 5, 6, 60].map((attempt) => backOffMs(attempt, 0.5))).toEqual([1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    expect(backOffMs(60, 1)).toBeLessThan(40_000);
    expect(backOffMs(1, 0)).toBeGreaterThan(500);
  });
});
