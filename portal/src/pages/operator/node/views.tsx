// The views of a node page, each read when it is opened.
import { useState } from 'react';
import { answer, api, Refusal, wish, type Schemas } from '../../../api/client';
import * as operator from '../../../api/operator';
import { useRead } from '../../../api/reads';
import { strings } from '../../../strings';
import { TextField } from '../../../ui/controls';
import { DataTable, type Column } from '../../../ui/DataTable';
import { gpuModel } from '../../../ui/format';
import { FormDialog, tell } from '../../../ui/overlays';
import { Facts, StateBadge, Time } from '../../../ui/pieces';
import { toneOf } from '../../../ui/state';
import { Empty, Loading, Note, Reading, Refused } from '../../../ui/states';
import { EventTable } from '../EventTable';
import { Act, Ref, useMayAct, word, YesNo } from '../parts';
import { topologyOf } from './topology';
import { TopologyDrawing } from './TopologyDrawing';

const words = strings.operator;
type Slot = Schemas['SlotView'];
type NodeView = Schemas['NodeView'];

function blank(title: string, detail: string) {
  return (
    <Empty title={title}>
      <p>{detail}</p>
    </Empty>
  );
}

/** A read of something that may not have been made yet: a 404 is an empty view here. */
function Perhaps<T>({ of, none, children }: { of: ReturnType<typeof useRead<T>>; none: React.ReactNode; children: (value: T) => React.ReactNode }) {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.error instanceof Refusal && of.error.missing) return <>{none}</>;
  if (of.error) return <Refused error={of.error} onRetry={() => void of.refetch()} />;
  return <Loading />;
}

/** Which allocation holds a slot now. */
export function holderBySlot(claims: readonly Schemas['ClaimView'][], slots: readonly Slot[]): Map<string, string> {
  const open = claims.filter((claim) => claim.released_at === undefined);
  const holders = new Map(open.flatMap((claim) => (claim.slot_id ? [[claim.slot_id, claim.allocation_id] as const] : [])));
  const whole = open.find((claim) => claim.kind === 'node_exclusive');
  if (whole) for (const slot of slots) holders.set(slot.id, whole.allocation_id);
  return holders;
}

/** What is on the host, drawn. */
export function TopologyView({ node, slots, claims }: { node: NodeView; slots: readonly Slot[]; claims: readonly Schemas['ClaimView'][] }) {
  const discovery = useRead(operator.discovery(node.id));
  const holders = holderBySlot(claims, slots);
  return (
    <Perhaps of={discovery} none={blank(words.topology.none, words.topology.noneDetail)}>
      {(found) => {
        const { host, fabric_manager: fabric } = found.discovery;
        return (
          <div className="stack">
            <Facts
              of={[
                [words.topology.at, <Time key="at" at={found.at} />],
                [words.topology.host, [host.vendor, host.product].filter(Boolean).join(' ')],
                [words.topology.kernel, host.kernel_release],
                [words.topology.driver, host.nvidia_driver_version],
                [words.topology.fabricManager, fabric && `${word(fabric.state)}${fabric.version ? ` ${fabric.version}` : ''}${fabric.fabric_mode ? `, ${word(fabric.fabric_mode).toLowerCase()}` : ''}`],
              ]}
            />
            <TopologyDrawing topology={topologyOf(found.discovery, slots, (slot) => holders.get(slot.id))} />
            {found.discovery.notes.length > 0 && (
              <Note tone="warn" title={words.topology.notes}>
                <ul>
                  {found.discovery.notes.map((note) => (
                    <li key={note.path}>
                      <code>{note.path}</code>: {note.reason}
                    </li>
                  ))}
                </ul>
              </Note>
            )}
          </div>
        );
      }}
    </Perhaps>
  );
}

/** The slots, in words. */
export function SlotsView({ slots, holders }: { slots: readonly Slot[]; holders: Map<string, string> }) {
  const columns: Column<Slot>[] = [
    { id: 'module', title: words.slot.module, value: (slot) => slot.gpu_module_id, render: (slot) => <Ref id={slot.id}>{words.slot.title(slot.gpu_module_id)}</Ref> },
    { id: 'state', title: words.slot.state, value: (slot) => slot.execution, render: (slot) => <StateBadge state={slot.execution} label={words.fleet.cells[slot.execution]} /> },
    { id: 'holder', title: words.slot.holder, value: (slot) => holders.get(slot.id), render: (slot) => (holders.has(slot.id) ? <Ref id={holders.get(slot.id) ?? ''} /> : '–') },
    { id: 'gpu', title: words.slot.fields.gpu_pci_address, value: (slot) => slot.gpu_pci_address, render: (slot) => <code>{slot.gpu_pci_address ?? '–'}</code> },
    { id: 'disk', title: words.slot.fields.nvme_identity, value: (slot) => slot.nvme_identity, render: (slot) => <code>{slot.nvme_identity ?? '–'}</code> },
    { id: 'numa', title: words.slot.fields.numa_node, align: 'end', value: (slot) => slot.numa_node },
    { id: 'ip', title: words.slot.fields.private_ip, value: (slot) => slot.private_ip, render: (slot) => <code>{slot.private_ip ?? '–'}</code> },
    { id: 'drift', title: words.slot.drift, value: (slot) => slot.drift.length, render: (slot) => (slot.drift.length > 0 ? <StateBadge state="drift" tone="warn" label={`${slot.drift.length}`} /> : '–') },
    { id: 'said', title: words.slot.said, value: (slot) => slot.projected },
  ];
  return <DataTable label={words.node.tabs.slots} columns={columns} rows={slots} rowKey={(slot) => slot.id} sorting={{ column: 'module', descending: false }} empty={blank(words.slot.none, words.slot.noneDetail)} />;
}

