import { describe, expect, it } from 'vitest';
import { countsOf, formatLaunch, launchBody, launchCommand, parseLabels, parseLaunch, type LaunchState } from './launch-state';

const full: LaunchState = {
  shape: 'gpu_slice',
  sku: 'h200-sxm-slice',
  gpus: 4,
  region: 'eu-north',
  pool: 'h200-slices',
  name: 'trainer',
  keys: ['laptop', 'desk'],
  image: 'debian-12',
  lease: '2026-12-01T12:00:00Z',
  group: 'web',
  spread: 'require',
  coTenancy: 'same_tenant',
  mayRecreate: true,
  labels: 'team=vision owner=ada',
  queue: 'main',
  priorityClass: 'urgent',
  ifUnavailable: 'queue',
  maxRunS: 7200,
};
const known = {
  skus: [{ id: 'sku_1', slug: 'h200-sxm-slice' }],
  regions: [{ id: 'rgn_1', slug: 'eu-north' }],
  pools: [{ id: 'pol_1', slug: 'h200-slices' }],
  keys: [
    { id: 'key_1', name: 'laptop' },
    { id: 'key_2', name: 'desk' },
    { id: 'key_3', name: 'other' },
  ],
};
const least: LaunchState = { shape: 'gpu_slice', name: '', mayRecreate: false, labels: '' };

describe('a launch', () => {
  it('is the same after it went through an address', () => {
    expect(parseLaunch(formatLaunch(full))).toEqual(full);
    expect(parseLaunch(new URLSearchParams(formatLaunch(full).toString()))).toEqual(full);
    expect(parseLaunch(formatLaunch({ ...least, keys: [] }))).toEqual({ ...least, keys: [] });
  });

  it('begins as a slice, and leaves out what it does not understand', () => {
    expect(parseLaunch(new URLSearchParams('gpus=-1&spread=sideways&if-unavailable=perhaps&max-run=1e9'))).toEqual(least);
  });

  it('names a hardware profile instead of a SKU, in the request, the address and the command', () => {
    const profiled: LaunchState = { ...full, profile: 'any-gpu' };
    expect(parseLaunch(formatLaunch(profiled))).toEqual(profiled);
    const body = launchBody({ ...profiled, sku: 'gone' }, known, '');
    expect(body).toMatchObject({ hardware_profile: 'any-gpu', gpu_count: 4 });
    expect(body).not.toHaveProperty('sku_id');
    expect(launchCommand(profiled, 'aurora/vision', false)).toMatch(/--hardware-profile any-gpu --gpus 4/);
    expect(launchCommand(profiled, 'aurora/vision', false)).not.toMatch(/--sku/);
  });

  it('has the sizes of a hardware profile that are sold as slices, within its bounds', () => {
    const skus = [
      { shape: 'gpu_slice' as const, enabled: true, gpu_counts: [1, 2, 4, 8] },
      { shape: 'gpu_slice' as const, enabled: true, gpu_counts: [4, 6] },
      { shape: 'gpu_slice' as const, enabled: false, gpu_counts: [3] },
      { shape: 'baremetal' as const, enabled: true, gpu_counts: [5] },
    ];
    const profile = { slug: 'any-gpu', name: 'Any GPU', enabled: true, gpu_count_default: 1, gpu_count_min: 2, gpu_count_max: 6 };
    expect(countsOf(profile, skus)).toEqual([2, 4, 6]);
  });

  it('becomes a request once SKU, count and region are known', () => {
    expect(launchBody(least, known, '')).toBeUndefined();
    expect(launchBody({ ...full, region: 'nowhere' }, known, '')).toBeUndefined();
    expect(launchBody(full, known, '#cloud-config')).toEqual({
      name: 'trainer',
      sku_id: 'sku_1',
      gpu_count: 4,
      region_id: 'rgn_1',
      ssh_key_ids: ['key_1', 'key_2'],
      image: 'debian-12',
      user_data: '#cloud-config',
      lease_ends_at: '2026-12-01T12:00:00Z',
      labels: [
        { key: 'team', value: 'vision' },
        { key: 'owner', value: 'ada' },
      ],
      placement: { pool_id: 'pol_1', group: 'web', spread: 'require', co_tenancy: 'same_tenant' },
      may_recreate: true,
      queue: 'main',
      priority_class: 'urgent',
      if_unavailable: 'queue',
      max_run_s: 7200,
    });
  });

  it('takes all keys when none is named, and has no field without a value', () => {
    const body = launchBody({ ...least, sku: 'h200-sxm-slice', gpus: 1, region: 'eu-north', spread: 'near' }, known, '');
    expect(body).toEqual({ name: 'launch', sku_id: 'sku_1', gpu_count: 1, region_id: 'rgn_1', ssh_key_ids: ['key_1', 'key_2', 'key_3'] });
  });

  it('becomes a command that says the same', () => {
    expect(launchCommand(full, 'aurora/vision', true)).toBe(
      'gpuaas launch trainer --project aurora/vision --sku h200-sxm-slice --gpus 4 --region eu-north --pool h200-slices --ssh-key laptop --ssh-key desk' +
        ' --image debian-12 --user-data cloud.yaml --label team=vision --label owner=ada --group web --spread require --co-tenancy same_tenant' +
        ' --lease-ends-at 2026-12-01T12:00:00Z --may-recreate --queue main --priority-class urgent --if-unavailable queue --max-run 7200s',
    );
    expect(launchCommand({ ...least, keys: [] }, 'a/b', false)).toBe('gpuaas launch launch --project a/b --no-ssh-key');
  });

  it('reads labels, and leaves out words without a value', () => {
    expect(parseLabels(' a=1, b=x=y  c d= =e')).toEqual([
      { key: 'a', value: '1' },
      { key: 'b', value: 'x=y' },
    ]);
  });
});
