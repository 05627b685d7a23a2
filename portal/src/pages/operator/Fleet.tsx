// Every node a tile, every slot a cell. What is filtered is in the URL, so that a view can be sent to somebody.
import { useMemo, useState } from 'react';
import { Link, useNavigate, useSearchParams } from 'react-router';
import type { Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import * as things from '../../api/things';
import { useScope } from '../../app/scope';
import { strings } from '../../strings';
import { Select } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { count, gpuModel } from '../../ui/format';
import { Page } from '../../ui/Page';
import { Bars, StateBadge, Tabs, Time } from '../../ui/pieces';
import { Empty, Note, ProblemNote, Reading } from '../../ui/states';
import { useWindowWidth } from '../../ui/window';
import { cellKinds, cellNumber, cellsPerNode, countCells, fleetOf, postures, type Fleet } from './fleet/cells';
import { FleetMap } from './fleet/FleetMap';
import { densities, densityFor, type Density } from './fleet/layout';
import { useFleetSlots } from './fleet/slots';
import { Ref, useCatalogNames } from './parts';

const words = strings.operator.fleet;
type NodeView = Schemas['NodeView'];

interface Wanted {
  region: string;
  pool: string;
  model: string;
  posture: string;
}

function FilterBar({ wanted, onChange, nodes }: { wanted: Wanted; onChange: (name: keyof Wanted, value: string) => void; nodes: readonly NodeView[] }) {
  const regions = useRead(things.regions).data?.items ?? [];
  const pools = (useRead(things.pools).data?.items ?? []).filter((pool) => wanted.region === 'all' || pool.region_id === wanted.region);
  const models = [...new Set(nodes.map((node) => node.gpu_model))].sort();
  const all = { id: 'all', label: words.all };
  return (
    <div className="filters">
      <Select label={words.region} value={wanted.region} onChange={(id) => onChange('region', id)} options={[all, ...regions.map((each) => ({ id: each.id, label: each.slug, detail: each.name }))]} />
      <Select label={words.pool} value={wanted.pool} onChange={(id) => onChange('pool', id)} options={[all, ...pools.map((each) => ({ id: each.id, label: each.slug, detail: each.name }))]} />
      <Select label={words.model} value={wanted.model} onChange={(id) => onChange('model', id)} options={[all, ...models.map((each) => ({ id: each, label: gpuModel(each) }))]} />
      <Select label={words.posture} value={wanted.posture} onChange={(id) => onChange('posture', id)} options={[all, ...postures.map((each) => ({ id: each, label: words.postures[each] }))]} />
    </div>
  );
}

function Legend({ fleet }: { fleet: Fleet }) {
  const counts = countCells(fleet.cells);
  return (
    <ul className="legend">
      {cellKinds.map((kind, number) =>
        kind.id === 'none' || (kind.id === 'unread' && counts[number] === 0) ? null : (
          <li key={kind.id} data-tone={kind.tone}>
            <span className="cell-sample" data-full={kind.mark === 'full' || undefined} aria-hidden="true">
              {kind.letter}
            </span>
            {words.cells[kind.id]} <span className="number">{count(counts[number] ?? 0)}</span>
          </li>
        ),
      )}
    </ul>
  );
}

function Summary({ fleet, wanted }: { fleet: Fleet; wanted: Wanted }) {
  const occupancy = useRead(operator.occupancy);
  const parts = (occupancy.data?.items ?? []).filter(
    (each) =>
      (wanted.region === 'all' || each.region_id === wanted.region) && (wanted.pool === 'all' || each.pool_id === wanted.pool) && (wanted.model === 'all' || each.gpu_model === wanted.model),
  );
  const sum = (of: (each: Schemas['OccupancyView']) => number): number => parts.reduce((total, each) => total + of(each), 0);
  const whole = sum((each) => each.gpus_held + each.gpus_free + each.gpus_blocked + each.gpus_disabled);
  return (
    <div className="grid-2">
      <div className="card">
        <Reading of={occupancy} lines={2}>
          {() => (
            <Bars
              label={words.gpus}
              unit={words.gpuUnit}
              whole={whole}
              head={words.held(sum((each) => each.gpus_held), whole)}
              parts={[
                { label: words.heldGpus, value: sum((each) => each.gpus_held), tone: 'busy' },
                { label: words.freeGpus, value: sum((each) => each.gpus_free), tone: 'good' },
                { label: words.cleaningGpus, value: sum((each) => each.gpus_blocked), tone: 'warn', hatched: true },
                { label: words.outGpus, value: sum((each) => each.gpus_disabled), tone: 'idle', hatched: true },
              ]}
            />
          )}
        </Reading>
      </div>
      <div className="card">
        <div className="meter-head">
          <span>{words.nodes}</span>
          <span className="number">{count(fleet.nodes.length)}</span>
        </div>
        <ul className="legend">
          {postures.map((posture, number) => {
            const nodes = fleet.postures.reduce((total, each) => total + Number(each === number), 0);
            return nodes === 0 ? null : (
              <li key={posture}>
                <StateBadge state={posture} label={words.postures[posture]} /> <span className="number">{count(nodes)}</span>
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}

function NodeTable({ nodes, fleet }: { nodes: readonly NodeView[]; fleet: Fleet }) {
  const names = useCatalogNames();
  const index = new Map(fleet.nodes.map((node, at) => [node.id, at]));
  // Nothing is said of slots that were not read.
  const used = (node: NodeView, kinds: readonly number[]): number | undefined => {
    const at = index.get(node.id);
    if (at === undefined || fleet.cells[at * cellsPerNode] === cellNumber('unread')) return undefined;
    return fleet.cells.subarray(at * cellsPerNode, (at + 1) * cellsPerNode).reduce((total, cell) => total + Number(kinds.includes(cell)), 0);
  };
  const kind = (ids: readonly string[]): number[] => cellKinds.flatMap((each, number) => (ids.includes(each.id) ? [number] : []));
  const columns: Column<NodeView>[] = [
    { id: 'name', title: words.node, value: (node) => node.name, render: (node) => <Ref id={node.id}>{node.name}</Ref> },
    { id: 'posture', title: words.posture, value: (node) => words.postures[node.posture], render: (node) => <StateBadge state={node.posture} label={words.postures[node.posture]} /> },
    { id: 'region', title: words.region, value: (node) => names.regionOfPool(node.pool_id) },
    { id: 'pool', title: words.pool, value: (node) => names.pool(node.pool_id) },
    { id: 'model', title: words.model, value: (node) => gpuModel(node.gpu_model) },
    { id: 'free', title: words.cells.available, align: 'end', value: (node) => used(node, kind(['available'])) },
    { id: 'used', title: words.cells.in_use, align: 'end', value: (node) => used(node, kind(['in_use', 'reserved'])) },
    { id: 'other', title: words.otherCells, align: 'end', value: (node) => used(node, kind(['wiping', 'cleanup_blocked', 'disabled', 'drifted'])) },
    { id: 'said', title: words.said, value: (node) => node.projected },
    { id: 'seen', title: words.lastSeen, value: (node) => node.last_seen_at, render: (node) => (node.last_seen_at ? <Time at={node.last_seen_at} /> : strings.shared.none) },
  ];
  return <DataTable label={words.nodes} columns={columns} rows={nodes} rowKey={(node) => node.id} sorting={{ column: 'name', descending: false }} empty={null} />;
}

function StuckNote() {
  const waits = useRead(operator.waits).data?.items.length ?? 0;
  if (waits === 0) return null;
  return (
    <Note tone="warn" title={words.stuck(waits)}>
      <p>
        <Link to="/operator/stuck">{words.seeStuck}</Link>
      </p>
    </Note>
  );
}

function Shown({ nodes, complete }: { nodes: readonly NodeView[]; complete: boolean }) {
  const navigate = useNavigate();
  const names = useCatalogNames();
  const { regionId } = useScope();
  const pools = useRead(things.pools).data?.items;
  const [params, setParams] = useSearchParams();
  const width = useWindowWidth();
  const [picked, setPicked] = useState<Density['id']>();
  const density = picked ?? densityFor(nodes.length, width);
  const wanted: Wanted = {
    region: params.get('region') ?? regionId ?? 'all',
    pool: params.get('pool') ?? 'all',
    model: params.get('model') ?? 'all',
    posture: params.get('posture') ?? 'all',
  };
  const { slots, version } = useFleetSlots();
  const kept = useMemo(
    () =>
      nodes.filter(
        (node) =>
          (wanted.region === 'all' || pools?.find((pool) => pool.id === node.pool_id)?.region_id === wanted.region) &&
          (wanted.pool === 'all' || node.pool_id === wanted.pool) &&
          (wanted.model === 'all' || node.gpu_model === wanted.model) &&
          (wanted.posture === 'all' || node.posture === wanted.posture),
      ),
    [nodes, pools, wanted.region, wanted.pool, wanted.model, wanted.posture],
  );
  const labelOf = (node: NodeView): string => `${names.regionOfPool(node.pool_id)} / ${names.pool(node.pool_id)}`;
  const labels = kept.map(labelOf).join('\n');
  const fleet = useMemo(() => fleetOf(kept, labelOf, slots.of), [kept, labels, slots, version]); // eslint-disable-line react-hooks/exhaustive-deps -- `labels` stands for `labelOf`
  const view = params.get('view') ?? 'map';
  const change = (name: string, value: string): void =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        next.set(name, value);
        if (name === 'region') next.delete('pool');
        return next;
      },
      { replace: true },
    );
  const chosen = densities.find((each) => each.id === density) ?? densities[0];
  const none = (
    <Empty title={words.noneMatch}>
      <p>{words.noneMatchDetail}</p>
    </Empty>
  );
  return (
    <>
      <StuckNote />
      {slots.error !== undefined && <ProblemNote error={slots.error} onRetry={() => slots.survey()} />}
      <FilterBar wanted={wanted} onChange={change} nodes={nodes} />
      <Summary fleet={fleet} wanted={wanted} />
      <Tabs
        label={words.title}
        selected={view}
        onSelect={(id) => change('view', id)}
        views={[
          {
            id: 'map',
            title: words.map,
            content:
              kept.length === 0 || !chosen ? (
                none
              ) : (
                <div className="stack-tight">
                  <div className="row">
                    <Legend fleet={fleet} />
                    <span className="push" />
                    <Select compact label={words.density} value={density} onChange={(id) => setPicked(id as Density['id'])} options={densities.map((each) => ({ id: each.id, label: words.densities[each.id] }))} />
                  </div>
                  <FleetMap fleet={fleet} density={chosen} onOpen={(id) => void navigate(`/operator/nodes/${id}`)} />
                </div>
              ),
          },
          { id: 'table', title: words.table, content: kept.length === 0 ? none : <NodeTable nodes={kept} fleet={fleet} /> },
        ]}
      />
      {!complete && <Note tone="warn">{strings.shared.notComplete}</Note>}
    </>
  );
}

/** The page. */
export function Component() {
  const nodes = useRead(operator.nodes);
  return (
    <Page
      wide
      title={words.title}
      lead={words.lead}
      calls={[
        { method: 'GET', path: '/api/v1/admin/nodes', cli: 'gpuaas node list' },
        { method: 'GET', path: '/api/v1/admin/occupancy', cli: 'gpuaas admin occupancy' },
        { method: 'GET', path: '/api/v1/admin/resource-slots' },
      ]}
    >
      <Reading of={nodes} lines={8}>
        {(list) =>
          list.items.length === 0 ? (
            <Empty title={words.empty}>
              <p>{words.emptyDetail}</p>
              <Link to="/operator/enrolment">{words.emptyAction}</Link>
            </Empty>
          ) : (
            <Shown nodes={list.items} complete={list.complete} />
          )
        }
      </Reading>
    </Page>
  );
}
