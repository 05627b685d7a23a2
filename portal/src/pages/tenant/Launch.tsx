// The launch: one page, four steps, everything that was chosen in the address. What it would cost and whether it fits is
// asked of the control plane while choosing; nothing is reserved before the launch itself.
import { useQueries } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { NavigationType, useLocation, useNavigate, useNavigationType, useParams, useSearchParams } from 'react-router';
import { answer, api, wishKey, type Schemas } from '../../api/client';
import { readOptions, useRead, type Read } from '../../api/reads';
import { mayUse } from '../../api/session';
import * as things from '../../api/things';
import { useScope } from '../../app/scope';
import { useSession } from '../../app/session';
import { strings } from '../../strings';
import { Choices, type Choice } from '../../ui/controls';
import { gpuModel, money } from '../../ui/format';
import { Page } from '../../ui/Page';
import { Card, Money } from '../../ui/pieces';
import { Denied, Loading, Refused } from '../../ui/states';
import { changed, countsOf, formatLaunch, launchBody, parseLaunch, type LaunchBody, type LaunchChange, type LaunchState } from './launch-state';
import { LaunchAccess } from './LaunchAccess';
import { LaunchReview } from './LaunchReview';

const words = strings.tenant.launch;
type Sku = Schemas['SkuView'];
type Region = Schemas['RegionView'];
type Profile = Schemas['HardwareProfile'];

/** Whether a launch would be let in and fit, and what it would cost. */
export function planRead(projectId: string, body: LaunchBody | undefined): Read<Schemas['PlanView']> {
  return {
    key: ['plan', projectId, body],
    touches: { nouns: ['allocation', 'project', 'region', 'sku', 'slot', 'node'] },
    when: body !== undefined,
    read: () =>
      answer(
        api.POST('/api/v1/projects/{project_id}/allocations/plan', {
          params: { path: { project_id: projectId } },
          body: body as LaunchBody,
        }),
      ),
  };
}

/** What choices are made from. */
interface Known {
  skus: readonly Sku[];
  regions: readonly Region[];
  pools: readonly Schemas['PoolView'][];
  keys: readonly Schemas['SshKeyView'][];
  profiles: readonly Profile[];
}

/** The sizes that can be had of what is chosen. */
function sizesOf(state: LaunchState, { skus, profiles }: Known): readonly number[] {
  const profile = profiles.find((each) => each.slug === state.profile);
  return profile ? countsOf(profile, skus) : (skus.find((each) => each.slug === state.sku)?.gpu_counts ?? []);
}

/**
 * The choices that are made until somebody makes another: the first SKU of the form, its smallest count, an open region. A hardware
 * profile that is not there any more is forgotten.
 */
function withDefaults(asked: LaunchState, known: Known): LaunchState {
  const { skus, regions, profiles } = known;
  const state = asked.profile === undefined || profiles.some((each) => each.slug === asked.profile) ? asked : changed(asked, { profile: undefined });
  const fitting = skus.filter((sku) => sku.shape === state.shape);
  const sku = fitting.find((each) => each.slug === state.sku) ?? fitting.find((each) => each.enabled) ?? fitting[0];
  const sizes = sizesOf({ ...state, ...(sku ? { sku: sku.slug } : {}) }, known);
  const gpus = sizes.find((each) => each === state.gpus) ?? sizes[0];
  const region = regions.find((each) => each.slug === state.region) ?? regions.find((each) => each.enabled);
  return {
    ...state,
    ...(sku ? { sku: sku.slug } : {}),
    ...(gpus === undefined ? {} : { gpus }),
    ...(region ? { region: region.slug } : {}),
  };
}

