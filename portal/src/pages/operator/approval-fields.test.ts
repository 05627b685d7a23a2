import { describe, expect, it } from 'vitest';
import type { Schemas } from '../../api/client';
import { bodyOf, compareSlot, waitsForApproval } from './approval-fields';

const view = (over: Partial<Schemas['CandidateView']> = {}): Schemas['CandidateView'] =>
  ({
    candidate: { devices: { fabric_claim_mode: 'per_slot_vf', gpu_pci_address: 'g1', nvme_identity: 'eui.2', numa_node: 0 }, missing: [], notes: [], nvme_closeness: 'same_switch' },
    refusals: [],
    ...over,
  });
const slot = { gpu_pci_address: 'g1', nvme_identity: 'eui.1', fabric_claim_mode: 'per_slot_vf', numa_node: 0, private_ip: '10.0.0.1' } as Schemas['SlotView'];

describe('comparing a candidate with a slot', () => {
  it('marks what differs, and not what is only missing in the candidate', () => {
    const rows = compareSlot(view(), slot);
    expect(rows.filter((row) => row.differs).map((row) => row.field)).toEqual(['nvme_identity']);
    expect(rows.find((row) => row.field === 'private_ip')?.candidate).toBeUndefined();
  });

  it('marks nothing where there is no slot yet', () => {
    expect(compareSlot(view(), undefined).some((row) => row.differs)).toBe(false);
  });

  it('keeps refusals with their field', () => {
    const refusal = { field: 'nvme_identity', rule: 'disk_mounted', detail: 'd', accepted: 'a' } as const;
    expect(compareSlot(view({ refusals: [refusal] }), slot).find((row) => row.field === 'nvme_identity')?.refusals).toEqual([refusal]);
  });

  it('sends only what is known', () => {
    expect(bodyOf(view().candidate.devices)).toEqual({ fabric_claim_mode: 'per_slot_vf', gpu_pci_address: 'g1', nvme_identity: 'eui.2' });
  });

  it('waits for approval only without a slot and without refusals', () => {
    expect(waitsForApproval(view())).toBe(true);
    expect(waitsForApproval(view({ slot_id: 'slt_1' }))).toBe(false);
  });
});