/** Who holds what, now and before. */
export function ClaimsView({ claims, slots }: { claims: readonly Schemas['ClaimView'][]; slots: readonly Slot[] }) {
  const module = (id: string | undefined): string => words.slot.title(slots.find((slot) => slot.id === id)?.gpu_module_id);
  const columns: Column<Schemas['ClaimView']>[] = [
    { id: 'allocation', title: words.claim.allocation, value: (claim) => claim.allocation_id, render: (claim) => <Ref id={claim.allocation_id} /> },
    { id: 'kind', title: words.claim.kind, value: (claim) => word(claim.kind) },
    { id: 'slot', title: words.claim.slot, value: (claim) => (claim.slot_id ? module(claim.slot_id) : undefined), render: (claim) => (claim.slot_id ? <Ref id={claim.slot_id}>{module(claim.slot_id)}</Ref> : '–') },
    { id: 'from', title: words.claim.from, value: (claim) => claim.claimed_at, render: (claim) => <Time at={claim.claimed_at} /> },
    { id: 'to', title: words.claim.to, value: (claim) => claim.released_at, render: (claim) => (claim.released_at ? <Time at={claim.released_at} /> : '–') },
    { id: 'fence', title: words.claim.fence, align: 'end', value: (claim) => claim.fence },
  ];
  return <DataTable label={words.node.tabs.claims} columns={columns} rows={claims} rowKey={(claim) => claim.id} sorting={{ column: 'from', descending: true }} empty={blank(words.claim.none, words.claim.noneDetail)} />;
}

/** Orders to the agent with their answers. */
export function TaskTable({ tasks }: { tasks: readonly Schemas['TaskView'][] }) {
  const columns: Column<Schemas['TaskView']>[] = [
    { id: 'kind', title: words.task.kind, value: (task) => task.kind, render: (task) => <code>{task.kind}</code> },
    { id: 'state', title: words.task.state, value: (task) => task.execution, render: (task) => <StateBadge state={task.execution} tone={task.execution === 'delivered' ? 'busy' : task.execution === 'expired' ? 'warn' : toneOf(task.execution)} /> },
    { id: 'attempt', title: words.task.attempt, align: 'end', value: (task) => task.attempt },
    { id: 'for', title: words.task.allocation, value: (task) => task.allocation_id, render: (task) => (task.allocation_id ? <Ref id={task.allocation_id} /> : '–') },
    { id: 'created', title: words.task.created, value: (task) => task.created_at, render: (task) => <Time at={task.created_at} /> },
    { id: 'deadline', title: words.task.deadline, value: (task) => task.deadline, render: (task) => <Time at={task.deadline} from="now" /> },
    {
      id: 'said',
      title: words.task.said,
      value: (task) => [task.projected, task.failure_detail, task.progress.wait?.because].filter(Boolean).join(' '),
      render: (task) => (
        <div>
          {task.projected}
          {task.progress.wait && <div className="small soft">{task.progress.wait.because}</div>}
          {task.failure && (
            <div className="bad-text">
              {word(task.failure)}
              {task.failure_detail ? `: ${task.failure_detail}` : ''}
            </div>
          )}
          {task.refusals?.map((refusal) => (
            <div key={`${refusal.check}${refusal.found}`} className="small">
              {refusal.check}: {refusal.expected} ≠ {refusal.found}
            </div>
          ))}
        </div>
      ),
    },
  ];
  return <DataTable label={words.node.tabs.tasks} columns={columns} rows={tasks} rowKey={(task) => task.id} sorting={{ column: 'created', descending: true }} empty={blank(words.task.none, words.task.noneDetail)} />;
}

/** The same for one node. */
export function TasksView({ node }: { node: NodeView }) {
  const tasks = useRead(operator.tasks(node.id));
  return <Reading of={tasks}>{(list) => <TaskTable tasks={list.items} />}</Reading>;
}

