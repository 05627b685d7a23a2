// How wide the window is, for what cannot be said in CSS.
import { useSyncExternalStore } from 'react';

function watch(call: () => void): () => void {
  window.addEventListener('resize', call);
  return () => window.removeEventListener('resize', call);
}

/** The width of the window, in CSS pixels. */
export function useWindowWidth(): number {
  return useSyncExternalStore(watch, () => window.innerWidth);
}
