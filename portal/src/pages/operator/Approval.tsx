// Slot approval: what discovery proposes beside what was approved, what differs, and the rule that blocks with what it would
// accept.
import { useState } from 'react';
import { useParams } from 'react-router';
import { answer, api, ifMatch, Refusal, wish, type Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { Select, TextField } from '../../ui/controls';
import { ConfirmButton, FormDialog, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { Card, StateBadge } from '../../ui/pieces';
import { Empty, Loading, Note, Reading, Refused } from '../../ui/states';
import { bodyOf, compareSlot, waitsForApproval, type Field, type FieldRow } from './approval-fields';
import { Act, Ref, useMayAct, word } from './parts';

const words = strings.operator.approval;
const slotWords = strings.operator.slot;
type Candidate = Schemas['CandidateView'];
type Slot = Schemas['SlotView'];
type Body = Schemas['SlotApproveBody'];

function Compared({ rows }: { rows: readonly FieldRow[] }) {
  return (
    <table className="compare">
      <thead>
        <tr>
          <th scope="col">{words.field}</th>
          <th scope="col">{words.candidate}</th>
          <th scope="col">{words.approved}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.field} data-differs={row.differs || undefined} data-blocked={row.refusals.length > 0 || undefined}>
            <th scope="row">{slotWords.fields[row.field]}</th>
            <td data-label={words.candidate}>
              {row.candidate === undefined ? <em className="soft">{words.missing}</em> : <code>{row.candidate}</code>}
              {row.closeness && <span className="small soft"> {words.closeness[row.closeness]}</span>}
              {row.refusals.map((refusal) => (
                <div key={refusal.rule} className="small bad-text">
                  ■ {refusal.detail}
                </div>
              ))}
            </td>
            <td data-label={words.approved}>
              {row.approved === undefined ? <em className="soft">{words.notApproved}</em> : <code>{row.approved}</code>}
              {row.differs && <strong className="small"> ≠ {words.differs}</strong>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function approve(nodeId: string, slot: Slot | undefined, body: Body): Promise<unknown> {
  if (slot) return answer(api.POST('/api/v1/admin/resource-slots/{slot_id}/approve', { params: { path: { slot_id: slot.id }, header: { ...wish(), ...ifMatch(slot) } }, body }));
  return answer(api.POST('/api/v1/admin/nodes/{node_id}/resource-slots', { params: { path: { node_id: nodeId }, header: wish() }, body }));
}

const editable = ['gpu_pci_address', 'nvme_identity', 'mgmt_mac', 'private_ip', 'fabric_vf_pci_address'] as const satisfies readonly Field[];

/** A form with the candidate's values, to put right what blocks it. */
function EditAndApprove({ nodeId, view, slot, name }: { nodeId: string; view: Candidate; slot: Slot | undefined; name: string }) {
  const [body, setBody] = useState<Body>(() => bodyOf(view.candidate.devices));
  const set = (field: keyof Body, value: string): void => setBody((before) => ({ ...before, [field]: value }));
  const run = async (): Promise<void> => {
    const filled = Object.fromEntries(Object.entries(body).filter(([, value]) => value.trim() !== '')) as Body;
    await approve(nodeId, slot, filled);
    tell(words.wasApproved);
  };
  const blocks = (field: Field): string | undefined =>
    view.refusals
      .filter((refusal) => refusal.field === field)
      .map((refusal) => `${refusal.detail} ${words.fix}: ${refusal.accepted}`)
      .join(' ') || undefined;
  return (
    <FormDialog small trigger={words.edit} title={words.approveTitle(name)} action={words.approve} run={run} onOpen={() => setBody(bodyOf(view.candidate.devices))}>
      <p>{slot ? words.reapproveDetail : words.approveDetail}</p>
      {editable.map((field) => (
        <TextField key={field} label={slotWords.fields[field]} value={body[field] ?? ''} onChange={(value) => set(field, value)} error={blocks(field)} />
      ))}
      <Select
        label={slotWords.fields.fabric_claim_mode}
        value={body.fabric_claim_mode}
        onChange={(id) => set('fabric_claim_mode', id)}
        options={[
          { id: 'per_slot_vf', label: words.perSlotVf },
          { id: 'none', label: words.noFabric },
        ]}
      />
    </FormDialog>
  );
}

function SlotButtons({ slot, name }: { slot: Slot; name: string }) {
  const path = { slot_id: slot.id };
  const header = { ...wish(), ...ifMatch(slot) };
  if (slot.execution === 'disabled') {
    return (
      <Act small label={slotWords.enable} title={slotWords.enableTitle(name)} consequence={slotWords.enableDetail} done={slotWords.enabled} run={() => answer(api.POST('/api/v1/admin/resource-slots/{slot_id}/enable', { params: { path, header } }))} />
    );
  }
  return (
    <Act
      small
      danger
      reason
      label={slotWords.disable}
      title={slotWords.disableTitle(name)}
      consequence={slotWords.disableDetail}
      done={slotWords.disabled}
      run={(reason) => answer(api.POST('/api/v1/admin/resource-slots/{slot_id}/disable', { params: { path, header }, body: { reason } }))}
    />
  );
}

function CandidateCard({ nodeId, nodeName, view, slot }: { nodeId: string; nodeName: string; view: Candidate; slot: Slot | undefined }) {
  const may = useMayAct();
  const module = view.candidate.devices.gpu_module_id;
  const name = `${words.slotCard(module, view.candidate.devices.gpu_pci_address ?? '')} · ${nodeName}`;
  const rows = compareSlot(view, slot);
  const differs = rows.some((row) => row.differs);
  const drifted = (slot?.drift.length ?? 0) > 0;
  const canApprove = view.refusals.length === 0 && view.candidate.missing.length === 0;
  return (
    <Card
      title={slot ? <Ref id={slot.id}>{words.slotCard(module, view.candidate.devices.gpu_pci_address ?? '')}</Ref> : words.slotCard(module, view.candidate.devices.gpu_pci_address ?? '')}
      actions={slot ? <StateBadge state={slot.execution} label={strings.operator.fleet.cells[slot.execution]} /> : <StateBadge state="waiting" tone={canApprove ? 'busy' : 'bad'} label={canApprove ? words.waiting : words.isBlocked} />}
    >
      <Compared rows={rows} />
      {drifted && slot && (
        <Note tone="warn" title={words.drifted}>
          <ul>
            {slot.drift.map((drift) => (
              <li key={`${drift.field}${drift.kind}`}>
                {drift.detail} <span className="soft">({word(drift.kind)})</span>
              </li>
            ))}
          </ul>
        </Note>
      )}
      {view.refusals.length > 0 && (
        <Note tone="bad" title={words.blocked}>
          <ul>
            {view.refusals.map((refusal) => (
              <li key={`${refusal.field}${refusal.rule}`}>
                <strong>{refusal.field in slotWords.fields ? slotWords.fields[refusal.field as Field] : word(refusal.field)}</strong>: {refusal.detail} <code>{refusal.rule}</code>
                <div className="small">
                  {words.fix}: {refusal.accepted}
                </div>
              </li>
            ))}
          </ul>
        </Note>
      )}
      {view.candidate.notes.length > 0 && (
        <Note tone="idle" title={words.notes}>
          <ul>
            {view.candidate.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </Note>
      )}
      {may && (
        <div className="row">
          {canApprove && (!slot || differs || drifted) && (
            <ConfirmButton
              small
              tone="primary"
              trigger={slot ? words.reapprove : words.approve}
              title={words.approveTitle(name)}
              action={words.approve}
              run={() => approve(nodeId, slot, bodyOf(view.candidate.devices))}
              onDone={() => tell(words.wasApproved)}
            >
              <p>{slot ? words.reapproveDetail : words.approveDetail}</p>
            </ConfirmButton>
          )}
          <EditAndApprove nodeId={nodeId} view={view} slot={slot} name={name} />
          {slot && <SlotButtons slot={slot} name={name} />}
        </div>
      )}
    </Card>
  );
}

function ApproveAll({ nodeId, nodeName, number }: { nodeId: string; nodeName: string; number: number }) {
  const run = async (): Promise<void> => {
    const done = await answer(api.POST('/api/v1/admin/nodes/{node_id}/resource-slots/approve-complete', { params: { path: { node_id: nodeId }, header: wish() } }));
    tell(words.allApproved(done.approved.length, done.left.length));
  };
  return (
    <ConfirmButton tone="primary" trigger={words.approveAll(number)} title={words.approveAllTitle(number, nodeName)} action={words.approve} run={run}>
      <p>{words.approveAllDetail}</p>
    </ConfirmButton>
  );
}

/** The page. */
export function Component() {
  const { nodeId = '' } = useParams();
  const may = useMayAct();
  const node = useRead(operator.node(nodeId));
  const discovery = useRead(operator.discovery(nodeId));
  const slots = useRead(operator.slots(nodeId));
  const name = node.data?.name ?? '';
  const waiting = (discovery.data?.candidates ?? []).filter(waitsForApproval);
  const none = (
    <Empty title={words.noCandidates}>
      <p>{words.noCandidatesDetail}</p>
    </Empty>
  );
  const groups = (candidates: readonly Candidate[], list: readonly Slot[]) => {
    const slotOf = (view: Candidate): Slot | undefined => list.find((slot) => slot.id === view.slot_id);
    const drifted = candidates.filter((view) => (slotOf(view)?.drift.length ?? 0) > 0);
    const open = candidates.filter((view) => view.slot_id === undefined);
    const settled = candidates.filter((view) => view.slot_id !== undefined && !drifted.includes(view));
    return [
      { title: words.waiting, views: open },
      { title: words.drifted, views: drifted },
      { title: words.settled, views: settled },
    ]
      .filter((group) => group.views.length > 0)
      .map((group) => (
        <section key={group.title} className="stack">
          <h2>
            {group.title} · {group.views.length}
          </h2>
          <div className="grid-2">
            {group.views.map((view) => (
              <CandidateCard key={`${view.candidate.gpu_uuid ?? ''}${view.candidate.devices.gpu_pci_address ?? ''}${slotOf(view)?.version ?? 0}`} nodeId={nodeId} nodeName={name} view={view} slot={slotOf(view)} />
            ))}
          </div>
        </section>
      ));
  };
  return (
    <Page
      title={words.title(name)}
      lead={words.lead}
      crumbs={[
        { label: strings.operator.fleet.title, to: '/operator/fleet' },
        { label: name, to: `/operator/nodes/${nodeId}` },
      ]}
      actions={may && waiting.length > 0 && <ApproveAll nodeId={nodeId} nodeName={name} number={waiting.length} />}
      calls={[
        { method: 'GET', path: `/api/v1/admin/nodes/${nodeId}/slice-topology/discovery`, cli: `gpuaas node candidates ${nodeId}` },
        { method: 'POST', path: `/api/v1/admin/nodes/${nodeId}/resource-slots/approve-complete`, cli: `gpuaas slot approve-complete ${nodeId}` },
      ]}
    >
      {discovery.error instanceof Refusal && discovery.error.missing && node.data ? (
        none
      ) : discovery.error && !discovery.data ? (
        <Refused error={discovery.error} onRetry={() => void discovery.refetch()} />
      ) : !discovery.data ? (
        <Loading lines={8} />
      ) : (
        <Reading of={slots}>{(list) => (discovery.data.candidates.length === 0 ? none : groups(discovery.data.candidates, list.items))}</Reading>
      )}
    </Page>
  );
}