/** What the host lacks. */
export function ReadinessView({ node }: { node: NodeView }) {
  const readiness = useRead(operator.readiness(node.id));
  const columns: Column<Schemas['ReadinessCheck']>[] = [
    { id: 'check', title: words.readiness.check, value: (check) => word(check.check) },
    { id: 'state', title: words.readiness.state, value: (check) => check.state, render: (check) => <StateBadge state={check.state} tone={check.state === 'ok' ? 'good' : check.required ? 'bad' : 'warn'} /> },
    { id: 'required', title: words.readiness.required, value: (check) => (check.required ? strings.shared.yes : strings.shared.no), render: (check) => <YesNo value={check.required} /> },
    { id: 'detail', title: words.readiness.detail, value: (check) => check.detail },
    { id: 'remedy', title: words.readiness.remedy, value: (check) => check.remedy, render: (check) => check.remedy ?? '–' },
  ];
  return (
    <Perhaps of={readiness} none={blank(words.readiness.none, words.readiness.noneDetail)}>
      {(found) => (
        <div className="stack">
          {found.readiness.reboot_required && (
            <Note tone="warn" title={words.readiness.reboot}>
              <p>{words.readiness.rebootDetail}</p>
            </Note>
          )}
          <p className="soft small">
            {words.readiness.at} <Time at={found.at} />
          </p>
          <DataTable label={words.node.tabs.readiness} columns={columns} rows={found.readiness.checks} rowKey={(check) => check.check} empty={null} />
        </div>
      )}
    </Perhaps>
  );
}

interface DriftRow {
  slot: Slot;
  drift: Schemas['DriftView'];
}

/** What differs: drift of slots, findings of the last reconciliation, and the last plan. */
export function FindingsView({ node, slots }: { node: NodeView; slots: readonly Slot[] }) {
  const reconcile = useRead(operator.reconcile(node.id));
  const plan = useRead(operator.plan(node.id));
  const drift = slots.flatMap((slot) => slot.drift.map((each) => ({ slot, drift: each })));
  const driftColumns: Column<DriftRow>[] = [
    { id: 'slot', title: words.findings.slot, value: (row) => row.slot.gpu_module_id, render: (row) => <Ref id={row.slot.id}>{words.slot.title(row.slot.gpu_module_id)}</Ref> },
    { id: 'kind', title: words.findings.kind, value: (row) => word(row.drift.kind), render: (row) => <StateBadge state={row.drift.kind} tone="warn" /> },
    { id: 'approved', title: words.findings.approved, value: (row) => row.drift.approved },
    { id: 'seen', title: words.findings.seen, value: (row) => row.drift.seen },
    { id: 'detail', title: words.findings.detail, value: (row) => row.drift.detail },
    { id: 'by', title: words.findings.saidBy, value: (row) => word(row.drift.said_by) },
    { id: 'since', title: words.findings.since, value: (row) => row.drift.first_seen_at, render: (row) => <Time at={row.drift.first_seen_at} /> },
  ];
  const findingColumns: Column<Schemas['Finding']>[] = [
    { id: 'kind', title: words.findings.kind, value: (finding) => word(finding.kind) },
    { id: 'action', title: words.findings.action, value: (finding) => finding.action, render: (finding) => <StateBadge state={finding.action} tone={finding.action === 'repaired' ? 'good' : finding.action === 'failed' ? 'bad' : 'warn'} /> },
    { id: 'thing', title: words.findings.thing, value: (finding) => finding.thing, render: (finding) => <code>{finding.thing}</code> },
    { id: 'about', title: words.findings.about, value: (finding) => finding.allocation_id ?? finding.slot_id, render: (finding) => (finding.allocation_id ? <Ref id={finding.allocation_id} /> : finding.slot_id ? <Ref id={finding.slot_id} /> : '–') },
    { id: 'detail', title: words.findings.detail, value: (finding) => finding.detail },
  ];
  return (
    <div className="stack">
      <h3>{words.findings.driftTitle}</h3>
      <DataTable label={words.findings.driftTitle} columns={driftColumns} rows={drift} rowKey={(row) => `${row.slot.id}${row.drift.field}${row.drift.kind}`} empty={<p className="soft">{words.slot.noDrift}</p>} />
      <h3>{words.findings.at}</h3>
      <Perhaps of={reconcile} none={blank(words.findings.never, words.findings.neverDetail)}>
        {(found) => (
          <div className="stack-tight">
            <p className="soft small">
              <Time at={found.at} />
            </p>
            <DataTable label={words.findings.at} columns={findingColumns} rows={found.report.findings} rowKey={(finding) => `${finding.kind}${finding.thing}`} empty={blank(words.findings.none, words.findings.noneDetail)} />
          </div>
        )}
      </Perhaps>
      {plan.data && (
        <>
          <h3>{words.findings.planTitle}</h3>
          {plan.data.report.refusals.length === 0 ? (
            <Note tone="good">{words.findings.planFits}</Note>
          ) : (
            <Note tone="bad" title={words.findings.planRefusals}>
              <ul>
                {plan.data.report.refusals.map((refusal) => (
                  <li key={`${refusal.check}${refusal.slot_id ?? ''}`}>
                    {refusal.check}: {words.findings.expected.toLowerCase()} {refusal.expected}, {words.findings.found.toLowerCase()} {refusal.found}
                  </li>
                ))}
              </ul>
            </Note>
          )}
        </>
      )}
    </div>
  );
}

