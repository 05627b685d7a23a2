// The other pages are fetched once the first one is there and the browser has nothing else to do. A click opens them at once then,
// and somebody whose connection is lost can still go from page to page and read how things stand.
import type { RouteObject } from 'react-router';

/** The moment from which every page is at hand, among the browser's measurements. */
const atHand = 'pages-at-hand';

/** Waits until the browser is idle; at once where it cannot say so. */
function whenIdle(call: () => void): () => void {
  if (typeof requestIdleCallback === 'undefined') {
    const timer = setTimeout(call);
    return () => clearTimeout(timer);
  }
  const request = requestIdleCallback(call);
  return () => cancelIdleCallback(request);
}

/** Fetches pages one after the other; returns how to stop. One that cannot be had now is fetched when it is opened. */
export function fetchPages(routes: readonly RouteObject[]): () => void {
  let stopped = false;
  let stop = (): void => undefined;
  const next = (index: number): void => {
    const route = routes[index];
    if (!route) {
      performance.mark(atHand);
      return;
    }
    stop = whenIdle(() => {
      const fetched = typeof route.lazy === 'function' ? route.lazy().catch(() => undefined) : Promise.resolve();
      void fetched.then(() => {
        if (!stopped) next(index + 1);
      });
    });
  };
  next(0);
  return () => {
    stopped = true;
    stop();
  };
}
