// One slot: what it is made of, how it stands, its wipe proofs, and the ways out when it is blocked.
import { useState } from 'react';
import { useParams } from 'react-router';
import { answer, api, ifMatch, wish, type Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { Button, TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { DialogBox, FormDialog, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { Card, CopyField, Facts, StateBadge, Time } from '../../ui/pieces';
import { Empty, Note, Reading } from '../../ui/states';
import { slotFields } from './approval-fields';
import { Act, Ref, useMayAct, word } from './parts';

const words = strings.operator.slot;
type Slot = Schemas['SlotView'];

function OverrideButton({ slot, name }: { slot: Slot; name: string }) {
  const [reason, setReason] = useState('');
  const [evidence, setEvidence] = useState('');
  const run = async (): Promise<void> => {
    await answer(
      api.POST('/api/v1/admin/resource-slots/{slot_id}/override', {
        params: { path: { slot_id: slot.id }, header: wish() },
        body: { reason: reason.trim(), ...(evidence.trim() ? { evidence_ref: evidence.trim() } : {}) },
      }),
    );
    tell(words.overrideAsked);
  };
  return (
    <FormDialog tone="danger" trigger={words.override} title={words.overrideTitle(name)} action={words.override} run={run} ready={reason.trim() !== ''}>
      <Note tone="warn">{words.overrideDetail}</Note>
      <TextField label={words.overrideReason} value={reason} onChange={setReason} multiline required focusFirst />
      <TextField label={words.overrideEvidence} value={evidence} onChange={setEvidence} />
    </FormDialog>
  );
}

function SlotActions({ slot, name }: { slot: Slot; name: string }) {
  const path = { slot_id: slot.id };
  const header = { ...wish(), ...ifMatch(slot) };
  return (
    <>
      {slot.execution === 'disabled' ? (
        <Act label={words.enable} title={words.enableTitle(name)} consequence={words.enableDetail} done={words.enabled} run={() => answer(api.POST('/api/v1/admin/resource-slots/{slot_id}/enable', { params: { path, header } }))} />
      ) : (
        <Act
          danger
          reason
          label={words.disable}
          title={words.disableTitle(name)}
          consequence={words.disableDetail}
          done={words.disabled}
          run={(reason) => answer(api.POST('/api/v1/admin/resource-slots/{slot_id}/disable', { params: { path, header }, body: { reason } }))}
        />
      )}
      {slot.execution === 'cleanup_blocked' && (
        <>
          <Act danger label={words.repair} title={words.repairTitle(name)} consequence={words.repairDetail} done={words.repaired} run={() => answer(api.POST('/api/v1/admin/resource-slots/{slot_id}/repair', { params: { path, header: wish() } }))} />
          <OverrideButton slot={slot} name={name} />
        </>
      )}
    </>
  );
}

function ProofDialog({ slotId, use, onClose }: { slotId: string; use: number; onClose: () => void }) {
  const proof = useRead(operator.proof(slotId, use));
  return (
    <DialogBox title={`${words.proofs} · ${words.proofUse} ${use}`} isOpen onClose={onClose}>
      <Reading of={proof}>
        {(found) => (
          <div className="stack">
            <div>
              <StateBadge state={found.holds ? 'passed' : 'refused'} label={found.holds ? words.proofHolds : words.proofRefused} />
            </div>
            <h3>{words.proofChecks}</h3>
            <ul>
              {found.checks.map((check) => (
                <li key={check.check}>
                  {check.ok ? '✓' : '✗'} <strong>{word(check.check)}</strong>: {check.detail}
                </li>
              ))}
            </ul>
            <h3>{words.proofSteps}</h3>
            <ul>
              {found.proof.steps.map((step) => (
                <li key={step.step}>
                  {step.ok ? '✓' : '✗'} <strong>{word(step.step)}</strong>: {step.evidence}
                </li>
              ))}
            </ul>
            <Facts of={[[words.proofKey, <code key="k">{found.node_key_fingerprint}</code>]]} />
            <CopyField text={found.proof.signature} what={words.proofSignature} />
          </div>
        )}
      </Reading>
      <div className="modal-actions">
        <Button onPress={onClose}>{strings.shared.close}</Button>
      </div>
    </DialogBox>
  );
}

function Proofs({ slotId }: { slotId: string }) {
  const proofs = useRead(operator.proofs(slotId));
  const [open, setOpen] = useState<number>();
  const columns: Column<Schemas['ProofSummary']>[] = [
    { id: 'use', title: words.proofUse, align: 'end', value: (proof) => proof.use_generation },
    { id: 'holds', title: words.proofHolds, value: (proof) => (proof.holds ? strings.shared.yes : strings.shared.no), render: (proof) => <StateBadge state={proof.holds ? 'passed' : 'refused'} label={proof.holds ? words.proofHolds : `${words.proofRefused}: ${word(proof.refused ?? '')}`} /> },
    { id: 'method', title: words.proofMethod, value: (proof) => word(proof.method) },
    { id: 'at', title: words.proofAt, value: (proof) => proof.received_at, render: (proof) => <Time at={proof.received_at} /> },
    { id: 'actions', title: strings.shared.actions, align: 'end', render: (proof) => <Button small onPress={() => setOpen(proof.use_generation)}>{words.proofOpen}</Button> },
  ];
  return (
    <Card title={words.proofs}>
      <Reading of={proofs}>
        {(list) => (
          <DataTable
            label={words.proofs}
            columns={columns}
            rows={list.items}
            rowKey={(proof) => proof.id}
            sorting={{ column: 'use', descending: true }}
            empty={
              <Empty title={words.proofNone}>
                <p>{words.proofNoneDetail}</p>
              </Empty>
            }
          />
        )}
      </Reading>
      {open !== undefined && <ProofDialog slotId={slotId} use={open} onClose={() => setOpen(undefined)} />}
    </Card>
  );
}

function Shown({ slot }: { slot: Slot }) {
  return (
    <>
      {slot.execution === 'cleanup_blocked' && slot.ways_out && slot.ways_out.length > 0 && (
        <Note tone="bad" title={words.waysOut}>
          <ul>
            {slot.ways_out.map((way) => (
              <li key={way}>{way}</li>
            ))}
          </ul>
        </Note>
      )}
      {slot.drift.length > 0 && (
        <Note tone="warn" title={words.drift}>
          <ul>
            {slot.drift.map((drift) => (
              <li key={`${drift.field}${drift.kind}`}>{drift.detail}</li>
            ))}
          </ul>
        </Note>
      )}
      <div className="grid-2">
        <Card title={words.state}>
          <p>{slot.projected}</p>
          {slot.progress.wait && <p className="soft">{slot.progress.wait.because}</p>}
          <Facts
            of={[
              [words.profile, slot.profile],
              [words.uses, String(slot.use_generation)],
              [words.health, slot.health_detail ? `${word(slot.health_state)}: ${slot.health_detail}` : word(slot.health_state)],
              [words.approvedBy, slot.approved_by && <Ref key="by" id={slot.approved_by} />],
              [words.approvedAt, slot.approved_at && <Time key="at" at={slot.approved_at} />],
            ]}
          />
        </Card>
        <Card title={strings.operator.approval.approved}>
          <Facts of={slotFields.map((field) => [words.fields[field], slot[field] === undefined ? undefined : <code key={field}>{String(slot[field])}</code>] as const)} />
        </Card>
      </div>
      <Proofs slotId={slot.id} />
    </>
  );
}

/** The page. */
export function Component() {
  const { slotId = '' } = useParams();
  const may = useMayAct();
  const slot = useRead(operator.slot(slotId));
  const node = useRead({ ...operator.node(slot.data?.node_id ?? ''), when: slot.data !== undefined });
  const title = words.title(slot.data?.gpu_module_id);
  const name = node.data ? `${title} · ${node.data.name}` : title;
  return (
    <Page
      title={name}
      mark={slot.data && <StateBadge state={slot.data.execution} label={strings.operator.fleet.cells[slot.data.execution]} />}
      crumbs={[
        { label: strings.operator.fleet.title, to: '/operator/fleet' },
        ...(node.data ? [{ label: node.data.name, to: `/operator/nodes/${node.data.id}` }] : []),
      ]}
      actions={may && slot.data && <SlotActions slot={slot.data} name={name} />}
      calls={[
        { method: 'GET', path: `/api/v1/admin/resource-slots/${slotId}`, cli: `gpuaas slot show ${slotId}` },
        { method: 'GET', path: `/api/v1/admin/resource-slots/${slotId}/proofs`, cli: `gpuaas proof list ${slotId}` },
      ]}
    >
      <Reading of={slot}>{(found) => <Shown slot={found} />}</Reading>
    </Page>
  );
}