/** What the agent did that it must not do. */
export function IncidentsView({ node }: { node: NodeView }) {
  const incidents = useRead(operator.incidents(node.id));
  const columns: Column<Schemas['IncidentView']>[] = [
    { id: 'kind', title: words.incident.kind, value: (each) => word(each.kind), render: (each) => <StateBadge state={each.kind} tone="bad" /> },
    { id: 'detail', title: words.incident.detail, value: (each) => each.detail },
    { id: 'count', title: words.incident.count, align: 'end', value: (each) => each.count },
    { id: 'first', title: words.incident.first, value: (each) => each.first_at, render: (each) => <Time at={each.first_at} /> },
    { id: 'last', title: words.incident.last, value: (each) => each.last_at, render: (each) => <Time at={each.last_at} /> },
  ];
  return <Reading of={incidents}>{(list) => <DataTable label={words.node.tabs.incidents} columns={columns} rows={list.items} rowKey={(each) => each.id} empty={blank(words.incident.none, words.incident.noneDetail)} />}</Reading>;
}

function GrantDisk({ node }: { node: NodeView }) {
  const [identity, setIdentity] = useState('');
  const [reason, setReason] = useState('');
  const run = async (): Promise<void> => {
    await answer(
      api.POST('/api/v1/admin/nodes/{node_id}/disk-grants', {
        params: { path: { node_id: node.id }, header: wish() },
        body: { nvme_identity: identity.trim(), reason: reason.trim() },
      }),
    );
    tell(words.grant.added);
  };
  return (
    <FormDialog trigger={words.grant.add} title={words.grant.addTitle(node.name)} action={words.grant.add} run={run} ready={identity.trim() !== '' && reason.trim() !== ''}>
      <Note tone="warn">{words.grant.addDetail}</Note>
      <TextField label={words.grant.identity} value={identity} onChange={setIdentity} required focusFirst placeholder="eui.…" />
      <TextField label={words.parts.reason} hint={words.parts.reasonHint} value={reason} onChange={setReason} required />
    </FormDialog>
  );
}

/** Disks that may be used although something is on them. */
export function GrantsView({ node }: { node: NodeView }) {
  const grants = useRead(operator.diskGrants(node.id));
  const may = useMayAct();
  const columns: Column<Schemas['DiskGrantView']>[] = [
    { id: 'disk', title: words.grant.disk, value: (grant) => grant.nvme_identity, render: (grant) => <code>{grant.nvme_identity}</code> },
    { id: 'by', title: words.grant.by, value: (grant) => grant.granted_by, render: (grant) => <Ref id={grant.granted_by} /> },
    { id: 'at', title: words.grant.at, value: (grant) => grant.at, render: (grant) => <Time at={grant.at} /> },
    { id: 'reason', title: words.grant.reason, value: (grant) => grant.reason },
    {
      id: 'actions',
      title: strings.shared.actions,
      render: (grant) =>
        may && (
          <Act
            small
            danger
            label={words.grant.remove}
            title={words.grant.removeTitle(grant.nvme_identity)}
            consequence={words.grant.removeDetail}
            done={words.grant.removed}
            run={() => answer(api.DELETE('/api/v1/admin/nodes/{node_id}/disk-grants/{nvme_identity}', { params: { path: { node_id: node.id, nvme_identity: grant.nvme_identity } } }))}
          />
        ),
    },
  ];
  return (
    <div className="stack">
      {may && (
        <div>
          <GrantDisk node={node} />
        </div>
      )}
      <Reading of={grants}>{(list) => <DataTable label={words.node.tabs.disks} columns={columns} rows={list.items} rowKey={(grant) => grant.nvme_identity} empty={blank(words.grant.none, words.grant.noneDetail)} />}</Reading>
    </div>
  );
}

/** What happened to the node and to its slots. */
export function EventsView({ node, slots }: { node: NodeView; slots: readonly Slot[] }) {
  const mine = new Set([node.id, ...slots.map((slot) => slot.id)]);
  return <EventTable keep={(event) => mine.has(event.subject)} label={`${node.name} ${gpuModel(node.gpu_model)}`} />;
}