/** What was chosen, kept in the address. The page has its own copy: the address follows a moment later, and typing is faster. */
function useLaunchAddress(): [LaunchState, (change: (before: LaunchState) => LaunchState) => void] {
  const [search, setSearch] = useSearchParams();
  const [asked, setAsked] = useState(() => parseLaunch(search));
  const location = useLocation();
  const how = useNavigationType();
  const written = useRef(formatLaunch(asked).toString());
  const [arrival, setArrival] = useState(location.key);
  // Somebody followed a link or went back: the address leads. What this page writes itself replaces the entry.
  if (how !== NavigationType.Replace && location.key !== arrival) {
    setArrival(location.key);
    setAsked(parseLaunch(search));
  }
  useEffect(() => {
    const text = formatLaunch(asked).toString();
    if (text === written.current) return;
    written.current = text;
    setSearch(text, { replace: true, preventScrollReset: true });
  }, [asked, setSearch]);
  return [asked, setAsked];
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <Card
      title={
        <>
          <span className="step-number" aria-hidden="true">
            {number}
          </span>{' '}
          {title}
        </>
      }
    >
      {children}
    </Card>
  );
}

function fitWords(plan: Schemas['PlanView'] | undefined): ReactNode {
  if (!plan) return words.asking;
  if (plan.admitted && plan.fits) return words.fitsNow;
  return <span className="why-not">{plan.projected}</span>;
}

interface WhatProps {
  state: LaunchState;
  change: (part: LaunchChange) => void;
  known: Known;
  plans: ReadonlyMap<number, Schemas['PlanView']>;
  /** Whether the project has a queue, which hardware profiles need. */
  queued: boolean;
}

/** A hardware profile among the GPUs that can be chosen. */
const profileId = (slug: string): string => `profile ${slug}`;

function profileChoice(profile: Profile, queued: boolean, sizes: number): Choice {
  return {
    id: profileId(profile.slug),
    title: profile.name,
    detail: profile.flavors && profile.flavors.length > 0 ? words.anyOf(profile.flavors) : words.anyFlavor,
    whyNot: !profile.enabled ? words.notForSale : !queued ? words.profileNeedsQueue : sizes === 0 ? words.profileNotSold : undefined,
  };
}

function What({ state, change, known, plans, queued }: WhatProps) {
  const { skus, profiles } = known;
  const shapes = (['gpu_slice', 'baremetal'] as const).map<Choice>((shape) => ({
    id: shape,
    title: strings.codes.shape[shape],
    detail: words.shapeDetail[shape],
    whyNot: skus.some((sku) => sku.shape === shape && sku.enabled) ? undefined : words.shapeNotSold,
  }));
  const models = skus.filter((sku) => sku.shape === state.shape);
  const sku = state.profile === undefined ? models.find((each) => each.slug === state.sku) : undefined;
  const sizes = sizesOf(state, known);
  // What a hardware profile is bought as is for the plan to say.
  const priceOf = (gpus: number): string | undefined => {
    const micros = sku ? sku.price_micros_per_gpu_hour * gpus : plans.get(gpus)?.price.micros_per_hour;
    return micros === undefined ? undefined : money(micros);
  };
  return (
    <>
      <Choices
        label={words.shape}
        value={state.shape}
        choices={shapes}
        onChange={(shape) => change({ shape: shape === 'baremetal' ? 'baremetal' : 'gpu_slice', sku: undefined, profile: undefined, gpus: undefined, pool: undefined })}
      />
      <Choices
        label={words.sku}
        value={state.profile === undefined ? state.sku : profileId(state.profile)}
        onChange={(id) => {
          const profile = profiles.find((each) => profileId(each.slug) === id);
          change(profile ? { profile: profile.slug, gpus: profile.gpu_count_default, pool: undefined } : { profile: undefined, sku: id, pool: undefined });
        }}
        choices={[
          ...models.map((each) => ({
            id: each.slug,
            title: gpuModel(each.gpu_model),
            detail: (
              <>
                {each.name} · <Money micros={each.price_micros_per_gpu_hour} per={words.perGpuHour} />
              </>
            ),
            whyNot: each.enabled ? undefined : words.notForSale,
          })),
          ...(state.shape === 'gpu_slice' ? profiles.map((each) => profileChoice(each, queued, countsOf(each, skus).length)) : []),
        ]}
      />
      {sizes.length > 0 && (
        <Choices
          narrow={sizes.length > 2}
          label={words.gpus}
          value={state.gpus === undefined ? undefined : String(state.gpus)}
          onChange={(gpus) => change({ gpus: Number(gpus) })}
          choices={sizes.map((gpus) => ({
            id: String(gpus),
            title: words.gpuCount(gpus),
            detail: (
              <>
                {priceOf(gpus) !== undefined && (
                  <>
                    {priceOf(gpus)} {strings.shared.perHour}
                    <br />
                  </>
                )}
                {fitWords(plans.get(gpus))}
              </>
            ),
          }))}
        />
      )}
    </>
  );
}

