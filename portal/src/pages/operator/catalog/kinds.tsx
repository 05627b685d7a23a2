// The kinds of things in the catalogue: what each list shows, and how one of them is read, changed and taken away. One table
// for all kinds, so that their pages look and behave the same.
import type { ReactNode } from 'react';
import { answer, api, ifMatch, pageQuery, readAll, wish, type Schemas, type Whole } from '../../../api/client';
import * as operator from '../../../api/operator';
import type { Read } from '../../../api/reads';
import * as things from '../../../api/things';
import { strings } from '../../../strings';
import { bytes, gpuModel } from '../../../ui/format';
import { CopyField, Money, StateBadge } from '../../../ui/pieces';
import type { Cell } from '../../../ui/table-rows';
import { Ref, word, YesNo } from '../parts';

const words = strings.operator.catalog;

/** One fact of a thing: in a column of the list when `column` is set, and on its page. */
export interface Fact {
  id: keyof typeof words.facts;
  value: Cell;
  shown?: ReactNode;
  column?: boolean;
  end?: boolean;
}

/** A field that can be changed. */
export interface Editable {
  id: string;
  label: keyof typeof words.facts;
  kind: 'text' | 'number' | 'switch';
  value: string;
}

/** A thing of any kind, ready to be shown. */
export interface Item {
  id: string;
  name: string;
  version: number;
  createdAt?: string;
  facts: Fact[];
  /** Fields of a simple form, and how they are sent. */
  edit?: { fields: Editable[]; save: (values: Record<string, string>) => Promise<unknown> };
  /** The whole thing as a document, and how it is sent. */
  document?: { value: unknown; save: (value: unknown) => Promise<unknown> };
  remove?: () => Promise<unknown>;
  /** Besides changing and removing. */
  acts?: { id: keyof typeof words.acts; danger?: boolean; run: () => Promise<unknown> }[];
}

/** A kind. */
export interface Kind {
  id: keyof typeof words.kinds;
  path: string;
  cli?: string;
  read: Read<Whole<Item>>;
  /** How a new one is made from a document; kinds without it are made elsewhere. */
  create?: (value: unknown) => Promise<unknown>;
}

function mapped<T>(read: Read<Whole<T>>, item: (thing: T) => Item): Read<Whole<Item>> {
  return {
    ...read,
    key: [...read.key, 'items'],
    read: async () => {
      const list = await read.read();
      return { ...list, items: list.items.map(item) };
    },
  };
}

const yes = (value: boolean): Fact['shown'] => <YesNo value={value} />;
const on = (value: boolean): string => (value ? 'true' : 'false');

function skuItem(sku: Schemas['SkuView']): Item {
  const path = { sku_id: sku.id };
  return {
    id: sku.id,
    name: sku.slug,
    version: sku.version,
    createdAt: sku.created_at,
    facts: [
      { id: 'name', value: sku.name, column: true },
      { id: 'enabled', value: on(sku.enabled), shown: <StateBadge state={sku.enabled ? 'open' : 'closed'} />, column: true },
      { id: 'shape', value: word(sku.shape), column: true },
      { id: 'model', value: gpuModel(sku.gpu_model), column: true },
      { id: 'counts', value: sku.gpu_counts.join(', '), column: true },
      { id: 'price', value: sku.price_micros_per_gpu_hour, shown: <Money micros={sku.price_micros_per_gpu_hour} />, column: true, end: true },
      { id: 'vcpus', value: sku.vcpus_per_gpu },
      { id: 'memory', value: sku.memory_mib_per_gpu, shown: bytes(sku.memory_mib_per_gpu * 1024 * 1024) },
      { id: 'profile', value: sku.profile },
    ],
    edit: {
      fields: [
        { id: 'name', label: 'name', kind: 'text', value: sku.name },
        { id: 'price', label: 'priceMicros', kind: 'number', value: String(sku.price_micros_per_gpu_hour) },
        { id: 'enabled', label: 'enabled', kind: 'switch', value: on(sku.enabled) },
      ],
      save: (values) =>
        answer(
          api.PATCH('/api/v1/skus/{sku_id}', {
            params: { path, header: ifMatch(sku) },
            body: { name: values.name ?? sku.name, price_micros_per_gpu_hour: Number(values.price), enabled: values.enabled === 'true' },
          }),
        ),
    },
    remove: () => answer(api.DELETE('/api/v1/skus/{sku_id}', { params: { path, header: ifMatch(sku) } })),
  };
}

