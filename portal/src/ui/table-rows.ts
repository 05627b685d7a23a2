// Sorting and filtering of tables. Pure, and the same for every table.

/** What a row has in one column, for sorting, filtering and saving. */
export type Cell = string | number | undefined;

/** Which column is sorted, and how. */
export interface Sorting {
  column: string;
  descending: boolean;
}

/** Compares two cells: numbers by size, text as people sort it, what is missing last. */
export function compareCells(left: Cell, right: Cell): number {
  if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return String(left).localeCompare(String(right), undefined, { numeric: true });
}

/** Rows in the order of one column. What is missing stays last either way; equal rows keep their order. */
export function sortRows<T>(rows: readonly T[], cell: (row: T) => Cell, descending: boolean): T[] {
  return [...rows].sort((left, right) => {
    const a = cell(left);
    const b = cell(right);
    if (a === undefined || b === undefined) return compareCells(a, b);
    return descending ? compareCells(b, a) : compareCells(a, b);
  });
}

/** Rows in which every word of the filter is found in some cell. */
export function filterRows<T>(rows: readonly T[], cells: (row: T) => readonly Cell[], filter: string): T[] {
  const wanted = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return [...rows];
  return rows.filter((row) => {
    const text = cells(row)
      .filter((cell) => cell !== undefined)
      .join(' ')
      .toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}
