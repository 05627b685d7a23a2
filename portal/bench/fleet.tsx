// Shows the fleet map with a fleet that nobody has, and offers what makes it redraw. `scripts/bench.mjs` opens it; it is not part of
// the build. `?nodes=2000&density=small` say how much is drawn.
import '../src/styles/tokens.css';
import '../src/styles/base.css';
import '../src/styles/operator.css';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { flushSync } from 'react-dom';
import { cellsPerNode, postures, type Fleet } from '../src/pages/operator/fleet/cells';
import { FleetMap } from '../src/pages/operator/fleet/FleetMap';
import { densities } from '../src/pages/operator/fleet/layout';
import { syntheticFleet } from '../src/pages/operator/fleet/synthetic';

interface Measured {
  redraws: { ms: number; cells: number }[];
  /** Changes one cell, which draws everything anew. */
  change: () => void;
  /** Shows all nodes, or those of one posture. */
  filter: (step: number) => void;
  /** Scrolls on, and back to the top at the end. */
  scroll: (step: number) => void;
}

declare global {
  interface Window {
    measured: Measured;
  }
}

const asked = new URLSearchParams(location.search);
const count = Number(asked.get('nodes') ?? '2000');
const density = densities.find((each) => each.id === asked.get('density')) ?? densities[0];
const whole = syntheticFleet(count);

/** The nodes of a fleet whose posture is not this one. */
function without(fleet: Fleet, posture: number): Fleet {
  const kept = fleet.nodes.flatMap((_, at) => (fleet.postures[at] === posture ? [] : [at]));
  const cells = new Uint8Array(kept.length * cellsPerNode);
  kept.forEach((from, to) => cells.set(fleet.cells.subarray(from * cellsPerNode, (from + 1) * cellsPerNode), to * cellsPerNode));
  return {
    nodes: kept.flatMap((at) => fleet.nodes[at] ?? []),
    groups: [{ label: 'all', from: 0, count: kept.length }],
    cells,
    postures: Uint8Array.from(kept, (at) => fleet.postures[at] ?? 0),
  };
}

window.measured = { redraws: [], change: () => undefined, filter: () => undefined, scroll: () => undefined };

function Bench() {
  const [fleet, setFleet] = useState(whole);
  window.measured.change = () => {
    const cells = whole.cells.slice();
    cells[0] = 2 + ((fleet.cells[0] ?? 0) % 7);
    flushSync(() => setFleet({ ...whole, cells }));
  };
  window.measured.filter = (step) => flushSync(() => setFleet(without(whole, step % postures.length)));
  window.measured.scroll = (step) => {
    const box = document.querySelector('.fleet-scroll');
    if (box) box.scrollTop = ((step * 997) % Math.max(1, box.scrollHeight - box.clientHeight)) + 1;
  };
  if (!density) return null;
  return <FleetMap fleet={fleet} density={density} onOpen={() => undefined} onPainted={(ms, cells) => window.measured.redraws.push({ ms, cells })} />;
}

const root = document.getElementById('root');
if (root) createRoot(root).render(<Bench />);