function regionItem(region: Schemas['RegionView']): Item {
  const path = { region_id: region.id };
  return {
    id: region.id,
    name: region.slug,
    version: region.version,
    createdAt: region.created_at,
    facts: [
      { id: 'name', value: region.name, column: true },
      { id: 'enabled', value: on(region.enabled), shown: <StateBadge state={region.enabled ? 'open' : 'closed'} />, column: true },
    ],
    edit: {
      fields: [
        { id: 'name', label: 'name', kind: 'text', value: region.name },
        { id: 'enabled', label: 'enabled', kind: 'switch', value: on(region.enabled) },
      ],
      save: (values) => answer(api.PATCH('/api/v1/regions/{region_id}', { params: { path, header: ifMatch(region) }, body: { name: values.name ?? region.name, enabled: values.enabled === 'true' } })),
    },
    remove: () => answer(api.DELETE('/api/v1/regions/{region_id}', { params: { path, header: ifMatch(region) } })),
  };
}

function poolItem(pool: Schemas['PoolView']): Item {
  const path = { pool_id: pool.id };
  return {
    id: pool.id,
    name: pool.slug,
    version: pool.version,
    createdAt: pool.created_at,
    facts: [
      { id: 'name', value: pool.name, column: true },
      { id: 'model', value: gpuModel(pool.gpu_model), column: true },
      { id: 'slices', value: on(pool.slices_enabled), shown: yes(pool.slices_enabled), column: true },
      { id: 'range', value: pool.private_range, column: true },
      { id: 'region', value: pool.region_id, shown: <Ref id={pool.region_id} /> },
    ],
    edit: {
      fields: [
        { id: 'name', label: 'name', kind: 'text', value: pool.name },
        { id: 'range', label: 'range', kind: 'text', value: pool.private_range ?? '' },
        { id: 'slices', label: 'slices', kind: 'switch', value: on(pool.slices_enabled) },
      ],
      save: (values) =>
        answer(
          api.PATCH('/api/v1/pools/{pool_id}', {
            params: { path, header: ifMatch(pool) },
            body: { name: values.name ?? pool.name, slices_enabled: values.slices === 'true', ...(values.range ? { private_range: values.range } : {}) },
          }),
        ),
    },
    remove: () => answer(api.DELETE('/api/v1/pools/{pool_id}', { params: { path, header: ifMatch(pool) } })),
  };
}

function imageItem(image: Schemas['ImageView']): Item {
  const path = { image_id: image.id };
  return {
    id: image.id,
    name: image.id,
    version: image.version,
    createdAt: image.created_at,
    facts: [
      { id: 'state', value: image.state, shown: <StateBadge state={image.state} />, column: true },
      { id: 'kind', value: word(image.entry.kind), column: true },
      { id: 'default', value: on(image.is_default), shown: yes(image.is_default), column: true },
      { id: 'size', value: image.entry.size_bytes, shown: bytes(image.entry.size_bytes), column: true, end: true },
      { id: 'minimumDisk', value: image.entry.minimum_disk_bytes, shown: bytes(image.entry.minimum_disk_bytes) },
      { id: 'format', value: image.entry.format },
      { id: 'signer', value: image.entry.signer_key_id },
      { id: 'digest', value: image.entry.sha256, shown: <CopyField text={image.entry.sha256} what={words.facts.digest} /> },
      { id: 'said', value: image.projected },
    ],
    acts:
      image.state === 'retired'
        ? []
        : [
            ...(image.is_default || image.state !== 'available'
              ? []
              : [{ id: 'makeDefault' as const, run: () => answer(api.PATCH('/api/v1/images/{image_id}', { params: { path, header: ifMatch(image) }, body: { is_default: true } })) }]),
            { id: 'retire', danger: true, run: () => answer(api.POST('/api/v1/images/{image_id}/retire', { params: { path, header: { ...wish(), ...ifMatch(image) } } })) },
          ],
  };
}

