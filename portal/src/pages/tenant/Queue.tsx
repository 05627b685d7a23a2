// What waits in the project's queues, and what runs through them: position, why, what would unblock it, when it may start.
import { useState } from 'react';
import { Link, useParams } from 'react-router';
import type { Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import * as things from '../../api/things';
import { useScope } from '../../app/scope';
import { strings } from '../../strings';
import { Checkbox } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { Page } from '../../ui/Page';
import { Card, StateBadge, Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';

const words = strings.tenant.queue;
type Workload = Schemas['WorkloadView'];

const endedStates: readonly Schemas['WorkloadState'][] = ['finished', 'cancelled', 'refused', 'failed'];

function why(each: Workload): string {
  if (each.execution === 'preempting' && each.preemption) return strings.tenant.workload.preempted(strings.codes.preemptionRule[each.preemption.rule]);
  return each.wait?.sentence ?? each.projected;
}

function Queues({ projectId }: { projectId: string }) {
  const queues = useRead(things.localQueues(projectId));
  return (
    <Reading of={queues} lines={1}>
      {(list) =>
        list.items.length === 0 ? null : (
          <Card title={words.queues}>
            <ul className="plain-list lines">
              {list.items.map((queue) => (
                <li key={queue.id} className="line">
                  <strong>{queue.spec.slug}</strong>
                  <span className="soft">{words.leadsTo(queue.spec.cluster_queue)}</span>
                  {queue.spec.default && <StateBadge state="default" tone="idle" label={words.isDefault} />}
                  {queue.spec.stop !== undefined && queue.spec.stop !== 'none' && <StateBadge state={queue.spec.stop} tone="warn" label={words.stopped} />}
                </li>
              ))}
            </ul>
          </Card>
        )
      }
    </Reading>
  );
}

/** The page. */
export function Component() {
  const { projectId = '' } = useParams();
  const { current, regionId } = useScope();
  const list = useRead(things.workloads(projectId));
  const [ended, setEnded] = useState(false);
  const columns: Column<Workload>[] = [
    {
      id: 'name',
      title: words.name,
      value: (each) => each.name,
      render: (each) => (
        <Link className="row-link" to={`/projects/${projectId}/queue/${each.id}`}>
          {each.name}
        </Link>
      ),
    },
    { id: 'state', title: words.state, value: (each) => each.execution, render: (each) => <StateBadge state={each.execution} /> },
    { id: 'position', title: words.position, value: (each) => each.position, align: 'end' },
    { id: 'gpus', title: words.gpus, value: (each) => each.gpu_count * each.member_count, render: (each) => words.size(each.member_count, each.gpu_count), align: 'end' },
    { id: 'why', title: words.why, value: why },
    {
      id: 'start',
      title: words.start,
      value: (each) => each.wait?.estimated_start_at ?? each.admitted_at,
      render: (each) =>
        each.admitted_at ? <Time at={each.admitted_at} from="now" /> : each.wait?.estimated_start_at ? <Time at={each.wait.estimated_start_at} from="now" /> : <span className="soft">{words.notKnown}</span>,
    },
    { id: 'queue', title: words.queue, value: (each) => each.queue },
  ];
  return (
    <Page
      title={words.title}
      lead={words.lead}
      calls={[
        { method: 'GET', path: `/api/v1/projects/${projectId}/workloads`, ...(current ? { cli: `gpuaas workload list --project ${current.path}` } : {}) },
        { method: 'GET', path: `/api/v1/projects/${projectId}/queues`, ...(current ? { cli: `gpuaas queue list --project ${current.path}` } : {}) },
      ]}
    >
      <Queues projectId={projectId} />
      <Reading of={list}>
        {(all) => {
          const here = all.items.filter((each) => regionId === undefined || each.region_id === regionId);
          const rows = here.filter((each) => ended || !endedStates.includes(each.execution));
          return (
            <>
              <Checkbox selected={ended} onChange={setEnded}>
                {words.showEnded(here.length - here.filter((each) => !endedStates.includes(each.execution)).length)}
              </Checkbox>
              <DataTable
                label={words.title}
                columns={columns}
                rows={rows}
                complete={all.complete}
                rowKey={(each) => each.id}
                sorting={{ column: 'position', descending: false }}
                empty={
                  <Empty title={words.empty}>
                    <p>{words.emptyDetail}</p>
                  </Empty>
                }
              />
            </>
          );
        }}
      </Reading>
    </Page>
  );
}
