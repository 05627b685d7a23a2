import { describe, expect, it } from 'vitest';
import { byDay, costOf, hourlyOf, secondsOf, usageOf, type Usage } from './cost';

const claim = (part: Partial<Usage>): Usage => ({
  allocation_id: 'alc_1',
  claim_id: 'clm_1',
  from: '2026-01-30T22:00:00.000Z',
  gpus: 2,
  micros: 0,
  price_micros_per_gpu_hour: 1_000_000,
  shape: 'gpu_slice',
  sku: 'h200',
  sku_id: 'sku_1',
  ...part,
});
const now = Date.parse('2026-01-31T01:00:00.000Z');

describe('what usage comes to', () => {
  it('what ended is as it was billed, what goes on is counted up to now', () => {
    expect(costOf([claim({})], now)).toBe(6_000_000);
    expect(costOf([claim({ to: '2026-01-30T23:00:00.000Z', micros: 1_999_999 })], now)).toBe(1_999_999);
    expect(hourlyOf([claim({}), claim({ to: '2026-01-30T23:00:00.000Z' })])).toBe(2_000_000);
    expect(secondsOf([claim({})], now)).toBe(10_800);
    expect(usageOf([claim({}), claim({ allocation_id: 'alc_2' })], 'alc_2')).toHaveLength(1);
  });

  it('is cut at midnight, and days without use are there', () => {
    const days = byDay([claim({ to: '2026-01-31T01:00:00.000Z' })], Date.parse('2026-01-29T00:00:00Z'), Date.parse('2026-02-01T00:00:00Z'));
    expect(days).toEqual([
      { day: '2026-01-29', gpuHours: 0, micros: 0 },
      { day: '2026-01-30', gpuHours: 4, micros: 4_000_000 },
      { day: '2026-01-31', gpuHours: 2, micros: 2_000_000 },
    ]);
  });
});
