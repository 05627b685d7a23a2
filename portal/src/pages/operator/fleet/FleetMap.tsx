// The map itself: a canvas as large as the window, over a box as tall as the fleet. It takes its data from whoever shows it.
// The cursor is a real button that lies over one tile: arrow keys move it from cell to cell, and its name says what is there.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type CSSProperties, type KeyboardEvent, type PointerEvent } from 'react';
import { strings } from '../../../strings';
import { cellKinds, cellsPerNode, postures, type Fleet } from './cells';
import { hit, layOut, step, type Density, type Spot } from './layout';
import { compose, paintCell, paintWords, postureTone, type Colours, type Pixels, type Sprites } from './paint';

const words = strings.operator.fleet;

interface FleetMapProps {
  fleet: Fleet;
  density: Density;
  /** Opens a node. */
  onOpen: (nodeId: string) => void;
  /** Called after every redraw with how long it took, in milliseconds. */
  onPainted?: (ms: number, cells: number) => void;
}

/** Reads the theme's colours; a canvas cannot use custom properties by itself. */
function coloursOf(element: HTMLElement): Colours {
  const style = getComputedStyle(element);
  const probe = document.createElement('span');
  // Where motion is reduced every property changes within a moment, and a colour that changes still reads as the one before.
  probe.style.transition = 'none';
  element.append(probe);
  const resolve = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const tone = (name: string) => ({ strong: resolve(`--${name}`), weak: resolve(`--${name}-soft`) });
  const colours: Colours = {
    ink: resolve('--ink'),
    line: resolve('--line'),
    surface: resolve('--surface'),
    focus: resolve('--focus'),
    font: style.fontFamily,
    tones: { good: tone('good'), busy: tone('busy'), warn: tone('warn'), bad: tone('bad'), idle: tone('idle') },
  };
  probe.remove();
  return colours;
}

/** Makes the small pictures that the map is put together from, for one theme, density and resolution. */
function spritesOf(colours: Colours, cell: number, scale: number): Sprites {
  const size = Math.round(cell * scale);
  const canvas = document.createElement('canvas');
  canvas.width = size;
  canvas.height = size;
  const surface = canvas.getContext('2d', { willReadFrequently: true });
  const read = (): Uint32Array => (surface ? new Uint32Array(surface.getImageData(0, 0, size, size).data.buffer) : new Uint32Array(size * size));
  const plain = (colour: string): number => {
    if (surface) {
      surface.setTransform(1, 0, 0, 1, 0, 0);
      surface.fillStyle = colour;
      surface.fillRect(0, 0, size, size);
    }
    return read()[0] ?? 0;
  };
  const cells = cellKinds.map((kind) => {
    if (surface) {
      surface.setTransform(size / cell, 0, 0, size / cell, 0, 0);
      surface.clearRect(0, 0, cell, cell);
      paintCell(surface, kind, colours, cell);
    }
    return read();
  });
  return {
    size,
    cells,
    line: plain(colours.line),
    surface: plain(colours.surface),
    postures: postures.map((_, posture) => plain(colours.tones[postureTone(posture)].strong)),
  };
}

/** What is kept between redraws. */
interface Kept {
  key: string;
  colours: Colours;
  sprites: Sprites;
  image: ImageData;
  pixels: Pixels;
}

function keep(element: HTMLElement, key: string, cell: number, scale: number, wide: number, high: number): Kept {
  const colours = coloursOf(element);
  const image = new ImageData(wide, high);
  return { key, colours, sprites: spritesOf(colours, cell, scale), image, pixels: { data: new Uint32Array(image.data.buffer), width: wide, height: high } };
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
export function FleetMap({ fleet, density, onOpen, onPainted }: FleetMapProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [focus, setFocus] = useState<Spot>({ tile: 0, cell: 0 });
  const [focused, setFocused] = useState(false);
  const [over, setOver] = useState<{ spot: Spot; x: number; y: number }>();
  const themeTurn = useThemeTurn();
  const layout = useMemo(() => layOut(fleet.groups, Math.max(1, size.width), density), [fleet.groups, size.width, density]);
  const spot: Spot = focus.tile < fleet.nodes.length ? focus : { tile: 0, cell: 0 };
  const kept = useRef<Kept>(undefined);

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
    if (!surface || !element || !canvas.current || size.width === 0 || size.height === 0) return;
    const begun = performance.now();
    const scale = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(size.width * scale), Math.round(size.height * scale)];
    if (canvas.current.width !== wide || canvas.current.height !== high) {
      canvas.current.width = wide;
      canvas.current.height = high;
    }
    const key = `${themeTurn} ${density.id} ${wide} ${high} ${scale}`;
    if (kept.current?.key !== key) kept.current = keep(element, key, density.cell, scale, wide, high);
    const { colours, sprites, image, pixels } = kept.current;
    const view = { top: element.scrollTop, height: size.height };
    const cells = compose(pixels, layout, fleet, sprites, view, scale);
    surface.putImageData(image, 0, 0);
    surface.setTransform(scale, 0, 0, scale, 0, 0);
    paintWords(surface, layout, fleet, colours, view, focused ? spot : undefined);
    onPainted?.(performance.now() - begun, cells);
  }, [density, fleet, focused, layout, onPainted, size, spot.tile, spot.cell, themeTurn]); // eslint-disable-line react-hooks/exhaustive-deps -- the two numbers are the spot

  useLayoutEffect(draw, [draw]);

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
        style={{ height: layout.height + 4 }}
        onScroll={() => {
          draw();
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
