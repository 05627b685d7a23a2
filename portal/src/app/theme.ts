// Light, dark, or as the system has it. The choice is kept in this browser; public/theme.js applies it before the first
// page is drawn.
import { useSyncExternalStore } from 'react';

/** What can be chosen. */
export type Theme = 'system' | 'light' | 'dark';

const watchers = new Set<() => void>();

function read(): Theme {
  const set = document.documentElement.dataset.theme;
  return set === 'light' || set === 'dark' ? set : 'system';
}

/** Chooses a theme, here and for the next visit. */
export function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === 'system') localStorage.removeItem('theme');
    else localStorage.setItem('theme', theme);
  } catch {
    // Storage may be forbidden; then the choice lasts as long as the page.
  }
  watchers.forEach((call) => call());
}

/** The theme that is chosen. */
export function useTheme(): Theme {
  return useSyncExternalStore((call) => {
    watchers.add(call);
    return () => void watchers.delete(call);
  }, read);
}
