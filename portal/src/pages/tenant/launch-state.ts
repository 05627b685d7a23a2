// What the launch page holds, and what becomes of it: an address to share, the body of the request, the same launch as a
// command. Pure. User data is not part of the address: it can be long, and it can be secret.
import type { Schemas } from '../../api/client';
import { shellWord } from '../../ui/format';

/** The body of a launch. */
export type LaunchBody = Schemas['AllocationLaunchBody'];
/** The form that capacity is sold in. */
export type Shape = Schemas['CapacityShape'];

/** What has been chosen so far. */
export interface LaunchState {
  shape: Shape;
  sku?: string;
  /** A hardware profile instead of a SKU: whatever of it the queue can give first. */
  profile?: string;
  gpus?: number;
  region?: string;
  pool?: string;
  name: string;
  /** Names of keys; all of the project's when absent. */
  keys?: string[];
  image?: string;
  lease?: string;
  group?: string;
  spread?: Schemas['Spread'];
  coTenancy?: Schemas['CoTenancy'];
  mayRecreate: boolean;
  labels: string;
  queue?: string;
  priorityClass?: string;
  ifUnavailable?: Schemas['IfUnavailable'];
  maxRunS?: number;
}

const spreads: readonly Schemas['Spread'][] = ['require', 'prefer', 'none', 'near', 'same_node'];

function text(search: URLSearchParams, key: string): string | undefined {
  const value = search.get(key);
  return value === null || value === '' ? undefined : value;
}

function whole(search: URLSearchParams, key: string): number | undefined {
  const value = search.get(key);
  return value !== null && /^[1-9]\d{0,8}$/.test(value) ? Number(value) : undefined;
}

/** Drops what has no value, so that an absent choice is absent. */
function present<T extends object>(of: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined)) as T;
}

/** What somebody chose anew; a choice that is taken back is `undefined`. */
export type LaunchChange = { [K in keyof LaunchState]?: LaunchState[K] | undefined };

/** The state after a change. */
export function changed(state: LaunchState, change: LaunchChange): LaunchState {
  return present<LaunchState>({ ...state, ...change });
}

/** Reads an address. What is not understood is left out. */
export function parseLaunch(search: URLSearchParams): LaunchState {
  const spread = spreads.find((each) => each === search.get('spread'));
  const unavailable = search.get('if-unavailable');
  const keys = search.get('keys');
  return present<LaunchState>({
    shape: search.get('shape') === 'baremetal' ? 'baremetal' : 'gpu_slice',
    sku: text(search, 'sku'),
    profile: text(search, 'profile'),
    gpus: whole(search, 'gpus'),
    region: text(search, 'region'),
    pool: text(search, 'pool'),
    name: search.get('name') ?? '',
    keys: keys === null ? undefined : keys.split(',').filter(Boolean),
    image: text(search, 'image'),
    lease: text(search, 'lease'),
    group: text(search, 'group'),
    spread,
    coTenancy: search.get('co-tenancy') === 'same_tenant' ? 'same_tenant' : undefined,
    mayRecreate: search.get('may-recreate') === 'yes',
    labels: search.get('labels') ?? '',
    queue: text(search, 'queue'),
    priorityClass: text(search, 'class'),
    ifUnavailable: unavailable === 'refuse' || unavailable === 'queue' ? unavailable : undefined,
    maxRunS: whole(search, 'max-run'),
  });
}

/** Writes the address; what is as it would be anyway is left out. */
export function formatLaunch(state: LaunchState): URLSearchParams {
  const search = new URLSearchParams();
  const put = (key: string, value: string | number | undefined): void => {
    if (value !== undefined && value !== '') search.set(key, String(value));
  };
  search.set('shape', state.shape);
  put('sku', state.sku);
  put('profile', state.profile);
  put('gpus', state.gpus);
  put('region', state.region);
  put('pool', state.pool);
  put('name', state.name);
  if (state.keys !== undefined) search.set('keys', state.keys.join(','));
  put('image', state.image);
  put('lease', state.lease);
  put('group', state.group);
  put('spread', state.spread);
  put('co-tenancy', state.coTenancy);
  if (state.mayRecreate) search.set('may-recreate', 'yes');
  put('labels', state.labels);
  put('queue', state.queue);
  put('class', state.priorityClass);
  put('if-unavailable', state.ifUnavailable);
  put('max-run', state.maxRunS);
  return search;
}

