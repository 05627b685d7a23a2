// A table of things: sorted by a click on a heading, filtered, walked with the arrow keys, saved as CSV or JSON. In a
// narrow window it becomes a list of cards; the roles in the markup keep it a table for assistive technology, which would
// otherwise lose it with the change of `display`.
/* eslint jsx-a11y/no-redundant-roles: off, jsx-a11y/no-interactive-element-to-noninteractive-role: off -- see above */
import { useMemo, useState, type KeyboardEvent, type ReactNode } from 'react';
import { strings } from '../strings';
import { TextField } from './controls';
import { csv } from './format';
import { DownIcon } from './icons';
import { MenuButton } from './overlays';
import { filterRows, sortRows, type Cell, type Sorting } from './table-rows';

const words = strings.shared;

/** A column. */
export interface Column<T> {
  id: string;
  title: string;
  /** What is sorted, filtered and saved. Columns without it are for the eye alone, such as buttons. */
  value?: (row: T) => Cell;
  /** What is shown; the value when absent. */
  render?: (row: T) => ReactNode;
  align?: 'end';
}

interface DataTableProps<T> {
  /** What the table holds, for assistive technology and for the name of a saved file. */
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  /** What stands there instead when there is no row at all. */
  empty: ReactNode;
  sorting?: Sorting;
  complete?: boolean;
  /** Besides the filter and the menu to save. */
  tools?: ReactNode;
  filterable?: boolean;
}

function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

function walk(event: KeyboardEvent<HTMLTableSectionElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const row = (event.target as HTMLElement).closest('tr');
  if (!row || !(event.target as HTMLElement).matches('a, button')) return;
  const next = event.key === 'ArrowDown' ? row.nextElementSibling : row.previousElementSibling;
  const goal = next?.querySelector<HTMLElement>('a, button');
  if (goal) {
    event.preventDefault();
    goal.focus();
  }
}

/** Rows of one kind. */
export function DataTable<T>(props: DataTableProps<T>) {
  const { label, columns, rows, rowKey, empty, complete = true, tools, filterable = true } = props;
  const [sorting, setSorting] = useState<Sorting | undefined>(props.sorting);
  const [filter, setFilter] = useState('');
  const shown = useMemo(() => {
    const valued = columns.filter((column) => column.value !== undefined);
    const kept = filterRows(rows, (row) => valued.map((column) => column.value?.(row)), filter);
    const by = sorting && valued.find((column) => column.id === sorting.column)?.value;
    return by ? sortRows(kept, by, sorting.descending) : kept;
  }, [columns, rows, filter, sorting]);
  if (rows.length === 0) return <>{empty}</>;

  const fileName = label.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const saveCsv = (): void => {
    const valued = columns.filter((column) => column.value !== undefined);
    const lines = shown.map((row) => valued.map((column) => column.value?.(row)));
    save(`${fileName}.csv`, 'text/csv', csv(valued.map((column) => column.title), lines));
  };
  const saveJson = (): void => save(`${fileName}.json`, 'application/json', `${JSON.stringify(shown, null, 2)}\n`);
  const sortBy = (column: string): void =>
    setSorting((before) => (before?.column === column ? { column, descending: !before.descending } : { column, descending: false }));
  const direction = (column: string): 'ascending' | 'descending' | 'none' =>
    sorting?.column !== column ? 'none' : sorting.descending ? 'descending' : 'ascending';

  return (
    <div className="table-wrap">
      <div className="table-tools">
        {filterable && rows.length > 5 && (
          <div className="table-filter">
            <TextField label={words.filter} hideLabel placeholder={words.filter} type="search" value={filter} onChange={setFilter} />
          </div>
        )}
        {tools}
        <span className="small soft push" role="status">
          {words.rows(shown.length, rows.length)}
        </span>
        <MenuButton
          label={words.saveAs}
          entries={[
            { id: 'csv', label: words.saveCsv, onAction: saveCsv },
            { id: 'json', label: words.saveJson, onAction: saveJson },
          ]}
        >
          <DownIcon /> {words.saveAs}
        </MenuButton>
      </div>
      <div className="table-scroll">
        <table className="table" role="table" aria-label={label}>
          <thead role="rowgroup">
            <tr role="row">
              {columns.map((column) => (
                <th key={column.id} role="columnheader" scope="col" data-align={column.align} aria-sort={column.value ? direction(column.id) : undefined}>
                  {column.value ? (
                    <button type="button" className="sort" onClick={() => sortBy(column.id)}>
                      {column.title}
                      <span aria-hidden="true">{direction(column.id) === 'ascending' ? '▲' : direction(column.id) === 'descending' ? '▼' : ''}</span>
                    </button>
                  ) : (
                    <span className={column.id === 'actions' ? 'hidden-but-read' : ''}>{column.title}</span>
                  )}
                </th>
              ))}
            </tr>
          </thead>
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- only moves the focus between links of the rows */}
          <tbody role="rowgroup" onKeyDown={walk}>
            {shown.map((row) => (
              <tr key={rowKey(row)} role="row">
                {columns.map((column) => (
                  <td key={column.id} role="cell" data-label={column.title} data-align={column.align}>
                    {column.render ? column.render(row) : column.value?.(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {shown.length === 0 && <p className="table-none soft">{words.nothingMatches}</p>}
      </div>
      {!complete && <p className="table-none small soft">{words.notComplete}</p>}
    </div>
  );
}