function profileItem(profile: Schemas['SlotProfileView']): Item {
  const path = { profile: profile.slug };
  return {
    id: profile.slug,
    name: profile.slug,
    version: profile.version,
    createdAt: profile.created_at,
    facts: [
      { id: 'name', value: profile.name, column: true },
      { id: 'model', value: gpuModel(profile.gpu_model), column: true },
      { id: 'vcpus', value: profile.vcpus, column: true, end: true },
      { id: 'memory', value: profile.memory_mib, shown: bytes(profile.memory_mib * 1024 * 1024), column: true, end: true },
      { id: 'minimumDisk', value: profile.min_disk_bytes, shown: bytes(profile.min_disk_bytes) },
      { id: 'needsFabric', value: on(profile.needs_fabric), shown: yes(profile.needs_fabric) },
      { id: 'needsGpu', value: on(profile.needs_gpu), shown: yes(profile.needs_gpu) },
    ],
    edit: {
      fields: [
        { id: 'name', label: 'name', kind: 'text', value: profile.name },
        { id: 'vcpus', label: 'vcpus', kind: 'number', value: String(profile.vcpus) },
        { id: 'memory', label: 'memoryMib', kind: 'number', value: String(profile.memory_mib) },
      ],
      save: (values) =>
        answer(api.PATCH('/api/v1/slot-profiles/{profile}', { params: { path, header: ifMatch(profile) }, body: { name: values.name ?? profile.name, vcpus: Number(values.vcpus), memory_mib: Number(values.memory) } })),
    },
  };
}

function imageKeyItem(key: Schemas['ImageKeyView']): Item {
  return {
    id: key.key_id,
    name: key.key_id,
    version: key.version,
    createdAt: key.created_at,
    facts: [
      { id: 'state', value: key.revoked_at ? 'revoked' : 'active', shown: <StateBadge state={key.revoked_at ? 'revoked' : 'active'} />, column: true },
      { id: 'addedBy', value: key.added_by, column: true, shown: <Ref id={key.added_by} /> },
      { id: 'publicKey', value: key.public_key, shown: <CopyField text={key.public_key} what={words.facts.publicKey} /> },
    ],
    ...(key.revoked_at ? {} : { remove: () => answer(api.DELETE('/api/v1/image-keys/{key_id}', { params: { path: { key_id: key.key_id }, header: ifMatch(key) } })) }),
  };
}

interface Governed<S> {
  spec: S;
  version: number;
  created_at: string;
}

/** An object of governance: all of it is its document. */
function governedItem<S extends { slug: string }>(view: Governed<S>, facts: Fact[], put: (slug: string, spec: S, header: { 'If-Match': string }) => Promise<unknown>, remove: (slug: string, header: { 'If-Match': string }) => Promise<unknown>): Item {
  return {
    id: view.spec.slug,
    name: view.spec.slug,
    version: view.version,
    createdAt: view.created_at,
    facts,
    document: { value: view.spec, save: (value) => put(view.spec.slug, value as S, ifMatch(view)) },
    remove: () => remove(view.spec.slug, ifMatch(view)),
  };
}

const slugOf = (value: unknown): string => (value as { slug?: string } | null)?.slug ?? '';

const flavors: Kind = {
  id: 'flavors',
  path: '/api/v1/flavors',
  cli: 'gpuaas flavor list',
  create: (value) => answer(api.PUT('/api/v1/flavors/{flavor}', { params: { path: { flavor: slugOf(value) } }, body: value as Schemas['Flavor'] })),
  read: mapped(
    { key: ['operator', 'flavors'], touches: { nouns: ['flavor'] }, read: () => readAll((token) => answer(api.GET('/api/v1/flavors', { params: { query: pageQuery(token) } }))) },
    (view: Schemas['FlavorView']) =>
      governedItem(
        view,
        [
          { id: 'model', value: view.spec.gpu_model && gpuModel(view.spec.gpu_model), column: true },
          { id: 'pool', value: view.spec.pool, column: true },
          { id: 'speed', value: view.spec.speed_milli === undefined ? undefined : view.spec.speed_milli / 1000, column: true, end: true },
          { id: 'topology', value: view.spec.topology, column: true },
        ],
        (flavor, body, header) => answer(api.PUT('/api/v1/flavors/{flavor}', { params: { path: { flavor }, header }, body })),
        (flavor, header) => answer(api.DELETE('/api/v1/flavors/{flavor}', { params: { path: { flavor }, header } })),
      ),
  ),
};

