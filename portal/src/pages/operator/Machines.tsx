// Whole machines, as their providers show them.
import { answer, api, wish, type Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { DataTable, type Column } from '../../ui/DataTable';
import { Page } from '../../ui/Page';
import { StateBadge, Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';
import { Act, Ref, useMayAct } from './parts';

const words = strings.operator.machines;
type Machine = Schemas['MachineView'];

/** The page. */
export function Component() {
  const machines = useRead(operator.machines);
  const may = useMayAct();
  const columns: Column<Machine>[] = [
    { id: 'machine', title: words.machine, value: (each) => each.machine, render: (each) => (each.node_id ? <Ref id={each.node_id}>{each.machine}</Ref> : each.machine) },
    { id: 'hostname', title: words.hostname, value: (each) => each.hostname },
    { id: 'status', title: words.status, value: (each) => each.status, render: (each) => <StateBadge state={each.status} tone={each.status === 'Deployed' ? 'good' : 'busy'} label={each.status} /> },
    { id: 'power', title: words.power, value: (each) => each.power },
    { id: 'serial', title: words.serial, value: (each) => each.serial },
    { id: 'tags', title: words.tags, value: (each) => each.tags.join(', ') },
    { id: 'findings', title: words.findings, value: (each) => each.findings.join(' '), render: (each) => (each.findings.length > 0 ? <span className="bad-text">{each.findings.join(' ')}</span> : '–') },
    { id: 'seen', title: words.seen, value: (each) => each.seen_at, render: (each) => <Time at={each.seen_at} from="now" /> },
  ];
  const sync = async (): Promise<void> => {
    await answer(api.POST('/api/v1/admin/machines/sync', { params: { header: wish() } }));
    await machines.refetch();
  };
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={may && <Act label={words.sync} title={words.syncTitle} consequence={words.syncDetail} done={words.synced} run={sync} />}
      calls={[{ method: 'GET', path: '/api/v1/admin/machines', cli: 'gpuaas machine list' }]}
    >
      <Reading of={machines}>
        {(list) => (
          <DataTable
            label={words.title}
            columns={columns}
            rows={list.items}
            rowKey={(each) => each.machine}
            complete={list.complete}
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
