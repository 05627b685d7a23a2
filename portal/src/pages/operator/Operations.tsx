// Long work that somebody asked for, with how far it has come.
import { useSearchParams } from 'react-router';
import type { Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { Select } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { Page } from '../../ui/Page';
import { StateBadge, Time } from '../../ui/pieces';
import { toneOf } from '../../ui/state';
import { Empty, Reading } from '../../ui/states';
import { Ref, word } from './parts';

const words = strings.operator.operations;
type Operation = Schemas['OperationView'];
const states: readonly Schemas['OperationState'][] = ['running', 'failed', 'succeeded'];

/** The page. */
export function Component() {
  const [params, setParams] = useSearchParams();
  const state = params.get('state') ?? 'all';
  const operations = useRead(operator.operations);
  const columns: Column<Operation>[] = [
    { id: 'kind', title: words.kind, value: (each) => word(each.kind) },
    { id: 'state', title: words.state, value: (each) => each.state, render: (each) => <StateBadge state={each.state} tone={each.state === 'running' ? 'busy' : toneOf(each.state)} /> },
    {
      id: 'progress',
      title: words.progress,
      value: (each) => each.error?.detail ?? each.progress?.description,
      render: (each) => (
        <div className="stack-tight">
          {each.error ? (
            <span className="bad-text">
              {each.error.detail} <a href={`/docs/errors/${each.error.code}`}>{each.error.code}</a>
            </span>
          ) : (
            each.progress?.description
          )}
          {each.state === 'running' && each.progress && <progress max={each.progress.total_steps} value={each.progress.done_steps} aria-label={each.progress.description} />}
        </div>
      ),
    },
    { id: 'subject', title: words.subject, value: (each) => each.subject_id, render: (each) => <Ref id={each.subject_id} /> },
    { id: 'by', title: words.by, value: (each) => each.created_by, render: (each) => <Ref id={each.created_by} /> },
    { id: 'created', title: words.created, value: (each) => each.created_at, render: (each) => <Time at={each.created_at} /> },
    { id: 'finished', title: words.finished, value: (each) => each.finished_at, render: (each) => (each.finished_at ? <Time at={each.finished_at} /> : '–') },
  ];
  return (
    <Page title={words.title} lead={words.lead} calls={[{ method: 'GET', path: '/api/v1/operations', cli: 'gpuaas operation list' }]}>
      <div className="filters">
        <Select label={words.state} value={state} onChange={(id) => setParams({ state: id })} options={[{ id: 'all', label: strings.operator.fleet.all }, ...states.map((each) => ({ id: each, label: word(each) }))]} />
      </div>
      <Reading of={operations}>
        {(list) => (
          <DataTable
            label={words.title}
            columns={columns}
            rows={list.items.filter((each) => state === 'all' || each.state === state)}
            rowKey={(each) => each.id}
            complete={list.complete}
            sorting={{ column: 'created', descending: true }}
            empty={
              <Empty title={words.none}>
                <p>{words.noneDetail}</p>
              </Empty>
            }
          />
        )}
      </Reading>
    </Page>
  );
}
