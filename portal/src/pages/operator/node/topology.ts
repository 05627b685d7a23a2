// Turns what discovery found on a host into what is drawn: sockets, the switches at each, the bundle of GPU, fabric card and
// disk behind each switch, and the sets of modules that the fabric can join. Pure.
import type { Schemas } from '../../../api/client';

type Discovery = Schemas['Discovery'];
type Slot = Schemas['SlotView'];

/** A GPU of a bundle, with the slot that it belongs to. */
export interface DrawnGpu {
  address: string;
  module: number | undefined;
  driver: string | undefined;
  slot: Slot | undefined;
  /** The allocation that holds it. */
  holder: string | undefined;
}

/** A disk. */
export interface DrawnDisk {
  name: string;
  identity: string | undefined;
  bytes: number | undefined;
  system: boolean;
  /** Whether it belongs to a slot. */
  claimed: boolean;
}

/** A fabric card, without its virtual functions. */
export interface DrawnCard {
  name: string;
  address: string;
  mbps: number | undefined;
  up: boolean;
}

/** What hangs behind one PCIe switch, or directly at a socket when `upstream` is missing. */
export interface Bundle {
  upstream: string | undefined;
  gpus: DrawnGpu[];
  cards: DrawnCard[];
  disks: DrawnDisk[];
}

/** A socket. */
export interface Socket {
  number: number | undefined;
  cpus: string | undefined;
  memoryMib: number | undefined;
  bundles: Bundle[];
}

/** A set of modules that can be joined. */
export interface DrawnPartition {
  id: number;
  modules: readonly number[];
  state: 'free' | 'held' | 'part' | 'none';
}

/** All of a host that is drawn. */
export interface Topology {
  sockets: Socket[];
  board: readonly number[];
  partitions: DrawnPartition[];
}

/** Puts the drawing together. `holderOf` names the allocation that holds a slot. */
export function topologyOf(discovery: Discovery, slots: readonly Slot[], holderOf: (slot: Slot) => string | undefined): Topology {
  const bySlotGpu = new Map(slots.flatMap((slot) => (slot.gpu_pci_address ? [[slot.gpu_pci_address, slot] as const] : [])));
  const slotDisks = new Set(slots.flatMap((slot) => (slot.nvme_identity ? [slot.nvme_identity] : [])));
  const sockets = new Map<number | undefined, Socket>();
  const socketOf = (number: number | undefined): Socket => {
    const known = sockets.get(number);
    if (known) return known;
    const numa = discovery.numa_nodes.find((each) => each.number === number);
    const made: Socket = { number, cpus: numa?.cpus, memoryMib: numa?.memory_mib, bundles: [] };
    sockets.set(number, made);
    return made;
  };
  const bundleOf = (pci: Schemas['PciFunction'] | undefined): Bundle => {
    const socket = socketOf(pci?.numa_node);
    const upstream = discovery.pcie_switches.find((each) => pci?.switches.includes(each.upstream_port))?.upstream_port;
    const known = socket.bundles.find((each) => each.upstream === upstream);
    if (known) return known;
    const made: Bundle = { upstream, gpus: [], cards: [], disks: [] };
    socket.bundles.push(made);
    return made;
  };
  for (const numa of discovery.numa_nodes) socketOf(numa.number);
  for (const gpu of discovery.gpus) {
    const slot = bySlotGpu.get(gpu.pci.address);
    bundleOf(gpu.pci).gpus.push({ address: gpu.pci.address, module: gpu.module_id, driver: gpu.pci.driver, slot, holder: slot && holderOf(slot) });
  }
  for (const card of discovery.fabric_functions) {
    if (card.role !== 'physical') continue;
    bundleOf(card.pci).cards.push({
      name: card.rdma_name ?? card.interfaces[0]?.name ?? card.pci.address,
      address: card.pci.address,
      mbps: card.ports[0]?.rate_mbps,
      up: card.ports.some((port) => port.state === 'active'),
    });
  }
  for (const disk of discovery.nvme_disks) {
    bundleOf(disk.pci).disks.push({
      name: disk.name ?? disk.identity ?? '',
      identity: disk.identity,
      bytes: disk.size_bytes,
      system: disk.system_disk,
      claimed: disk.identity !== undefined && slotDisks.has(disk.identity),
    });
  }
  for (const socket of sockets.values()) {
    // Bundles with GPUs first, in the order of their addresses; what hangs at the socket itself last.
    socket.bundles.sort((a, b) => Number(a.upstream === undefined) - Number(b.upstream === undefined) || (a.upstream ?? '').localeCompare(b.upstream ?? ''));
  }
  return {
    sockets: [...sockets.values()].sort((a, b) => (a.number ?? 99) - (b.number ?? 99)),
    board: discovery.partitions?.board ?? [],
    partitions: partitionsOf(discovery, slots),
  };
}

function partitionsOf(discovery: Discovery, slots: readonly Slot[]): DrawnPartition[] {
  const byModule = new Map(slots.map((slot) => [slot.gpu_module_id, slot]));
  const stateOf = (modules: readonly number[]): DrawnPartition['state'] => {
    const of = modules.map((module) => byModule.get(module)?.execution);
    if (of.every((state) => state === 'available')) return 'free';
    const held = of.filter((state) => state === 'in_use' || state === 'reserved' || state === 'wiping').length;
    if (held === modules.length) return 'held';
    return held > 0 ? 'part' : 'none';
  };
  const told = discovery.fabric_manager?.partitions.map((each) => ({ id: each.id, modules: each.gpus }));
  const sets = told ?? discovery.partitions?.sets.map((modules, id) => ({ id, modules })) ?? [];
  return sets.map((each) => ({ ...each, state: stateOf(each.modules) })).sort((a, b) => b.modules.length - a.modules.length || a.id - b.id);
}