interface WhereProps {
  state: LaunchState;
  change: (part: LaunchChange) => void;
  regions: readonly Region[];
  pools: readonly Schemas['PoolView'][];
  available: readonly Schemas['AvailabilityView'][];
  sku: Sku | undefined;
}

function Where({ state, change, regions, pools, available, sku }: WhereProps) {
  const region = regions.find((each) => each.slug === state.region);
  const choices = regions.map<Choice>((each) => {
    const there = available.find((one) => one.region_id === each.id && one.gpu_model === sku?.gpu_model);
    const hasPool = pools.some((pool) => pool.region_id === each.id && pool.gpu_model === sku?.gpu_model);
    return {
      id: each.slug,
      title: each.slug,
      detail: there ? (
        <>
          {each.name}
          <br />
          {state.shape === 'baremetal' ? words.wholeNodes(there.whole_nodes) : words.sliceGpus(there.slice_gpus, there.largest_slice_gpus)}
        </>
      ) : (
        each.name
      ),
      whyNot: !each.enabled ? words.regionClosed : sku && !hasPool ? words.noSuchGpu(gpuModel(sku.gpu_model)) : undefined,
    };
  });
  const here = pools.filter((pool) => pool.region_id === region?.id && pool.gpu_model === sku?.gpu_model);
  return (
    <>
      <Choices label={words.region} value={state.region} onChange={(slug) => change({ region: slug, pool: undefined })} choices={choices} />
      {here.length > 0 && (
        <Choices
          label={words.pool}
          value={state.pool ?? 'any'}
          onChange={(slug) => change({ pool: slug === 'any' ? undefined : slug })}
          choices={[
            { id: 'any', title: words.anyPool, detail: words.anyPoolDetail },
            ...here.map((pool) => ({
              id: pool.slug,
              title: pool.slug,
              detail: pool.name,
              whyNot: state.shape === 'gpu_slice' && !pool.slices_enabled ? words.poolNoSlices : undefined,
            })),
          ]}
        />
      )}
    </>
  );
}

