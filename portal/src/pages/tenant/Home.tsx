// The first page of a project: what can be had now and what it costs, what runs, what waits, how much of the quota is used.
import { Link, useParams } from 'react-router';
import type { Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import { mayUse } from '../../api/session';
import * as things from '../../api/things';
import { useScope } from '../../app/scope';
import { useSession } from '../../app/session';
import { strings } from '../../strings';
import { LinkButton } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { count, gpuModel } from '../../ui/format';
import { Page } from '../../ui/Page';
import { Bars, Card, Money, StateBadge, Tile, Time } from '../../ui/pieces';
import { Empty, Reading, Refused } from '../../ui/states';
import { heldGpus, lives, waits } from './holding';

const words = strings.tenant.home;

/** One line of what is sold, in one region. */
interface Offer {
  sku: Schemas['SkuView'];
  region: string;
  available: Schemas['AvailabilityView'];
}

function offers(skus: readonly Schemas['SkuView'][], available: readonly Schemas['AvailabilityView'][], regionId: string | undefined): Offer[] {
  return skus
    .filter((sku) => sku.enabled)
    .flatMap((sku) =>
      available
        .filter((each) => each.gpu_model === sku.gpu_model && (regionId === undefined || each.region_id === regionId))
        .map((each) => ({ sku, region: each.region, available: each })),
    );
}

function inStock(offer: Offer): number {
  return offer.sku.shape === 'baremetal' ? offer.available.whole_nodes : offer.available.slice_gpus;
}

function Available({ projectId, mayLaunch }: { projectId: string; mayLaunch: boolean }) {
  const { regionId } = useScope();
  const skus = useRead(things.skus);
  const available = useRead(things.availability);
  const columns: Column<Offer>[] = [
    {
      id: 'sku',
      title: words.sku,
      value: (offer) => offer.sku.slug,
      render: (offer) => (
        <span>
          <strong>{gpuModel(offer.sku.gpu_model)}</strong>
          <br />
          <span className="soft small">{strings.codes.shape[offer.sku.shape]}</span>
        </span>
      ),
    },
    { id: 'region', title: strings.shared.region, value: (offer) => offer.region },
    {
      id: 'free',
      title: words.free,
      value: inStock,
      render: (offer) => (
        <StateBadge
          state="stock"
          tone={inStock(offer) > 0 ? 'good' : 'warn'}
          label={offer.sku.shape === 'baremetal' ? words.nodes(offer.available.whole_nodes) : words.gpus(offer.available.slice_gpus)}
        />
      ),
    },
    {
      id: 'largest',
      title: words.largest,
      align: 'end',
      value: (offer) => (offer.sku.shape === 'baremetal' ? undefined : offer.available.largest_slice_gpus),
    },
    {
      id: 'price',
      title: words.price,
      align: 'end',
      value: (offer) => offer.sku.price_micros_per_gpu_hour / 1_000_000,
      render: (offer) => <Money micros={offer.sku.price_micros_per_gpu_hour} />,
    },
    ...(mayLaunch
      ? [
          {
            id: 'actions',
            title: strings.shared.actions,
            align: 'end' as const,
            render: (offer: Offer) => (
              <LinkButton small to={`/projects/${projectId}/launch?shape=${offer.sku.shape}&sku=${offer.sku.slug}&region=${offer.region}`}>
                {strings.shared.nav.launch}
              </LinkButton>
            ),
          },
        ]
      : []),
  ];
  return (
    <Card title={words.available}>
      <Reading of={skus}>
        {(sold) => (
          <Reading of={available}>
            {(list) => (
              <DataTable
                label={words.available}
                columns={columns}
                rows={offers(sold.items, list.items, regionId)}
                rowKey={(offer) => `${offer.sku.id} ${offer.available.region_id}`}
                empty={
                  <Empty title={words.nothingSold}>
                    <p>{words.nothingSoldDetail}</p>
                  </Empty>
                }
              />
            )}
          </Reading>
        )}
      </Reading>
    </Card>
  );
}

function Running({ projectId, mayLaunch }: { projectId: string; mayLaunch: boolean }) {
  const { regionId } = useScope();
  const list = useRead(things.allocations(projectId));
  return (
    <Card title={words.running} actions={<Link to={`/projects/${projectId}/allocations`}>{words.allAllocations}</Link>}>
      <Reading of={list}>
        {(all) => {
          const living = all.items.filter((each) => lives(each) && !waits(each)).filter((each) => regionId === undefined || each.region_id === regionId);
          if (living.length === 0) {
            return (
              <Empty title={words.nothingRuns} action={mayLaunch && <LinkButton tone="primary" to={`/projects/${projectId}/launch`}>{strings.shared.nav.launch}</LinkButton>}>
                <p>{words.nothingRunsDetail}</p>
              </Empty>
            );
          }
          return (
            <ul className="plain-list lines">
              {living.slice(-8).map((each) => (
                <li key={each.id} className="line">
                  <Link className="row-link" to={`/projects/${projectId}/allocations/${each.id}`}>
                    {each.name}
                  </Link>
                  <StateBadge state={each.execution} />
                  <span className="soft">{words.gpus(each.gpu_count)}</span>
                  <span className="soft small push">
                    {each.lease_ends_at ? (
                      <>
                        {words.ends} <Time at={each.lease_ends_at} from="now" />
                      </>
                    ) : (
                      <Time at={each.created_at} from="now" />
                    )}
                  </span>
                </li>
              ))}
            </ul>
          );
        }}
      </Reading>
    </Card>
  );
}

function Waiting({ projectId }: { projectId: string }) {
  const list = useRead(things.workloads(projectId));
  return (
    <Card title={words.waiting} actions={<Link to={`/projects/${projectId}/queue`}>{words.wholeQueue}</Link>}>
      <Reading of={list} lines={2}>
        {(all) => {
          const waiting = all.items.filter((each) => each.execution === 'queued' || each.execution === 'preempting');
          if (waiting.length === 0) return <p className="soft">{words.nothingWaits}</p>;
          return (
            <ul className="plain-list lines">
              {waiting.slice(0, 6).map((each) => (
                <li key={each.id} className="line">
                  <Link className="row-link" to={`/projects/${projectId}/queue/${each.id}`}>
                    {each.name}
                  </Link>
                  <StateBadge state={each.execution} />
                  {each.position !== undefined && <span className="soft">{words.position(each.position)}</span>}
                  <span className="small soft">{each.wait?.sentence ?? each.projected}</span>
                </li>
              ))}
            </ul>
          );
        }}
      </Reading>
    </Card>
  );
}

/** The page. */
export function Component() {
  const { projectId = '' } = useParams();
  const session = useSession();
  const { current } = useScope();
  const project = useRead(things.project(projectId));
  const list = useRead(things.allocations(projectId));
  if (project.error && !project.data) {
    return (
      <Page title={words.title}>
        <Refused error={project.error} onRetry={() => void project.refetch()} />
      </Page>
    );
  }
  const may = project.data !== undefined && mayUse(session, project.data);
  const held = heldGpus(list.data?.items ?? []);
  const cap = project.data?.gpu_cap ?? 0;
  return (
    <Page
      title={project.data?.name ?? words.title}
      lead={project.data?.projected}
      mark={project.data && <StateBadge state={project.data.execution} />}
      actions={may && <LinkButton tone="primary" to={`/projects/${projectId}/launch`}>{strings.shared.nav.launch}</LinkButton>}
      calls={[
        { method: 'GET', path: '/api/v1/availability', cli: 'gpuaas availability' },
        { method: 'GET', path: `/api/v1/projects/${projectId}`, ...(current ? { cli: `gpuaas project show ${current.path}` } : {}) },
        { method: 'GET', path: `/api/v1/projects/${projectId}/allocations`, ...(current ? { cli: `gpuaas allocation list --project ${current.path}` } : {}) },
      ]}
    >
      {project.data && list.data && (
        <div className="tiles">
          <Tile label={words.runningNow} value={count(list.data.items.filter((each) => each.execution === 'running').length)} />
          <Tile label={words.gpusHeld} value={count(held)} detail={words.ofCap(cap)} />
          <Tile label={words.gpusLeft} value={count(Math.max(0, cap - held))} />
        </div>
      )}
      <Available projectId={projectId} mayLaunch={may} />
      <div className="grid-2">
        <Running projectId={projectId} mayLaunch={may} />
        <div className="stack">
          <Waiting projectId={projectId} />
          <Card title={words.quota}>
            <Bars label={words.gpuCap} unit={words.gpuUnit} whole={cap} parts={[{ label: words.held, value: held, tone: 'busy' }]} legend={false} />
          </Card>
        </div>
      </div>
    </Page>
  );
}
