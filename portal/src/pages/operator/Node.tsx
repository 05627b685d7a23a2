// One node: how it stands, what can be done, what is on it and who holds it.
import { useState } from 'react';
import { useParams } from 'react-router';
import * as operator from '../../api/operator';
import type { Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { LinkButton } from '../../ui/controls';
import { gpuModel } from '../../ui/format';
import { Page } from '../../ui/Page';
import { Card, Facts, StateBadge, Tabs, Time } from '../../ui/pieces';
import { Note, Reading } from '../../ui/states';
import { NodeActions } from './node/NodeActions';
import { ClaimsView, EventsView, FindingsView, GrantsView, holderBySlot, IncidentsView, ReadinessView, SlotsView, TasksView, TopologyView } from './node/views';
import { useCatalogNames, useMayAct, word } from './parts';

const words = strings.operator.node;
type NodeView = Schemas['NodeView'];

function Head({ node }: { node: NodeView }) {
  const names = useCatalogNames();
  return (
    <div className="grid-2">
      <Card title={words.states}>
        <Facts
          of={[
            [words.posture, <StateBadge key="p" state={node.posture} label={strings.operator.fleet.postures[node.posture]} />],
            [words.desired, node.desired_reason ? `${word(node.desired)}: ${node.desired_reason}` : word(node.desired)],
            [words.execution, <StateBadge key="e" state={node.execution} tone={node.execution === 'online' ? 'good' : 'warn'} />],
            [words.occupancy, word(node.occupancy)],
            [words.promoted, node.promoted_at ? <Time key="t" at={node.promoted_at} /> : words.notPromoted],
            [words.lastSeen, node.last_seen_at && <Time key="l" at={node.last_seen_at} from="now" />],
          ]}
        />
        <p>{node.projected}</p>
      </Card>
      <Card title={words.facts}>
        <Facts
          of={[
            [words.pool, `${names.regionOfPool(node.pool_id)} / ${names.pool(node.pool_id)}`],
            [words.model, gpuModel(node.gpu_model)],
            [words.serial, node.hardware_serial],
            [words.machine, node.machine],
            [words.profiles, node.profiles.join(', ')],
            [words.agent, node.agent_version],
            [words.boots, String(node.agent_boot)],
          ]}
        />
      </Card>
    </div>
  );
}

function Warnings({ node }: { node: NodeView }) {
  return (
    <>
      {node.promotion_needs.length > 0 && (
        <Note tone="warn" title={words.needs}>
          <ul>
            {node.promotion_needs.map((need) => (
              <li key={need}>{need}</li>
            ))}
          </ul>
        </Note>
      )}
      {node.converting_to && <Note tone="busy" title={words.converting(node.converting_to)} />}
      {node.progress.wait && (
        <Note tone={node.progress.wait.over_budget ? 'bad' : 'busy'} title={words.waiting}>
          <p>{node.progress.wait.because}</p>
        </Note>
      )}
      {node.progress.fault && (
        <Note tone="bad" title={words.fault}>
          <p>{node.progress.fault.last}</p>
        </Note>
      )}
    </>
  );
}

function Shown({ node }: { node: NodeView }) {
  const may = useMayAct();
  const slots = useRead(operator.slots(node.id));
  const claims = useRead(operator.claims(node.id));
  const [tab, setTab] = useState('topology');
  const slotList = slots.data?.items ?? [];
  const claimList = claims.data?.items ?? [];
  const holders = holderBySlot(claimList, slotList);
  const contents: Record<keyof typeof words.tabs, () => React.ReactNode> = {
    topology: () => <TopologyView node={node} slots={slotList} claims={claimList} />,
    slots: () => <Reading of={slots}>{(list) => <SlotsView slots={list.items} holders={holders} />}</Reading>,
    claims: () => <Reading of={claims}>{(list) => <ClaimsView claims={list.items} slots={slotList} />}</Reading>,
    tasks: () => <TasksView node={node} />,
    readiness: () => <ReadinessView node={node} />,
    findings: () => <FindingsView node={node} slots={slotList} />,
    incidents: () => <IncidentsView node={node} />,
    disks: () => <GrantsView node={node} />,
    events: () => <EventsView node={node} slots={slotList} />,
  };
  return (
    <>
      <Warnings node={node} />
      <Head node={node} />
      {may && (
        <Card title={strings.shared.actions}>
          <div className="row">
            <NodeActions node={node} slots={slotList} />
          </div>
        </Card>
      )}
      <Tabs
        label={words.label}
        selected={tab}
        onSelect={setTab}
        views={Object.entries(words.tabs).map(([id, title]) => ({ id, title, content: id === tab ? contents[id as keyof typeof words.tabs]() : null }))}
      />
    </>
  );
}

/** The page. */
export function Component() {
  const { nodeId = '' } = useParams();
  const node = useRead(operator.node(nodeId));
  return (
    <Page
      title={node.data?.name ?? words.lead}
      mark={node.data && <StateBadge state={node.data.posture} label={strings.operator.fleet.postures[node.data.posture]} />}
      crumbs={[{ label: strings.operator.fleet.title, to: '/operator/fleet' }]}
      actions={
        <LinkButton to={`/operator/nodes/${nodeId}/slots`} tone="primary">
          {words.approve}
        </LinkButton>
      }
      calls={[
        { method: 'GET', path: `/api/v1/admin/nodes/${nodeId}`, cli: `gpuaas node show ${nodeId}` },
        { method: 'GET', path: `/api/v1/admin/nodes/${nodeId}/slice-topology/discovery`, cli: `gpuaas node candidates ${nodeId}` },
        { method: 'GET', path: `/api/v1/admin/nodes/${nodeId}/resource-slots`, cli: `gpuaas node slots ${nodeId}` },
        { method: 'GET', path: `/api/v1/admin/nodes/${nodeId}/tasks`, cli: `gpuaas node tasks ${nodeId}` },
      ]}
    >
      <Reading of={node}>{(found) => <Shown node={found} />}</Reading>
    </Page>
  );
}
