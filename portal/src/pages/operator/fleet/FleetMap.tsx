// The map itself: a canvas as large as the window, over a box as tall as the fleet. It takes its data from whoever shows it.
// The cursor is a real button that lies over one tile: arrow keys move it from cell to cell, and its name says what is there.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type CSSProperties, type KeyboardEvent, type PointerEvent } from 'react';
import { strings } from '../../../strings';
import { cellKinds, cellsPerNode, type Fleet } from './cells';
import { hit, layOut, step, tilesBetween, type Density, type Spot } from './layout';
import { paint, type Colours } from './paint';

const words = strings.operator.fleet;

interface FleetMapProps {
  fleet: Fleet;
  density: Density;
  /** Opens a node. */
  onOpen: (nodeId: string) => void;
  /** Says which nodes are on the screen. */
  onVisible?: (from: number, to: number) => void;
  /** Called after every redraw with how long it took, in milliseconds. */
  onPainted?: (ms: number, cells: number) => void;
}

/** Reads the theme's colours; a canvas cannot use custom properties by itself. */
function coloursOf(element: HTMLElement): Colours {
  const style = getComputedStyle(element);
  const probe = document.createElement('span');
  element.append(probe);
  const resolve = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const tone = (name: string) => ({ strong: resolve(`--${name}`), weak: resolve(`--${name}-soft`) });
  const colours: Colours = {
    ink: resolve('--ink'),
    soft: resolve('--ink-soft'),
    line: resolve('--line'),
    surface: resolve('--surface'),
    focus: resolve('--focus'),
    font: style.fontFamily,
    tones: { good: tone('good'), busy: tone('busy'), warn: tone('warn'), bad: tone('bad'), idle: tone('idle') },
  };
  probe.remove();
  return colours;
}

/** Changes whenever the theme does. */
function useThemeTurn(): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const next = (): void => setTurn((before) => before + 1);
    const system = matchMedia('(prefers-color-scheme: dark)');
    const chosen = new MutationObserver(next);
    system.addEventListener('change', next);
    chosen.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => {
      system.removeEventListener('change', next);
      chosen.disconnect();
    };
  }, []);
  return turn;
}

/** What a cell is called. */
export function cellName(fleet: Fleet, spot: Spot): string {
  const node = fleet.nodes[spot.tile];
  const kind = cellKinds[fleet.cells[spot.tile * cellsPerNode + spot.cell] ?? 0];
  if (!node || !kind) return '';
  return words.cellName(node.name, words.postures[node.posture], spot.cell + 1, words.cells[kind.id]);
}

/** The map. */
export function FleetMap({ fleet, density, onOpen, onVisible, onPainted }: FleetMapProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [focus, setFocus] = useState<Spot>({ tile: 0, cell: 0 });
  const [focused, setFocused] = useState(false);
  const [over, setOver] = useState<{ spot: Spot; x: number; y: number }>();
  const themeTurn = useThemeTurn();
  const layout = useMemo(() => layOut(fleet.groups, Math.max(1, size.width), density), [fleet.groups, size.width, density]);
  const spot: Spot = focus.tile < fleet.nodes.length ? focus : { tile: 0, cell: 0 };
  const colours = useRef<{ turn: number; value: Colours }>(undefined);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  const draw = useCallback(() => {
    const surface = canvas.current?.getContext('2d');
    const element = box.current;
    if (!surface || !element || !canvas.current || size.width === 0) return;
    if (colours.current?.turn !== themeTurn) colours.current = { turn: themeTurn, value: coloursOf(element) };
    const begun = performance.now();
    const scale = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(size.width * scale), Math.round(size.height * scale)];
    if (canvas.current.width !== wide || canvas.current.height !== high) {
      canvas.current.width = wide;
      canvas.current.height = high;
    }
    surface.setTransform(scale, 0, 0, scale, 0, 0);
    const cells = paint(surface, layout, fleet, colours.current.value, { top: element.scrollTop, height: size.height }, focused ? spot : undefined);
    onPainted?.(performance.now() - begun, cells);
  }, [fleet, focused, layout, onPainted, size, spot.tile, spot.cell, themeTurn]); // eslint-disable-line react-hooks/exhaustive-deps -- the two numbers are the spot

  useLayoutEffect(draw, [draw]);

  const scrolled = useCallback(() => {
    const element = box.current;
    if (element) onVisible?.(...tilesBetween(layout, element.scrollTop, element.scrollTop + element.clientHeight));
  }, [layout, onVisible]);
  useEffect(scrolled, [scrolled, size.height]);

  const reveal = (next: Spot): void => {
    const element = box.current;
    if (!element) return;
    const top = layout.y[next.tile] ?? 0;
    const bottom = top + layout.tileHeight;
    if (top < element.scrollTop + 32) element.scrollTop = Math.max(0, top - 32);
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight;
  };
  const move = (event: KeyboardEvent): void => {
    const next = step(layout, spot, event.key, event.ctrlKey || event.metaKey);
    if (!next) return;
    event.preventDefault();
    setFocus(next);
    reveal(next);
  };
  const at = (event: PointerEvent): Spot | undefined => {
    const element = box.current;
    if (!element) return undefined;
    const frame = element.getBoundingClientRect();
    return hit(layout, event.clientX - frame.left, event.clientY - frame.top + element.scrollTop);
  };
  const open = (where: Spot | undefined): void => {
    const node = where && fleet.nodes[where.tile];
    if (node) onOpen(node.id);
  };

  const place: CSSProperties = {
    transform: `translate(${layout.x[spot.tile] ?? 0}px, ${layout.y[spot.tile] ?? 0}px)`,
    width: layout.tileWidth,
    height: layout.tileHeight,
  };
  return (
    <div className="fleet-map">
      <div
        className="fleet-scroll"
        ref={box}
        onScroll={() => {
          draw();
          scrolled();
          setOver(undefined);
        }}
      >
        <canvas
          ref={canvas}
          className="fleet-canvas"
          aria-hidden="true"
          style={{ width: size.width, height: size.height }}
          onPointerMove={(event) => {
            const spotOver = at(event);
            setOver(spotOver && { spot: spotOver, x: event.nativeEvent.offsetX, y: event.nativeEvent.offsetY });
          }}
          onPointerLeave={() => setOver(undefined)}
          onClick={(event) => open(at(event as unknown as PointerEvent))}
        />
        <div className="fleet-space" style={{ height: layout.height }}>
          <button
            type="button"
            className="fleet-cursor"
            style={place}
            aria-label={cellName(fleet, spot)}
            aria-describedby="fleet-keys"
            onKeyDown={move}
            onFocus={() => {
              setFocused(true);
              reveal(spot);
            }}
            onBlur={() => setFocused(false)}
            onClick={() => open(spot)}
          />
        </div>
      </div>
      {over && (
        <div className="fleet-tip" style={{ left: Math.min(over.x + 12, Math.max(0, size.width - 240)), top: over.y + 16 }} aria-hidden="true">
          {cellName(fleet, over.spot)}
        </div>
      )}
      <p id="fleet-keys" className="hidden-but-read">
        {words.keys}
      </p>
      <p className="hidden-but-read" role="status" aria-live="polite">
        {focused ? cellName(fleet, spot) : ''}
      </p>
    </div>
  );
}