/** The page. */
export function Component() {
  const { projectId = '' } = useParams();
  const session = useSession();
  const { current, ready } = useScope();
  const navigate = useNavigate();
  const [userData, setUserData] = useState('');
  // One wish: a second press of the button, or a repeated try, launches nothing twice.
  const [key, setKey] = useState(wishKey);
  const skus = useRead(things.skus);
  const regions = useRead(things.regions);
  const pools = useRead(things.pools);
  const keys = useRead(things.sshKeys(projectId));
  const available = useRead(things.availability);
  const profiles = useRead(things.hardwareProfiles);
  const queues = useRead(things.localQueues(projectId));

  const [asked, setAsked] = useLaunchAddress();
  const known = useMemo<Known>(
    () => ({
      skus: skus.data?.items ?? [],
      regions: regions.data?.items ?? [],
      pools: pools.data?.items ?? [],
      keys: keys.data?.items ?? [],
      profiles: (profiles.data?.items ?? []).map((each) => each.spec),
    }),
    [skus.data, regions.data, pools.data, keys.data, profiles.data],
  );
  const state = withDefaults(asked, known);
  const change = (part: LaunchChange): void => {
    setKey(wishKey());
    setAsked((before) => changed(withDefaults(before, known), part));
  };
  const body = launchBody(state, known, userData);
  const plan = useRead(planRead(projectId, body));
  const sku = state.profile === undefined ? known.skus.find((each) => each.slug === state.sku) : undefined;
  const counts = sizesOf(state, known);
  // Every size is asked about, so that each says why not before it is chosen. The name and the keys do not matter for that.
  const sized = useQueries({
    queries: counts.map((gpus) => readOptions(planRead(projectId, body && sizeOnly(body, gpus)))),
  });
  const plans = new Map(counts.flatMap((gpus, index) => (sized[index]?.data ? [[gpus, sized[index].data] as const] : [])));

  const needed = [skus, regions, pools, keys, profiles, queues];
  const failed = needed.find((read) => read.error && !read.data);
  const waiting = needed.some((read) => !read.data);
  const launched = (operation: Schemas['OperationView']): void => {
    void navigate(`/projects/${projectId}/allocations/${operation.subject_id}`);
  };
  let content: ReactNode;
  if (failed) content = <Refused error={failed.error} onRetry={() => needed.forEach((read) => read.error && void read.refetch())} />;
  else if (ready && current && !mayUse(session, current.project)) content = <Denied />;
  else if (waiting) content = <Loading lines={8} />;
  else {
    content = (
      <div className="launch">
        <div className="stack">
          <Step number={1} title={words.what}>
            <What state={state} change={change} known={known} plans={plans} queued={(queues.data?.items.length ?? 0) > 0} />
          </Step>
          <Step number={2} title={words.where}>
            <Where state={state} change={change} regions={known.regions} pools={known.pools} available={available.data?.items ?? []} sku={sku} />
          </Step>
          <Step number={3} title={words.access}>
            <LaunchAccess projectId={projectId} state={state} change={change} keys={known.keys} sku={sku} pools={poolsOf(state, known, sku)} userData={userData} setUserData={setUserData} />
          </Step>
        </div>
        <div className="launch-review">
          <Step number={4} title={words.review}>
            <LaunchReview projectId={projectId} projectPath={current?.path ?? projectId} state={state} change={change} body={body} plan={plan} idempotencyKey={key} keys={known.keys} skus={known.skus} queues={queues.data?.items ?? []} hasUserData={userData !== ''} onLaunched={launched} />
          </Step>
        </div>
      </div>
    );
  }
  return (
    <Page
      title={words.title}
      lead={words.lead}
      calls={[
        { method: 'GET', path: '/api/v1/skus', cli: 'gpuaas sku list' },
        { method: 'GET', path: '/api/v1/availability', cli: 'gpuaas availability' },
        { method: 'POST', path: `/api/v1/projects/${projectId}/allocations/plan`, body },
      ]}
    >
      {content}
    </Page>
  );
}

/** The pools that it may land in: the one that was asked for, or all of its GPUs in the region. */
function poolsOf(state: LaunchState, { pools, regions }: Known, sku: Sku | undefined): readonly Schemas['PoolView'][] {
  if (state.pool !== undefined) return pools.filter((pool) => pool.slug === state.pool);
  const region = regions.find((each) => each.slug === state.region);
  return pools.filter((pool) => pool.region_id === region?.id && (sku === undefined || pool.gpu_model === sku.gpu_model));
}

/** The part of a launch that its size, place and price depend on. */
function sizeOnly(body: LaunchBody, gpus: number): LaunchBody {
  return {
    name: 'size',
    region_id: body.region_id,
    gpu_count: gpus,
    ...(body.sku_id ? { sku_id: body.sku_id } : {}),
    ...(body.hardware_profile ? { hardware_profile: body.hardware_profile } : {}),
    ...(body.placement ? { placement: body.placement } : {}),
  };
}