/** Words such as `team=vision owner=ada` as labels. Words without a value are left out. */
export function parseLabels(words: string): Schemas['Label'][] {
  return words
    .split(/[\s,]+/)
    .map((word) => /^([^=]+)=(.+)$/.exec(word))
    .filter((match) => match !== null)
    .map((match) => ({ key: match[1] ?? '', value: match[2] ?? '' }));
}

/** What names are turned into ids with. */
export interface Catalogue {
  skus: readonly { id: string; slug: string }[];
  regions: readonly { id: string; slug: string }[];
  pools: readonly { id: string; slug: string }[];
  keys: readonly { id: string; name: string }[];
}

/** How many GPUs a hardware profile can be had with: what is sold as slices, within its bounds. */
export function countsOf(profile: Schemas['HardwareProfile'], skus: readonly Pick<Schemas['SkuView'], 'shape' | 'enabled' | 'gpu_counts'>[]): number[] {
  const sold = new Set(skus.filter((sku) => sku.shape === 'gpu_slice' && sku.enabled).flatMap((sku) => sku.gpu_counts));
  return [...sold].filter((gpus) => gpus >= (profile.gpu_count_min ?? 1) && gpus <= (profile.gpu_count_max ?? 8)).sort((a, b) => a - b);
}

/** The name that is used while none is given. */
export const unnamed = 'launch';

/** The request, once enough is chosen. */
export function launchBody(state: LaunchState, known: Catalogue, userData: string): LaunchBody | undefined {
  const sku = known.skus.find((each) => each.slug === state.sku);
  const region = known.regions.find((each) => each.slug === state.region);
  if (!(sku || state.profile !== undefined) || !region || state.gpus === undefined) return undefined;
  const pool = known.pools.find((each) => each.slug === state.pool);
  const keys = known.keys.filter((key) => state.keys === undefined || state.keys.includes(key.name));
  const labels = parseLabels(state.labels);
  const placement = present<Schemas['PlacementWishes']>({
    pool_id: pool?.id,
    group: state.group,
    spread: state.group === undefined ? undefined : state.spread,
    co_tenancy: state.coTenancy,
  });
  return present<LaunchBody>({
    name: state.name || unnamed,
    sku_id: state.profile === undefined ? sku?.id : undefined,
    hardware_profile: state.profile,
    gpu_count: state.gpus,
    region_id: region.id,
    ssh_key_ids: keys.length > 0 ? keys.map((key) => key.id) : undefined,
    image: state.image,
    user_data: userData === '' ? undefined : userData,
    lease_ends_at: state.lease,
    labels: labels.length > 0 ? labels : undefined,
    placement: Object.keys(placement).length > 0 ? placement : undefined,
    may_recreate: state.mayRecreate ? true : undefined,
    queue: state.queue,
    priority_class: state.priorityClass,
    if_unavailable: state.ifUnavailable,
    max_run_s: state.maxRunS,
  });
}

/** The same launch as a command. */
export function launchCommand(state: LaunchState, project: string, hasUserData: boolean): string {
  const parts = ['gpuaas launch', shellWord(state.name || unnamed), `--project ${shellWord(project)}`];
  const put = (option: string, value: string | number | undefined): void => {
    if (value !== undefined && value !== '') parts.push(`--${option} ${shellWord(String(value))}`);
  };
  if (state.profile === undefined) put('sku', state.sku);
  put('hardware-profile', state.profile);
  put('gpus', state.gpus);
  put('region', state.region);
  put('pool', state.pool);
  if (state.keys !== undefined) {
    if (state.keys.length === 0) parts.push('--no-ssh-key');
    state.keys.forEach((key) => put('ssh-key', key));
  }
  put('image', state.image);
  if (hasUserData) parts.push('--user-data cloud.yaml');
  parseLabels(state.labels).forEach((label) => put('label', `${label.key}=${label.value}`));
  if (state.group !== undefined) {
    put('group', state.group);
    put('spread', state.spread);
  }
  put('co-tenancy', state.coTenancy);
  put('lease-ends-at', state.lease);
  if (state.mayRecreate) parts.push('--may-recreate');
  put('queue', state.queue);
  put('priority-class', state.priorityClass);
  put('if-unavailable', state.ifUnavailable);
  if (state.maxRunS !== undefined) put('max-run', `${state.maxRunS}s`);
  return parts.join(' ');
}