const priorityClasses: Kind = {
  id: 'priority-classes',
  path: '/api/v1/priority-classes',
  cli: 'gpuaas priority-class list',
  create: (value) => answer(api.PUT('/api/v1/priority-classes/{priority_class}', { params: { path: { priority_class: slugOf(value) } }, body: value as Schemas['PriorityClass'] })),
  read: mapped(
    { key: ['operator', 'priority-classes'], touches: { nouns: ['priority_class'] }, read: () => readAll((token) => answer(api.GET('/api/v1/priority-classes', { params: { query: pageQuery(token) } }))) },
    (view: Schemas['PriorityClassView']) =>
      governedItem(
        view,
        [
          { id: 'value', value: view.spec.value, column: true, end: true },
          { id: 'default', value: on(view.spec.default ?? false), shown: yes(view.spec.default ?? false), column: true },
          { id: 'preempts', value: on(view.spec.preempts ?? true), shown: yes(view.spec.preempts ?? true), column: true },
        ],
        (priority_class, body, header) => answer(api.PUT('/api/v1/priority-classes/{priority_class}', { params: { path: { priority_class }, header }, body })),
        (priority_class, header) => answer(api.DELETE('/api/v1/priority-classes/{priority_class}', { params: { path: { priority_class }, header } })),
      ),
  ),
};

const hardwareProfiles: Kind = {
  id: 'hardware-profiles',
  path: '/api/v1/hardware-profiles',
  cli: 'gpuaas hardware-profile list',
  create: (value) => answer(api.PUT('/api/v1/hardware-profiles/{hardware_profile}', { params: { path: { hardware_profile: slugOf(value) } }, body: value as Schemas['HardwareProfile'] })),
  read: mapped(
    { key: ['operator', 'hardware-profiles'], touches: { nouns: ['hardware_profile'] }, read: () => readAll((token) => answer(api.GET('/api/v1/hardware-profiles', { params: { query: pageQuery(token) } }))) },
    (view: Schemas['HardwareProfileView']) =>
      governedItem(
        view,
        [
          { id: 'name', value: view.spec.name, column: true },
          { id: 'flavors', value: (view.spec.flavors ?? []).join(', '), column: true },
          { id: 'counts', value: `${view.spec.gpu_count_min ?? 1} – ${view.spec.gpu_count_max ?? view.spec.gpu_count_default ?? ''}`, column: true },
          { id: 'enabled', value: on(view.spec.enabled ?? true), shown: <StateBadge state={(view.spec.enabled ?? true) ? 'open' : 'closed'} />, column: true },
        ],
        (hardware_profile, body, header) => answer(api.PUT('/api/v1/hardware-profiles/{hardware_profile}', { params: { path: { hardware_profile }, header }, body })),
        (hardware_profile, header) => answer(api.DELETE('/api/v1/hardware-profiles/{hardware_profile}', { params: { path: { hardware_profile }, header } })),
      ),
  ),
};

const topologies: Kind = {
  id: 'topologies',
  path: '/api/v1/admin/topologies',
  create: (value) => answer(api.PUT('/api/v1/admin/topologies/{topology}', { params: { path: { topology: slugOf(value) } }, body: value as Schemas['Topology'] })),
  read: mapped(
    { key: ['operator', 'topologies'], touches: { nouns: ['topology'] }, read: () => readAll((token) => answer(api.GET('/api/v1/admin/topologies', { params: { query: pageQuery(token) } }))) },
    (view: Schemas['TopologyView']) =>
      governedItem(
        view,
        [{ id: 'levels', value: view.spec.levels.join(' › '), column: true }],
        (topology, body, header) => answer(api.PUT('/api/v1/admin/topologies/{topology}', { params: { path: { topology }, header }, body })),
        (topology, header) => answer(api.DELETE('/api/v1/admin/topologies/{topology}', { params: { path: { topology }, header } })),
      ),
  ),
};

