// One allocation for operators: where it is, what was decided and why, who of the candidates lost by which rule, and the way to
// end it without its owner.
/* eslint jsx-a11y/no-noninteractive-tabindex: off -- wide tables can be scrolled with the keyboard */
import { useState } from 'react';
import { useParams } from 'react-router';
import { answer, api, ifMatch, wish, type Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import * as things from '../../api/things';
import { strings } from '../../strings';
import { TextField } from '../../ui/controls';
import { FormDialog, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { Card, Disclosure, Facts, StateBadge, Tabs, Time } from '../../ui/pieces';
import { Note, Reading } from '../../ui/states';
import { ClaimsView, SlotsView, TaskTable, holderBySlot } from './node/views';
import { Ref, useCatalogNames, useMayAct, word } from './parts';

const words = strings.operator.allocation;
type Place = Schemas['AllocationPlaceView'];
type Decision = Schemas['PlacedDecisionView'];

/** Ends it without its owner. The name has to be typed, since the guest and its local data are lost. */
function ForceRelease({ allocation }: { allocation: Schemas['AllocationView'] }) {
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const run = async (): Promise<void> => {
    await answer(
      api.POST('/api/v1/admin/allocations/{allocation_id}/force-release', {
        params: { path: { allocation_id: allocation.id }, header: { ...wish(), ...ifMatch(allocation) } },
        body: { reason: reason.trim() },
      }),
    );
    tell(words.forced);
  };
  const reset = (): void => {
    setReason('');
    setTyped('');
  };
  return (
    <FormDialog tone="danger" trigger={words.force} title={words.forceTitle(allocation.name)} action={words.force} run={run} onOpen={reset} ready={reason.trim() !== '' && typed === allocation.name}>
      <Note tone="warn">{words.forceDetail(allocation.gpu_count)}</Note>
      <TextField label={strings.operator.parts.reason} hint={strings.operator.parts.reasonHint} value={reason} onChange={setReason} required focusFirst />
      <TextField label={words.typeName(allocation.name)} value={typed} onChange={setTyped} required />
    </FormDialog>
  );
}

const scoreParts = ['opens', 'spoils', 'switches', 'numa', 'rails'] as const;

/** The candidates that a decision looked at, by what each would have cost. */
function Candidates({ decision, nodeName }: { decision: Decision; nodeName: (id: string) => string }) {
  return (
    <div className="scroll-x" role="region" aria-label={words.candidates} tabIndex={0}>
      <table className="grid-of-rules">
        <caption className="hidden-but-read">{words.candidates}</caption>
        <thead>
          <tr>
            <th scope="col">{words.candidate}</th>
            <th scope="col">{words.modules}</th>
            <th scope="col">{words.cost}</th>
            {scoreParts.map((part) => (
              <th key={part} scope="col">
                {words.score[part]}
              </th>
            ))}
            <th scope="col">{words.wear}</th>
          </tr>
        </thead>
        <tbody>
          {decision.places.map((place, index) => (
            <tr key={`${place.node_id}${place.gpu_modules.join()}`}>
              <th scope="row">
                <Ref id={place.node_id}>{nodeName(place.node_id)}</Ref> {index === 0 && decision.decision.outcome === 'placed' && <StateBadge state="placed" label={words.chosen} />}
              </th>
              <td>{place.gpu_modules.join(', ')}</td>
              <td className="number">{place.score.cost}</td>
              {scoreParts.map((part) => (
                <td key={part} className="number">
                  {place.score[part] ?? 0}
                </td>
              ))}
              <td className="number">{place.wear}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {decision.left_out > 0 && <p className="small soft">{words.leftOut(decision.left_out)}</p>}
    </div>
  );
}

/** The nodes that were passed over, by the rule that ruled them out. */
function PassedOver({ decision }: { decision: Schemas['DecisionView'] }) {
  const total = decision.considered?.nodes ?? decision.nodes.reduce((sum, each) => sum + each.nodes, 0);
  return (
    <div className="scroll-x" role="region" aria-label={words.passedOver} tabIndex={0}>
      <table className="grid-of-rules">
        <caption className="hidden-but-read">{words.passedOver}</caption>
        <thead>
          <tr>
            <th scope="col">{words.rule}</th>
            <th scope="col">{words.nodes}</th>
            <th scope="col">{words.meaning}</th>
          </tr>
        </thead>
        <tbody>
          {decision.nodes.map((each) => (
            <tr key={each.reason}>
              <th scope="row">{word(each.reason)}</th>
              <td className="number">
                {each.nodes} / {total}
              </td>
              <td>{words.reasons[each.reason]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function DecisionCard({ placed, nodeName, open }: { placed: Decision; nodeName: (id: string) => string; open: boolean }) {
  const { decision } = placed;
  return (
    <Card title={<StateBadge state={decision.outcome} tone={decision.outcome === 'refused' ? 'bad' : 'good'} />} actions={<Time at={decision.at} />}>
      <p>{decision.because}</p>
      <Facts
        of={[
          [words.considered, decision.considered && words.consideredDetail(decision.considered.nodes, decision.considered.nodes_fitting, decision.considered.sets)],
          [words.kind, decision.kind && word(decision.kind)],
          [words.partition, placed.partition === undefined ? undefined : String(placed.partition)],
          [words.snapshot, decision.snapshot_version > 0 && String(decision.snapshot_version)],
          [words.policy, placed.policy && <code key="p">{placed.policy}</code>],
        ]}
      />
      {placed.places.length > 0 && (
        <>
          <h3>{words.candidates}</h3>
          <Candidates decision={placed} nodeName={nodeName} />
        </>
      )}
      {decision.nodes.length > 0 && (
        <>
          <h3>{words.passedOver}</h3>
          <PassedOver decision={decision} />
        </>
      )}
      {decision.refusal && decision.refusal.unblocks.length > 0 && (
        <Note tone="warn" title={words.unblocks}>
          <ul>
            {decision.refusal.unblocks.map((each) => (
              <li key={each.step}>{words.unblock(word(each.step), each.nodes, each.gpus)}</li>
            ))}
          </ul>
        </Note>
      )}
      <Disclosure title={words.checks} open={open && decision.outcome === 'refused'}>
        <ul className="plain-list stack-tight">
          {decision.checks.map((check) => (
            <li key={check.code}>
              <StateBadge state={check.outcome} /> {word(check.code)}
              {check.detail ? `: ${check.detail}` : ''}
            </li>
          ))}
        </ul>
      </Disclosure>
    </Card>
  );
}

function Shown({ place }: { place: Place }) {
  const names = useCatalogNames();
  const { allocation } = place;
  const decisions = useRead(operator.decisions(allocation.id));
  const nodes = useRead(operator.nodes).data?.items ?? [];
  const nodeName = (id: string): string => nodes.find((node) => node.id === id)?.name ?? id;
  const sku = useRead(things.skus).data?.items.find((each) => each.id === allocation.sku_id);
  return (
    <>
      <div className="grid-2">
        <Card title={words.facts}>
          <p>{allocation.projected}</p>
          {allocation.progress.wait && <p className="soft">{allocation.progress.wait.because}</p>}
          <Facts
            of={[
              [words.desired, allocation.desired_reason ? `${word(allocation.desired)}: ${allocation.desired_reason}` : word(allocation.desired)],
              [words.node, place.node_id && <Ref key="n" id={place.node_id}>{place.node ?? place.node_id}</Ref>],
              [words.gpus, String(allocation.gpu_count)],
              [words.sku, sku?.slug],
              [words.region, names.region(allocation.region_id)],
              [words.image, allocation.image_id],
              [words.tenant, <Ref key="t" id={allocation.tenant_id} />],
              [words.project, <Ref key="p" id={allocation.project_id} />],
              [words.workload, allocation.workload_id && <Ref key="w" id={allocation.workload_id} />],
              [words.from, allocation.recreated_from && <Ref key="f" id={allocation.recreated_from} />],
              [words.as, allocation.recreated_as && <Ref key="a" id={allocation.recreated_as} />],
              [words.created, <Time key="c" at={allocation.created_at} />],
              [words.leaseEnds, allocation.lease_ends_at && <Time key="l" at={allocation.lease_ends_at} />],
            ]}
          />
        </Card>
        <Card title={words.guest}>
          {allocation.access ? (
            <Facts
              of={[
                [words.address, <code key="i">{allocation.access.private_ip}</code>],
                [words.mac, <code key="m">{allocation.access.mac}</code>],
                [words.lease, <StateBadge key="s" state={allocation.access.lease_state} tone={allocation.access.lease_state === 'leased' ? 'good' : 'warn'} />],
                [words.user, allocation.access.user],
                [words.hostKey, <code key="h">{allocation.access.host_key}</code>],
              ]}
            />
          ) : (
            <p className="soft">{words.noGuest}</p>
          )}
          {allocation.observed.reason && <Note tone="bad">{allocation.observed.reason}</Note>}
        </Card>
      </div>
      <Tabs
        label={words.views}
        views={[
          {
            id: 'decisions',
            title: words.decisions,
            content: (
              <Reading of={decisions}>
                {(list) => (
                  <div className="stack">
                    {list.items.length === 0 && <p className="soft">{words.noDecision}</p>}
                    {[...list.items].reverse().map((placed, index) => (
                      <DecisionCard key={placed.decision.id} placed={placed} nodeName={nodeName} open={index === 0} />
                    ))}
                  </div>
                )}
              </Reading>
            ),
          },
          { id: 'slots', title: strings.operator.node.tabs.slots, content: <SlotsView slots={place.slots} holders={holderBySlot(place.claims, place.slots)} /> },
          { id: 'claims', title: strings.operator.node.tabs.claims, content: <ClaimsView claims={place.claims} slots={place.slots} /> },
          { id: 'tasks', title: strings.operator.node.tabs.tasks, content: <TaskTable tasks={place.tasks} /> },
        ]}
      />
    </>
  );
}

/** The page. */
export function Component() {
  const { allocationId = '' } = useParams();
  const may = useMayAct();
  const place = useRead(operator.place(allocationId));
  const allocation = place.data?.allocation;
  const ended = allocation && ['released', 'refused', 'failed'].includes(allocation.execution);
  return (
    <Page
      title={allocation?.name ?? words.title}
      mark={allocation && <StateBadge state={allocation.execution} />}
      crumbs={[{ label: words.title, to: '/operator/allocations' }]}
      actions={may && allocation && !ended && <ForceRelease allocation={allocation} />}
      calls={[
        { method: 'GET', path: `/api/v1/admin/allocations/${allocationId}`, cli: `gpuaas admin allocation show ${allocationId}` },
        { method: 'GET', path: `/api/v1/admin/allocations/${allocationId}/decisions` },
      ]}
    >
      <Reading of={place}>{(found) => <Shown place={found} />}</Reading>
    </Page>
  );
}
