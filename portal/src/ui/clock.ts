// The present moment for what is told from now ("5 min ago", "trying again in 3 s"). One clock for the whole portal, which
// ticks only while something on the screen looks at it. It draws; it never asks the server for anything.
import { useSyncExternalStore } from 'react';

class Clock {
  private now = Date.now();
  private readonly watchers = new Set<() => void>();
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly everyMs: number) {}

  readonly watch = (call: () => void): (() => void) => {
    this.watchers.add(call);
    if (this.timer === undefined) {
      this.now = Date.now();
      this.timer = setInterval(() => {
        this.now = Date.now();
        this.watchers.forEach((each) => each());
      }, this.everyMs);
    }
    return () => {
      this.watchers.delete(call);
      if (this.watchers.size === 0) {
        clearInterval(this.timer);
        this.timer = undefined;
      }
    };
  };

  readonly read = (): number => this.now;
}

const seconds = new Clock(1000);
const slow = new Clock(10_000);

/** The present moment, every second. */
export function useSeconds(): number {
  return useSyncExternalStore(seconds.watch, seconds.read);
}

/** The present moment, every ten seconds: for what is told in minutes. */
export function useNow(): number {
  return useSyncExternalStore(slow.watch, slow.read);
}
