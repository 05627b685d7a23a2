// What an operator can do with a node. Each button names the node and what follows, and is sent with the version that was read,
// so that nobody acts on what somebody else has changed in the meantime.
import { useState } from 'react';
import { answer, api, ifMatch, wish, type Schemas } from '../../../api/client';
import { strings } from '../../../strings';
import { Checkbox } from '../../../ui/controls';
import { FormDialog, tell } from '../../../ui/overlays';
import { Act } from '../parts';

const words = strings.operator.node;
type NodeView = Schemas['NodeView'];
type ActionId = keyof typeof words.actions;

interface Action {
  id: ActionId;
  reason?: boolean;
  danger?: boolean;
  run: (node: NodeView, reason: string) => Promise<unknown>;
  /** Whether it makes sense in the state that the node is in. */
  when: (node: NodeView) => boolean;
}

const path = (node: NodeView): { node_id: string } => ({ node_id: node.id });
const both = (node: NodeView): { 'Idempotency-Key': string; 'If-Match': string } => ({ ...wish(), ...ifMatch(node) });
const always = (): boolean => true;

const actions: readonly Action[] = [
  {
    id: 'discover',
    when: always,
    run: (node) => answer(api.POST('/api/v1/admin/nodes/{node_id}/slice-topology/discovery', { params: { path: path(node), header: wish() } })),
  },
  { id: 'readiness', when: always, run: (node) => answer(api.POST('/api/v1/admin/nodes/{node_id}/readiness', { params: { path: path(node), header: wish() } })) },
  { id: 'reconcile', when: always, run: (node) => answer(api.POST('/api/v1/admin/nodes/{node_id}/reconcile', { params: { path: path(node), header: wish() } })) },
  { id: 'repair', when: always, run: (node) => answer(api.POST('/api/v1/admin/nodes/{node_id}/repair', { params: { path: path(node), header: wish() } })) },
  {
    id: 'promote',
    when: (node) => node.promoted_at === undefined,
    run: (node) => answer(api.POST('/api/v1/admin/nodes/{node_id}/promote', { params: { path: path(node), header: both(node) } })),
  },
  {
    id: 'drain',
    reason: true,
    danger: true,
    when: (node) => node.desired === 'in_service',
    run: (node, reason) => answer(api.POST('/api/v1/admin/nodes/{node_id}/drain', { params: { path: path(node), header: both(node) }, body: { reason } })),
  },
  {
    id: 'undrain',
    when: (node) => node.desired !== 'in_service',
    run: (node) => answer(api.POST('/api/v1/admin/nodes/{node_id}/undrain', { params: { path: path(node), header: both(node) } })),
  },
  {
    id: 'evacuate',
    reason: true,
    danger: true,
    when: (node) => node.occupancy !== 'free',
    run: async (node, reason) => {
      const plan = await answer(api.POST('/api/v1/admin/nodes/{node_id}/evacuate', { params: { path: path(node), header: both(node) }, body: { reason } }));
      tell(words.evacuated(plan.leaving.length, plan.staying.length));
    },
  },
  {
    id: 'disable',
    reason: true,
    danger: true,
    when: (node) => node.desired !== 'disabled',
    run: (node, reason) => answer(api.POST('/api/v1/admin/nodes/{node_id}/disable', { params: { path: path(node), header: both(node) }, body: { reason } })),
  },
  {
    id: 'demote',
    reason: true,
    danger: true,
    when: (node) => node.promoted_at !== undefined,
    run: (node, reason) => answer(api.POST('/api/v1/admin/nodes/{node_id}/demote', { params: { path: path(node), header: both(node) }, body: { reason } })),
  },
  {
    id: 'convert',
    danger: true,
    when: (node) => node.profiles.length === 1 && node.converting_to === undefined,
    run: (node) => answer(api.POST('/api/v1/admin/nodes/{node_id}/convert', { params: { path: path(node), header: both(node) }, body: { to: otherProfile(node) } })),
  },
  {
    id: 'revoke',
    reason: true,
    danger: true,
    when: always,
    run: (node, reason) => answer(api.POST('/api/v1/admin/nodes/{node_id}/revoke-identity', { params: { path: path(node), header: wish() }, body: { reason } })),
  },
];

/** What a node would be converted to. */
function otherProfile(node: NodeView): Schemas['NodeProfile'] {
  return node.profiles.includes('gpuaas-profile-baremetal') ? 'gpuaas-profile-slice-vm' : 'gpuaas-profile-baremetal';
}

function PlanButton({ node, slots }: { node: NodeView; slots: readonly Schemas['SlotView'][] }) {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [label, question, detail, done] = words.actions.plan;
  const run = async (): Promise<void> => {
    await answer(api.POST('/api/v1/admin/nodes/{node_id}/plan', { params: { path: path(node), header: wish() }, body: { slot_ids: [...chosen] } }));
    tell(done);
  };
  return (
    <FormDialog trigger={label} title={`${question} ${node.name}?`} action={label} run={run} onOpen={() => setChosen([])} ready={chosen.length > 0}>
      <p>{detail}</p>
      <div>
        {slots.map((slot) => (
          <Checkbox key={slot.id} selected={chosen.includes(slot.id)} onChange={(on) => setChosen((before) => (on ? [...before, slot.id] : before.filter((id) => id !== slot.id)))}>
            {strings.operator.slot.title(slot.gpu_module_id)} <code className="soft">{slot.gpu_pci_address}</code>
          </Checkbox>
        ))}
      </div>
    </FormDialog>
  );
}

/** The buttons that make sense now. */
export function NodeActions({ node, slots }: { node: NodeView; slots: readonly Schemas['SlotView'][] }) {
  return (
    <>
      {actions
        .filter((action) => action.when(node))
        .map((action) => {
          const [label, question, consequence, done] = words.actions[action.id];
          const named = action.id === 'convert' ? words.convertTo(otherProfile(node)) : label;
          return (
            <Act
              key={action.id}
              label={named}
              title={`${question} ${node.name}?`}
              consequence={consequence}
              done={done}
              {...(action.reason ? { reason: true } : {})}
              {...(action.danger ? { danger: true } : {})}
              run={(reason) => action.run(node, reason)}
            />
          );
        })}
      {slots.length > 0 && <PlanButton node={node} slots={slots} />}
    </>
  );
}
