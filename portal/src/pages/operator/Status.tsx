// How the platform itself stands: who leads, how far the records have come, where machines come from, how full pools are.
import * as operator from '../../api/operator';
import type { Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { DataTable, type Column } from '../../ui/DataTable';
import { count, gpuModel } from '../../ui/format';
import { Page } from '../../ui/Page';
import { Card, Facts, StateBadge, Tile, Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';

const words = strings.operator.status;

function Pools() {
  const occupancy = useRead(operator.occupancy);
  const columns: Column<Schemas['OccupancyView']>[] = [
    { id: 'region', title: words.region, value: (each) => each.region },
    { id: 'pool', title: words.pool, value: (each) => each.pool },
    { id: 'model', title: words.model, value: (each) => gpuModel(each.gpu_model) },
    { id: 'held', title: words.held, align: 'end', value: (each) => each.gpus_held },
    { id: 'free', title: words.free, align: 'end', value: (each) => each.gpus_free },
    { id: 'blocked', title: words.blocked, align: 'end', value: (each) => each.gpus_blocked },
    { id: 'disabled', title: words.disabled, align: 'end', value: (each) => each.gpus_disabled },
    { id: 'largest', title: words.largest, align: 'end', value: (each) => each.largest_slice_gpus },
    { id: 'whole', title: words.whole, align: 'end', value: (each) => each.whole_nodes },
    { id: 'said', title: words.said, value: (each) => each.projected },
  ];
  return <Reading of={occupancy}>{(list) => <DataTable label={words.pools} columns={columns} rows={list.items} rowKey={(each) => `${each.pool_id}${each.gpu_model}`} empty={<Empty title={words.noPool}><p>{words.noPoolDetail}</p></Empty>} />}</Reading>;
}

/** The page. */
export function Component() {
  const status = useRead(operator.status);
  const providers = useRead(operator.providers);
  return (
    <Page
      title={words.title}
      lead={words.lead}
      calls={[
        { method: 'GET', path: '/api/v1/admin/status', cli: 'gpuaas status' },
        { method: 'GET', path: '/api/v1/admin/occupancy', cli: 'gpuaas admin occupancy' },
        { method: 'GET', path: '/api/v1/admin/providers', cli: 'gpuaas provider list' },
      ]}
    >
      <Reading of={status}>
        {(now) => (
          <>
            <div className="tiles">
              <Tile label={words.leader} value={now.leader ?? strings.shared.none} detail={words.epoch(now.epoch)} />
              <Tile label={words.overBudget} value={now.over_budget} />
              <Tile label={words.events} value={count(now.event_head)} />
              <Tile label={words.audit} value={count(now.audit_head)} />
            </div>
            <Card title={words.store}>
              <Facts
                of={[
                  [words.engine, now.store_engine],
                  [words.storeId, <code key="s">{now.store_id}</code>],
                  [words.incarnation, String(now.incarnation)],
                  [words.replica, now.replica],
                ]}
              />
            </Card>
          </>
        )}
      </Reading>
      <h2>{words.pools}</h2>
      <Pools />
      <h2>{words.providers}</h2>
      <Reading of={providers} lines={2}>
        {(list) =>
          list.items.length === 0 ? (
            <p className="soft">{words.noProvider}</p>
          ) : (
            <div className="grid-cards">
              {list.items.map((each) => (
                <Card key={each.name} title={each.name} actions={<StateBadge state={each.fault ? 'failed' : 'ok'} tone={each.fault ? 'bad' : 'good'} label={each.fault ? words.faulty : words.well} />}>
                  <Facts
                    of={[
                      [words.kind, each.kind],
                      [words.address, each.address],
                      [words.synced, each.synced_at && <Time key="s" at={each.synced_at} from="now" />],
                      [words.fault, each.fault],
                    ]}
                  />
                </Card>
              ))}
            </div>
          )
        }
      </Reading>
    </Page>
  );
}
