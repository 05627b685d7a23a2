// What waits, the most overdue first, with the reason and where in the program it was decided to wait.
import { Link } from 'react-router';
import type { Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { useNow } from '../../ui/clock';
import { DataTable, type Column } from '../../ui/DataTable';
import { Page } from '../../ui/Page';
import { StateBadge, Tile, Time } from '../../ui/pieces';
import { Empty, Note, Reading } from '../../ui/states';
import { Ref, word } from './parts';

const words = strings.operator.stuck;
type Stuck = Schemas['StuckView'];

function Elsewhere() {
  const overrides = (useRead(operator.overrides).data?.items ?? []).filter((each) => each.execution === 'requested');
  const failed = (useRead(operator.operations).data?.items ?? []).filter((each) => each.state === 'failed');
  const nodes = (useRead(operator.nodes).data?.items ?? []).filter((node) => node.execution === 'silent' || node.posture === 'cleanup_blocked' || node.incidents > 0);
  return (
    <div className="tiles">
      <Tile label={words.overrides} value={overrides.length} detail={<Link to="/operator/overrides">{words.see}</Link>} />
      <Tile label={words.operations} value={failed.length} detail={<Link to="/operator/operations?state=failed">{words.see}</Link>} />
      <Tile label={words.nodes} value={nodes.length} detail={nodes[0] ? <Ref id={nodes[0].id}>{nodes[0].name}</Ref> : <Link to="/operator/fleet?view=table">{words.see}</Link>} />
    </div>
  );
}

/** The page. */
export function Component() {
  const waits = useRead(operator.waits);
  const status = useRead(operator.status).data;
  const now = useNow();
  const columns: Column<Stuck>[] = [
    { id: 'subject', title: words.subject, value: (each) => each.subject_id, render: (each) => <Ref id={each.subject_id} /> },
    { id: 'noun', title: words.noun, value: (each) => word(each.noun) },
    { id: 'state', title: words.state, value: (each) => each.execution, render: (each) => <StateBadge state={each.execution} /> },
    { id: 'because', title: words.because, value: (each) => each.because },
    {
      id: 'until',
      title: words.until,
      value: (each) => each.until,
      render: (each) => (
        <span className={Date.parse(each.until) < now ? 'bad-text' : ''}>
          <Time at={each.until} from="now" />
        </span>
      ),
    },
    { id: 'since', title: words.since, value: (each) => each.since, render: (each) => <Time at={each.since} /> },
    { id: 'code', title: words.code, value: (each) => each.code, render: (each) => <code>{each.code}</code> },
    { id: 'source', title: words.source, value: (each) => each.source, render: (each) => <code className="small">{each.source}</code> },
  ];
  return (
    <Page
      title={words.title}
      lead={words.lead}
      calls={[
        { method: 'GET', path: '/api/v1/admin/waits', cli: 'gpuaas waits' },
        { method: 'GET', path: '/api/v1/admin/wipe-overrides', cli: 'gpuaas override list' },
      ]}
    >
      {status && status.over_budget > 0 && <Note tone="bad" title={words.overBudget(status.over_budget)} />}
      <Elsewhere />
      <h2>{words.waits}</h2>
      <Reading of={waits}>
        {(list) => (
          <DataTable
            label={words.waits}
            columns={columns}
            rows={list.items}
            rowKey={(each) => each.subject_id}
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