const cohorts: Kind = {
  id: 'cohorts',
  path: '/api/v1/admin/cohorts',
  cli: 'gpuaas cohort list',
  create: (value) => answer(api.PUT('/api/v1/admin/cohorts/{cohort}', { params: { path: { cohort: slugOf(value) } }, body: value as Schemas['Cohort'] })),
  read: mapped(
    { key: ['operator', 'cohorts'], touches: { nouns: ['cohort'] }, read: () => readAll((token) => answer(api.GET('/api/v1/admin/cohorts', { params: { query: pageQuery(token) } }))) },
    (view: Schemas['CohortView']) =>
      governedItem(
        view,
        [
          { id: 'parent', value: view.spec.parent, column: true },
          { id: 'weight', value: (view.spec.weight_milli ?? 1000) / 1000, column: true, end: true },
        ],
        (cohort, body, header) => answer(api.PUT('/api/v1/admin/cohorts/{cohort}', { params: { path: { cohort }, header }, body })),
        (cohort, header) => answer(api.DELETE('/api/v1/admin/cohorts/{cohort}', { params: { path: { cohort }, header } })),
      ),
  ),
};

const clusterQueues: Kind = {
  id: 'cluster-queues',
  path: '/api/v1/admin/cluster-queues',
  cli: 'gpuaas queue list',
  create: (value) => answer(api.PUT('/api/v1/admin/cluster-queues/{cluster_queue}', { params: { path: { cluster_queue: slugOf(value) } }, body: value as Schemas['ClusterQueue'] })),
  read: mapped(
    { key: ['operator', 'cluster-queues'], touches: { nouns: ['cluster_queue'] }, read: () => readAll((token) => answer(api.GET('/api/v1/admin/cluster-queues', { params: { query: pageQuery(token) } }))) },
    (view: Schemas['ClusterQueueView']) =>
      governedItem(
        view,
        [
          { id: 'cohort', value: view.spec.cohort, column: true },
          { id: 'ordering', value: view.spec.ordering && word(view.spec.ordering), column: true },
          { id: 'stop', value: view.spec.stop && word(view.spec.stop), column: true },
          { id: 'weight', value: (view.spec.weight_milli ?? 1000) / 1000, column: true, end: true },
        ],
        (cluster_queue, body, header) => answer(api.PUT('/api/v1/admin/cluster-queues/{cluster_queue}', { params: { path: { cluster_queue }, header }, body })),
        (cluster_queue, header) => answer(api.DELETE('/api/v1/admin/cluster-queues/{cluster_queue}', { params: { path: { cluster_queue }, header } })),
      ),
  ),
};

/** All kinds, in the order of the tabs. */
export const kinds: readonly Kind[] = [
  { id: 'skus', path: '/api/v1/skus', cli: 'gpuaas sku list', read: mapped(things.skus, skuItem) },
  {
    id: 'regions',
    path: '/api/v1/regions',
    cli: 'gpuaas region list',
    read: mapped(things.regions, regionItem),
    create: (value) => answer(api.POST('/api/v1/regions', { params: { header: wish() }, body: value as Schemas['RegionCreateBody'] })),
  },
  {
    id: 'pools',
    path: '/api/v1/pools',
    cli: 'gpuaas pool list',
    read: mapped(things.pools, poolItem),
    create: (value) => answer(api.POST('/api/v1/pools', { params: { header: wish() }, body: value as Schemas['PoolCreateBody'] })),
  },
  { id: 'images', path: '/api/v1/images', cli: 'gpuaas image list', read: mapped(things.images, imageItem) },
  { id: 'image-keys', path: '/api/v1/image-keys', read: mapped(operator.imageKeys, imageKeyItem) },
  { id: 'slot-profiles', path: '/api/v1/slot-profiles', cli: 'gpuaas slot-profile list', read: mapped(things.slotProfiles, profileItem) },
  flavors,
  priorityClasses,
  hardwareProfiles,
  cohorts,
  clusterQueues,
  topologies,
];
