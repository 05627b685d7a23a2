// Turns values of the API into what people read. Pure: the moment that something is compared with is passed in.

/** Millionths of the platform's currency as a number with two digits, or more where two would say nothing. */
export function money(micros: number): string {
  const value = micros / 1_000_000;
  const digits = value !== 0 && Math.abs(value) < 0.01 ? 4 : 2;
  return new Intl.NumberFormat(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
}

/** A whole number with separators. */
export function count(value: number): string {
  return new Intl.NumberFormat().format(value);
}

const spans: readonly [number, string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** Seconds in the two largest units that matter: `2 d 4 h`, `3 min 20 s`, `0 s`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const first = spans.findIndex(([size]) => whole >= size);
  if (first < 0) return '0 s';
  const parts: string[] = [];
  let rest = whole;
  for (const [size, unit] of spans.slice(first, first + 2)) {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    if (amount > 0) parts.push(`${amount} ${unit}`);
  }
  return parts.join(' ');
}

/** How long ago or ahead a moment is: `5 min ago`, `in 2 h`, `now`. */
export function relative(at: string, now: number): string {
  const seconds = Math.round((Date.parse(at) - now) / 1000);
  if (Math.abs(seconds) < 5) return 'now';
  const [text] = [largest(Math.abs(seconds))];
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

function largest(seconds: number): string {
  for (const [size, unit] of spans) if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  return '0 s';
}

/** A moment in the reader's own time zone. */
export function localTime(at: string): string {
  return new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(at));
}

/** The same moment in UTC, to the second. */
export function utcTime(at: string): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

const sizes = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Bytes in the largest unit that leaves a number of at least one. */
export function bytes(value: number): string {
  let rest = value;
  let unit = 0;
  while (rest >= 1024 && unit < sizes.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || rest >= 100 || Number.isInteger(rest) ? 0 : 1;
  return `${rest.toFixed(digits)} ${sizes[unit]}`;
}

/** A word of the API (`gpu_slice`) as words (`gpu slice`). */
export function words(code: string): string {
  return code.replaceAll('_', ' ');
}

/** The same, as the beginning of a line. */
export function sentence(code: string): string {
  const text = words(code);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A GPU model as it is called: `h200-sxm` is an H200 SXM. */
export function gpuModel(model: string): string {
  return model.toUpperCase().replaceAll('-', ' ');
}

/** One word for a shell, quoted where it has to be. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_\-./:=@%+,]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Rows as a CSV file after RFC 4180. What a spreadsheet would take for a formula is marked as text. */
export function csv(head: readonly string[], rows: readonly (readonly (string | number | undefined)[])[]): string {
  const cell = (value: string | number | undefined): string => {
    if (value === undefined) return '';
    if (typeof value === 'number') return String(value);
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [head, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}
