// The third step of a launch: who may sign in, what it is made of, disks, network, and what is seldom needed.
import type { Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import * as things from '../../api/things';
import { strings } from '../../strings';
import { Checkbox, Select, TextField } from '../../ui/controls';
import { bytes } from '../../ui/format';
import { Disclosure, Facts } from '../../ui/pieces';
import { Note } from '../../ui/states';
import type { LaunchChange, LaunchState } from './launch-state';
import { AddKey } from './SshKeys';

const words = strings.tenant.launch;

interface AccessProps {
  projectId: string;
  state: LaunchState;
  change: (part: LaunchChange) => void;
  keys: readonly Schemas['SshKeyView'][];
  sku: Schemas['SkuView'] | undefined;
  /** Where it may land. */
  pools: readonly Schemas['PoolView'][];
  userData: string;
  setUserData: (text: string) => void;
}

function Keys({ projectId, state, change, keys }: Pick<AccessProps, 'projectId' | 'state' | 'change' | 'keys'>) {
  const chosen = (name: string): boolean => state.keys === undefined || state.keys.includes(name);
  const toggle = (name: string, on: boolean): void => {
    const before = state.keys ?? keys.map((key) => key.name);
    const after = on ? [...before, name] : before.filter((each) => each !== name);
    change({ keys: after });
  };
  return (
    <fieldset className="group">
      <legend className="field-label">{words.keys}</legend>
      {keys.length === 0 ? (
        <Note tone="warn" title={words.noKeys}>
          <p>{words.noKeysDetail}</p>
        </Note>
      ) : (
        keys.map((key) => (
          <Checkbox key={key.id} selected={chosen(key.name)} onChange={(on) => toggle(key.name, on)}>
            {key.name} <code className="soft">{key.fingerprint.slice(0, 22)}…</code>
          </Checkbox>
        ))
      )}
      <div>
        <AddKey tone="plain" projectId={projectId} onAdded={(key) => state.keys !== undefined && change({ keys: [...state.keys, key.name] })} />
      </div>
    </fieldset>
  );
}

function Image({ state, change }: Pick<AccessProps, 'state' | 'change'>) {
  const images = useRead(things.images);
  const usable = (images.data?.items ?? []).filter((image) => image.state === 'available');
  const fallback = usable.find((image) => image.is_default);
  return (
    <Select
      label={words.image}
      value={state.image ?? 'default'}
      onChange={(id) => change({ image: id === 'default' ? undefined : id })}
      options={[
        { id: 'default', label: fallback ? words.defaultImage(fallback.id) : words.platformImage },
        ...usable.map((image) => ({ id: image.id, label: image.id, detail: words.imageDetail(image.entry.kind, bytes(image.entry.virtual_size_bytes)) })),
      ]}
    />
  );
}

/** A moment for an input of the browser, in local time; and back. */
function toInput(at: string | undefined): string {
  if (at === undefined) return '';
  const local = new Date(at);
  return new Date(local.getTime() - local.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function fromInput(text: string): string | undefined {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? undefined : `${at.toISOString().slice(0, 19)}Z`;
}

function Seldom({ state, change, userData, setUserData }: Pick<AccessProps, 'state' | 'change' | 'userData' | 'setUserData'>) {
  const optional = (text: string): string | undefined => (text === '' ? undefined : text);
  return (
    <div className="form">
      <div className="form-grid">
        <TextField
          label={words.lease}
          hint={words.leaseHint}
          type="datetime-local"
          value={toInput(state.lease)}
          onChange={(text) => change({ lease: fromInput(text) })}
        />
        <TextField label={words.labels} hint={words.labelsHint} value={state.labels} onChange={(labels) => change({ labels })} placeholder="team=vision" />
        <TextField label={words.group} hint={words.groupHint} value={state.group ?? ''} onChange={(group) => change({ group: optional(group) })} />
        {state.group !== undefined && (
          <Select
            label={words.spread}
            value={state.spread ?? 'none'}
            onChange={(id) => change({ spread: id as Schemas['Spread'] })}
            options={Object.entries(strings.codes.spread).map(([id, label]) => ({ id, label }))}
          />
        )}
      </div>
      <Checkbox selected={state.coTenancy === 'same_tenant'} onChange={(on) => change({ coTenancy: on ? 'same_tenant' : undefined })}>
        {words.sameTenant}
      </Checkbox>
      <Checkbox selected={state.mayRecreate} onChange={(mayRecreate) => change({ mayRecreate })}>
        {words.mayRecreate}
      </Checkbox>
      <TextField label={words.userData} hint={words.userDataHint} multiline value={userData} onChange={setUserData} placeholder="#cloud-config" />
    </div>
  );
}

/** What comes with it and cannot be chosen: disk, network, processors, memory. Each says what it is and why there is no choice. */
function ComesWith({ state, sku, pools }: Pick<AccessProps, 'state' | 'sku' | 'pools'>) {
  const profiles = useRead(things.slotProfiles);
  const profile = profiles.data?.items.find((each) => each.slug === sku?.profile);
  const ranges = [...new Set(pools.flatMap((pool) => (pool.private_range ? [pool.private_range] : [])))];
  const whole = state.shape === 'baremetal';
  const disk = whole ? words.storageMetal : profile && profile.min_disk_bytes > 0 ? words.storageOf(bytes(profile.min_disk_bytes)) : words.storageSlice;
  const wire = ranges.length > 0 ? words.networkRange(ranges.join(', ')) : words.networkPrivate;
  const fabric = whole ? words.fabricMetal : profile?.needs_fabric ? words.fabricSlice : undefined;
  return (
    <Facts
      of={[
        [words.storage, <Fixed key="disk" what={disk} why={whole ? words.storageFixedMetal : words.storageFixed} />],
        [words.network, <Fixed key="network" what={fabric === undefined ? wire : `${wire} ${fabric}`} why={words.networkFixed} />],
        [words.comesWith, sku && state.gpus !== undefined && words.resources(sku.vcpus_per_gpu * state.gpus, bytes(sku.memory_mib_per_gpu * state.gpus * 1024 * 1024))],
      ]}
    />
  );
}

function Fixed({ what, why }: { what: string; why: string }) {
  return (
    <>
      {what} <span className="small soft">{why}</span>
    </>
  );
}

/** The step. */
export function LaunchAccess({ projectId, state, change, keys, sku, pools, userData, setUserData }: AccessProps) {
  return (
    <>
      <TextField
        label={words.name}
        hint={words.nameHint}
        value={state.name}
        onChange={(name) => change({ name })}
        error={state.name !== '' && !/^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$/.test(state.name) ? words.nameWrong : undefined}
        required
      />
      <Keys projectId={projectId} state={state} change={change} keys={keys} />
      <Image state={state} change={change} />
      <ComesWith state={state} sku={sku} pools={pools} />
      <Disclosure title={words.seldom} open={state.lease !== undefined || state.group !== undefined || state.labels !== ''}>
        <Seldom state={state} change={change} userData={userData} setUserData={setUserData} />
      </Disclosure>
    </>
  );
}
