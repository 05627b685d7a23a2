// What a project used and what it came to, and how much of its quota it holds.
import { lazy, Suspense, useMemo, useState } from 'react';
import { useParams } from 'react-router';
import { answer, api, pageQuery, readAll } from '../../api/client';
import { useRead } from '../../api/reads';
import * as things from '../../api/things';
import { useScope } from '../../app/scope';
import { strings } from '../../strings';
import { useNow } from '../../ui/clock';
import { Choices } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { money } from '../../ui/format';
import { Page } from '../../ui/Page';
import { Bars, Card, Money, Tile, Time } from '../../ui/pieces';
import { Empty, Loading, Reading } from '../../ui/states';
import { byDay, type Usage } from './cost';
import { heldGpus } from './holding';

const UsageChart = lazy(() => import('./UsageChart'));
const words = strings.tenant.usage;

const spans = [
  { id: '7', days: 7 },
  { id: '30', days: 30 },
  { id: '90', days: 90 },
] as const;
const dayMs = 86_400_000;

/** What one SKU came to. */
interface SkuUse {
  sku: string;
  gpuHours: number;
  micros: number;
}

function bySku(claims: readonly Usage[], from: number, to: number): SkuUse[] {
  const sums = new Map<string, SkuUse>();
  for (const claim of claims) {
    const sum = sums.get(claim.sku) ?? { sku: claim.sku, gpuHours: 0, micros: 0 };
    for (const day of byDay([claim], from, to)) {
      sum.gpuHours += day.gpuHours;
      sum.micros += day.micros;
    }
    sums.set(claim.sku, sum);
  }
  return [...sums.values()];
}

/** The page. */
export function Component() {
  const { projectId = '' } = useParams();
  const { current } = useScope();
  const now = useNow();
  const [span, setSpan] = useState<string>('7');
  const days = spans.find((each) => each.id === span)?.days ?? 7;
  // Whole days, so that the same read serves until midnight.
  const from = Math.floor(now / dayMs) * dayMs - (days - 1) * dayMs;
  const fromText = new Date(from).toISOString();
  const project = useRead(things.project(projectId));
  const allocations = useRead(things.allocations(projectId));
  const usage = useRead({
    key: ['usage', projectId, fromText],
    touches: { nouns: ['allocation'] },
    read: () =>
      readAll((token) =>
        answer(api.GET('/api/v1/projects/{project_id}/usage', { params: { path: { project_id: projectId }, query: { ...pageQuery(token), from: fromText } } })),
      ),
  });
  const perDay = useMemo(() => byDay(usage.data?.items ?? [], from, now), [usage.data, from, now]);
  const perSku = useMemo(() => bySku(usage.data?.items ?? [], from, now), [usage.data, from, now]);
  const hours = perDay.reduce((sum, day) => sum + day.gpuHours, 0);
  const micros = perDay.reduce((sum, day) => sum + day.micros, 0);
  const held = heldGpus(allocations.data?.items ?? []);
  const columns: Column<Usage>[] = [
    { id: 'from', title: words.from, value: (each) => each.from, render: (each) => <Time at={each.from} /> },
    { id: 'to', title: words.to, value: (each) => each.to, render: (each) => (each.to ? <Time at={each.to} /> : words.goesOn) },
    { id: 'sku', title: words.sku, value: (each) => each.sku },
    { id: 'gpus', title: words.gpus, value: (each) => each.gpus, align: 'end' },
    { id: 'price', title: words.price, value: (each) => each.price_micros_per_gpu_hour / 1_000_000, render: (each) => <Money micros={each.price_micros_per_gpu_hour} />, align: 'end' },
    { id: 'micros', title: words.cost, value: (each) => each.micros / 1_000_000, render: (each) => <Money micros={each.micros} />, align: 'end' },
    { id: 'allocation', title: words.allocation, value: (each) => each.allocation_id, render: (each) => <code className="small">{each.allocation_id}</code> },
  ];
  return (
    <Page
      title={words.title}
      lead={words.lead}
      calls={[
        { method: 'GET', path: `/api/v1/projects/${projectId}/usage?from=${fromText}`, ...(current ? { cli: `gpuaas usage --project ${current.path}` } : {}) },
        { method: 'GET', path: `/api/v1/projects/${projectId}`, ...(current ? { cli: `gpuaas project show ${current.path}` } : {}) },
      ]}
    >
      <Card title={words.quota}>
        <Reading of={project} lines={2}>
          {(it) => (
            <Bars label={words.gpuCap} unit={words.gpuUnit} whole={it.gpu_cap} parts={[{ label: words.held, value: held, tone: 'busy' }]} legend={false} />
          )}
        </Reading>
      </Card>
      <Choices narrow label={words.span} value={span} onChange={setSpan} choices={spans.map((each) => ({ id: each.id, title: words.days(each.days) }))} />
      <Reading of={usage}>
        {(list) =>
          list.items.length === 0 ? (
            <Empty title={words.empty}>
              <p>{words.emptyDetail}</p>
            </Empty>
          ) : (
            <>
              <div className="tiles">
                <Tile label={words.cost} value={money(micros)} detail={words.days(days)} />
                <Tile label={words.gpuHours} value={hours.toFixed(1)} detail={words.days(days)} />
                {perSku.map((each) => (
                  <Tile key={each.sku} label={each.sku} value={money(each.micros)} detail={words.hours(each.gpuHours)} />
                ))}
              </div>
              <Card title={words.perDay}>
                <Suspense fallback={<Loading lines={6} />}>
                  <UsageChart days={perDay} />
                </Suspense>
              </Card>
              <DataTable label={words.claims} columns={columns} rows={list.items} complete={list.complete} rowKey={(each) => each.claim_id} sorting={{ column: 'from', descending: true }} empty={null} />
            </>
          )
        }
      </Reading>
    </Page>
  );
}
