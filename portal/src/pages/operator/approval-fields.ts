// Compares what discovery proposes for a slot with what was approved, field by field. Pure.
import type { Schemas } from '../../api/client';

type Candidate = Schemas['CandidateView'];
type Slot = Schemas['SlotView'];

/** The fields that make a slot, in the order in which they are read. */
export const slotFields = ['gpu_pci_address', 'gpu_module_id', 'nvme_identity', 'mgmt_mac', 'private_ip', 'fabric_claim_mode', 'fabric_vf_pci_address', 'numa_node'] as const;
/** One of them. */
export type Field = (typeof slotFields)[number];

/** One field, as proposed and as approved. */
export interface FieldRow {
  field: Field;
  candidate: string | undefined;
  approved: string | undefined;
  differs: boolean;
  refusals: readonly Schemas['Refusal'][];
  closeness: Schemas['Closeness'] | undefined;
}

const text = (value: string | number | undefined): string | undefined => (value === undefined ? undefined : String(value));

/** All fields of a candidate beside those of its slot. Nothing differs where there is no slot yet. */
export function compareSlot(view: Candidate, slot: Slot | undefined): FieldRow[] {
  const { devices } = view.candidate;
  return slotFields.map((field) => {
    const candidate = text(devices[field]);
    const approved = text(slot?.[field]);
    return {
      field,
      candidate,
      approved,
      differs: slot !== undefined && candidate !== undefined && candidate !== approved,
      refusals: view.refusals.filter((refusal) => refusal.field === field),
      closeness: field === 'nvme_identity' ? view.candidate.nvme_closeness : field === 'fabric_vf_pci_address' ? view.candidate.fabric_closeness : undefined,
    };
  });
}

/** What is sent to approve devices as they are. */
export function bodyOf(devices: Schemas['SlotDevices']): Schemas['SlotApproveBody'] {
  return {
    fabric_claim_mode: devices.fabric_claim_mode,
    ...(devices.gpu_pci_address ? { gpu_pci_address: devices.gpu_pci_address } : {}),
    ...(devices.nvme_identity ? { nvme_identity: devices.nvme_identity } : {}),
    ...(devices.mgmt_mac ? { mgmt_mac: devices.mgmt_mac } : {}),
    ...(devices.private_ip ? { private_ip: devices.private_ip } : {}),
    ...(devices.fabric_vf_pci_address ? { fabric_vf_pci_address: devices.fabric_vf_pci_address } : {}),
  };
}

/** Whether a candidate is complete and waits for nothing but approval. */
export function waitsForApproval(view: Candidate): boolean {
  return view.slot_id === undefined && view.refusals.length === 0 && view.candidate.missing.length === 0;
}
