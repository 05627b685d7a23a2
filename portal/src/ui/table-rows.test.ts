import { describe, expect, it } from 'vitest';
import { filterRows, sortRows } from './table-rows';

describe('a table', () => {
  const rows = [
    { name: 'node-10', gpus: 2 },
    { name: 'node-9', gpus: undefined },
    { name: 'node-1', gpus: 8 },
  ];

  it('sorts numbers in names as people do', () => {
    expect(sortRows(rows, (row) => row.name, false).map((row) => row.name)).toEqual(['node-1', 'node-9', 'node-10']);
    expect(sortRows(rows, (row) => row.name, true).map((row) => row.name)).toEqual(['node-10', 'node-9', 'node-1']);
  });

  it('keeps what is missing last, whichever way it is sorted', () => {
    expect(sortRows(rows, (row) => row.gpus, false).map((row) => row.gpus)).toEqual([2, 8, undefined]);
    expect(sortRows(rows, (row) => row.gpus, true).map((row) => row.gpus)).toEqual([8, 2, undefined]);
  });

  it('finds rows in which all words occur, in any column', () => {
    const cells = (row: (typeof rows)[number]) => [row.name, row.gpus];
    expect(filterRows(rows, cells, ' NODE 8 ').map((row) => row.name)).toEqual(['node-1']);
    expect(filterRows(rows, cells, '')).toHaveLength(3);
    expect(filterRows(rows, cells, 'absent')).toEqual([]);
  });
});
