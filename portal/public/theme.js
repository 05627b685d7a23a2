// Applies the chosen theme before anything is drawn, so that a dark page does not flash white.
try {
  const chosen = localStorage.getItem('theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; then the theme follows the system.
}
