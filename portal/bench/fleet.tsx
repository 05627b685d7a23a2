// Shows the fleet map with a fleet that nobody has, and notes how long every redraw took. `scripts/bench-fleet.mjs` opens it; it is not
// part of the build. `?nodes=2000&density=small` say how much is drawn.
import '../src/styles/tokens.css';
import '../src/styles/base.css';
import '../src/styles/operator.css';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { FleetMap } from '../src/pages/operator/fleet/FleetMap';
import { densities } from '../src/pages/operator/fleet/layout';
import { syntheticFleet } from '../src/pages/operator/fleet/synthetic';

interface Measured {
  redraws: { ms: number; cells: number }[];
  /** Changes one cell, which draws everything anew. */
  change: () => void;
}

declare global {
  interface Window {
    measured: Measured;
  }
}

const asked = new URLSearchParams(location.search);
const count = Number(asked.get('nodes') ?? '2000');
const density = densities.find((each) => each.id === asked.get('density')) ?? densities[0];
const first = syntheticFleet(count);

window.measured = { redraws: [], change: () => undefined };

function Bench() {
  const [fleet, setFleet] = useState(first);
  window.measured.change = () =>
    setFleet((before) => {
      const cells = before.cells.slice();
      cells[0] = 2 + ((cells[0] ?? 0) % 7);
      return { ...before, cells };
    });
  if (!density) return null;
  return <FleetMap fleet={fleet} density={density} onOpen={() => undefined} onPainted={(ms, cells) => window.measured.redraws.push({ ms, cells })} />;
}

const root = document.getElementById('root');
if (root) createRoot(root).render(<Bench />);
