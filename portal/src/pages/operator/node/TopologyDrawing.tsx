// The drawing of a host: one picture for each socket and one for the fabric's partitions. Everything in it is also in the
// tables of the node page; what is held and what is free differs by shape and word besides colour.
import { useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import { Link } from 'react-router';
import type { Schemas } from '../../../api/client';
import { strings } from '../../../strings';
import { bytes } from '../../../ui/format';
import type { Tone } from '../../../ui/icons';
import { toneOf } from '../../../ui/state';
import { shortId } from '../ids';
import type { Bundle, DrawnGpu, Socket, Topology } from './topology';

const words = strings.operator.topology;
const cells = strings.operator.fleet.cells;

const bundleWidth = 152;
const gap = 12;
const pad = 14;
const gpuHeight = 58;
const partHeight = 36;
/** A drawing may be made this much smaller to have one more bundle in a row. */
const shrink = 1.08;

/** How wide an element is. */
function useWidth(): [React.RefObject<HTMLDivElement | null>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [box, width];
}

function slotWord(slot: Schemas['SlotView'] | undefined): string {
  if (!slot) return words.noSlot;
  if (slot.drift.length > 0 && slot.execution === 'available') return cells.drifted;
  return cells[slot.execution];
}

function slotTone(slot: Schemas['SlotView'] | undefined): Tone {
  if (!slot) return 'idle';
  return slot.drift.length > 0 ? 'warn' : toneOf(slot.execution);
}

function GpuBox({ gpu, y }: { gpu: DrawnGpu; y: number }) {
  const body = (
    <g data-tone={slotTone(gpu.slot)}>
      <title>{`${words.module(gpu.module)} ${gpu.address}: ${slotWord(gpu.slot)}${gpu.holder ? `, ${words.heldBy(gpu.holder)}` : ''}`}</title>
      <rect className="toned" x={10} y={y} width={bundleWidth - 20} height={gpuHeight - 6} rx={4} />
      <text x={18} y={y + 16} fontSize={12.5} fontWeight={650}>
        {words.module(gpu.module)}
      </text>
      <text className="toned-text" x={bundleWidth - 18} y={y + 16} fontSize={11} textAnchor="end">
        {slotWord(gpu.slot)}
      </text>
      <text className="faint mono-text" x={18} y={y + 31} fontSize={10.5}>
        {gpu.address}
      </text>
      <text className="faint mono-text" x={18} y={y + 45} fontSize={10.5}>
        {gpu.holder ? shortId(gpu.holder) : (gpu.driver ?? '')}
      </text>
    </g>
  );
  return gpu.slot ? <Link to={`/operator/slots/${gpu.slot.id}`}>{body}</Link> : body;
}

function PartBox({ y, name, detail, quiet, tone }: { y: number; name: string; detail: string; quiet?: boolean; tone?: Tone }) {
  return (
    <g {...(tone ? { 'data-tone': tone } : {})}>
      <rect className={tone ? 'toned' : 'box'} x={10} y={y} width={bundleWidth - 20} height={partHeight - 6} rx={4} strokeDasharray={quiet ? '4 3' : undefined} />
      <text x={18} y={y + 13} fontSize={11}>
        {name}
      </text>
      <text className="faint" x={18} y={y + 25} fontSize={10}>
        {detail}
      </text>
    </g>
  );
}

function bundleHeight(bundle: Bundle): number {
  return 30 + bundle.gpus.length * gpuHeight + (bundle.cards.length + bundle.disks.length) * partHeight + 4;
}

function BundleBox({ bundle, x, y, height }: { bundle: Bundle; x: number; y: number; height: number }) {
  let at = 28;
  const next = (step: number): number => {
    const here = at;
    at += step;
    return here;
  };
  const parts: ReactNode[] = [
    ...bundle.gpus.map((gpu) => <GpuBox key={gpu.address} gpu={gpu} y={next(gpuHeight)} />),
    ...bundle.cards.map((card) => (
      <PartBox key={card.address} y={next(partHeight)} name={card.name} detail={`${words.nic}${card.mbps ? ` · ${card.mbps / 1000} Gb/s` : ''}`} {...(card.up ? {} : { tone: 'warn' as const })} />
    )),
    ...bundle.disks.map((disk) => (
      <PartBox key={disk.name} y={next(partHeight)} name={disk.name} detail={`${disk.system ? words.systemDisk : words.disk}${disk.bytes ? ` · ${bytes(disk.bytes)}` : ''}`} quiet={!disk.claimed} />
    )),
  ];
  return (
    <g transform={`translate(${x} ${y})`}>
      <rect className="box" width={bundleWidth} height={height} rx={6} />
      <text x={10} y={17} fontSize={11} fontWeight={600}>
        {bundle.upstream ? words.pcieSwitch : words.direct}
      </text>
      <text className="faint mono-text" x={bundleWidth - 10} y={17} fontSize={10} textAnchor="end">
        {bundle.upstream?.replace(/^0000:/, '') ?? ''}
      </text>
      {parts}
    </g>
  );
}

function SocketDrawing({ socket }: { socket: Socket }) {
  const [box, width] = useWidth();
  const columns = Math.max(1, Math.min(socket.bundles.length || 1, Math.floor((width * shrink - 2 * pad + gap) / (bundleWidth + gap))));
  const inner = columns * (bundleWidth + gap) - gap;
  const places: { bundle: Bundle; x: number; y: number; height: number }[] = [];
  let top = 62;
  for (let from = 0; from < socket.bundles.length; from += columns) {
    const row = socket.bundles.slice(from, from + columns);
    const height = Math.max(...row.map(bundleHeight));
    row.forEach((bundle, at) => places.push({ bundle, x: pad + at * (bundleWidth + gap), y: top, height }));
    top += height + gap + 6;
  }
  const total = inner + 2 * pad;
  const name = socket.number === undefined ? words.noSocket : words.socket(socket.number);
  const gpus = socket.bundles.reduce((sum, bundle) => sum + bundle.gpus.length, 0);
  const disks = socket.bundles.reduce((sum, bundle) => sum + bundle.disks.length, 0);
  const cards = socket.bundles.reduce((sum, bundle) => sum + bundle.cards.length, 0);
  return (
    <div className="drawing" ref={box}>
      <svg viewBox={`0 0 ${total} ${top}`} role="group" aria-label={`${name}. ${words.drawn(gpus, disks, cards)}`} style={{ maxWidth: total }}>
        <rect className="frame" x={0.5} y={0.5} width={total - 1} height={top - 1} rx={8} />
        <text x={pad} y={22} fontSize={13} fontWeight={650}>
          {name}
        </text>
        <text className="faint" x={pad} y={39} fontSize={11}>
          {words.socketDetail(socket.cpus ?? '–', socket.memoryMib ? bytes(socket.memoryMib * 1024 * 1024) : '–')}
        </text>
        {places.map(({ bundle, x, y }) => (
          <path key={bundle.upstream ?? 'direct'} className="wire" d={`M${pad} ${50} H${x + bundleWidth / 2} V${y}`} />
        ))}
        {places.map((place) => (
          <BundleBox key={place.bundle.upstream ?? 'direct'} {...place} />
        ))}
      </svg>
    </div>
  );
}

const partitionTones: Record<Topology['partitions'][number]['state'], Tone> = { free: 'good', held: 'busy', part: 'warn', none: 'idle' };

function PartitionDrawing({ topology }: { topology: Topology }) {
  const modules = topology.board.length > 0 ? topology.board : [...new Set(topology.partitions.flatMap((each) => each.modules))].sort((a, b) => a - b);
  const cell = 30;
  const left = 92;
  const right = 92;
  const row = 24;
  const width = left + modules.length * cell + right;
  const height = 26 + topology.partitions.length * row + 6;
  return (
    <div className="drawing">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={topology.partitions.map((each) => `${words.partition(each.id)}: ${each.modules.join(', ')}, ${words.partitionState[each.state]}`).join('; ')} style={{ maxWidth: width * 1.2 }}>
        {modules.map((module, at) => (
          <text key={module} className="faint" x={left + at * cell + cell / 2} y={16} fontSize={11} textAnchor="middle">
            {module}
          </text>
        ))}
        {topology.partitions.map((partition, index) => {
          const y = 24 + index * row;
          return (
            <g key={partition.id} data-tone={partitionTones[partition.state]}>
              <text x={0} y={y + 14} fontSize={11}>
                {words.partition(partition.id)}
              </text>
              {modules.map((module, at) =>
                partition.modules.includes(module) ? (
                  <rect key={module} className="toned" x={left + at * cell + 2} y={y + 2} width={cell - 4} height={row - 6} rx={3} />
                ) : (
                  <line key={module} className="wire" x1={left + at * cell + cell / 2 - 2} x2={left + at * cell + cell / 2 + 2} y1={y + row / 2 - 1} y2={y + row / 2 - 1} opacity={0.5} />
                ),
              )}
              <text className="toned-text" x={left + modules.length * cell + 8} y={y + 14} fontSize={11}>
                {words.partitionState[partition.state]}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** The whole drawing. */
export function TopologyDrawing({ topology }: { topology: Topology }) {
  return (
    <div className="stack">
      {topology.sockets.map((socket) => (
        <SocketDrawing key={socket.number ?? 'none'} socket={socket} />
      ))}
      {topology.partitions.length > 0 && (
        <section className="stack-tight">
          <h3>{words.partitions}</h3>
          <p className="soft small">{words.partitionsDetail}</p>
          <PartitionDrawing topology={topology} />
        </section>
      )}
    </div>
  );
}
