import { describe, expect, it } from 'vitest';
import type { Schemas } from '../../../api/client';
import { topologyOf } from './topology';

const pci = (address: string, numa: number, switches: string[] = []): Schemas['PciFunction'] => ({ address, numa_node: numa, switches });

const discovery = {
  numa_nodes: [{ number: 1, hugepages: [] }, { number: 0, cpus: '0-3', hugepages: [] }],
  pcie_switches: [{ upstream_port: 's0' }, { upstream_port: 's1' }],
  gpus: [
    { pci: pci('g2', 1, ['s1']), module_id: 2 },
    { pci: pci('g1', 0, ['s0']), module_id: 1 },
  ],
  fabric_functions: [
    { pci: pci('n1', 0, ['s0']), role: 'physical', rdma_name: 'mlx5_0', ports: [{ state: 'active', rate_mbps: 400_000 }], interfaces: [] },
    { pci: pci('n1.1', 0, ['s0']), role: 'virtual', ports: [], interfaces: [] },
  ],
  nvme_disks: [
    { pci: pci('d1', 0, ['s0']), identity: 'eui.1', name: 'nvme2', system_disk: false },
    { pci: pci('d0', 0), identity: 'eui.0', name: 'nvme0', system_disk: true },
  ],
  fabric_manager: { partitions: [{ id: 1, gpus: [1] }, { id: 2, gpus: [2] }, { id: 0, gpus: [1, 2] }] },
} as unknown as Schemas['Discovery'];

const slots = [
  { id: 'slt_1', gpu_pci_address: 'g1', gpu_module_id: 1, nvme_identity: 'eui.1', execution: 'in_use' },
  { id: 'slt_2', gpu_pci_address: 'g2', gpu_module_id: 2, execution: 'available' },
] as Schemas['SlotView'][];

describe('topology', () => {
  const drawn = topologyOf(discovery, slots, (slot) => (slot.id === 'slt_1' ? 'alc_1' : undefined));

  it('puts what hangs behind one switch together, and the rest at the socket', () => {
    expect(drawn.sockets.map((socket) => socket.number)).toEqual([0, 1]);
    const [first] = drawn.sockets;
    expect(first?.bundles.map((bundle) => bundle.upstream)).toEqual(['s0', undefined]);
    expect(first?.bundles[0]?.cards.map((card) => card.name)).toEqual(['mlx5_0']);
    expect(first?.bundles[0]?.disks[0]?.claimed).toBe(true);
    expect(first?.bundles[1]?.disks[0]?.system).toBe(true);
  });

  it('says who holds a GPU', () => {
    expect(drawn.sockets[0]?.bundles[0]?.gpus[0]?.holder).toBe('alc_1');
    expect(drawn.sockets[1]?.bundles[0]?.gpus[0]?.holder).toBeUndefined();
  });

  it('tells which sets of modules could be had, the largest first', () => {
    expect(drawn.partitions.map((each) => [each.id, each.state])).toEqual([[0, 'part'], [1, 'held'], [2, 'free']]);
  });
});
