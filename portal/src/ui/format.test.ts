import { describe, expect, it } from 'vitest';
import { bytes, csv, duration, gpuModel, money, relative, sentence, shellWord, utcTime } from './format';

describe('what people read', () => {
  it('money has two digits, and more where two would say nothing', () => {
    expect(money(4_980_000)).toMatch(/^4[.,]98$/);
    expect(money(0)).toMatch(/^0[.,]00$/);
    expect(money(1_200)).toMatch(/^0[.,]0012$/);
  });

  it('durations have their two largest units', () => {
    expect([0, 59, 60, 200, 3600, 3661, 90_000, 86_405].map(duration)).toEqual([
      '0 s',
      '59 s',
      '1 min',
      '3 min 20 s',
      '1 h',
      '1 h 1 min',
      '1 d 1 h',
      '1 d',
    ]);
    expect(duration(-3)).toBe('0 s');
  });

  it('moments are told from now', () => {
    const now = Date.parse('2026-01-31T12:00:00Z');
    expect(relative('2026-01-31T11:55:00Z', now)).toBe('5 min ago');
    expect(relative('2026-02-02T12:00:01Z', now)).toBe('in 2 d');
    expect(relative('2026-01-31T12:00:03Z', now)).toBe('now');
    expect(utcTime('2026-01-31T12:00:00.123Z')).toBe('2026-01-31 12:00:00 UTC');
  });

  it('sizes, words and models', () => {
    expect([512, 1024, 1536, 131_072 * 1024 * 1024].map(bytes)).toEqual(['512 B', '1 KiB', '1.5 KiB', '128 GiB']);
    expect(sentence('cleanup_blocked')).toBe('Cleanup blocked');
    expect(gpuModel('h200-sxm')).toBe('H200 SXM');
  });
});

describe('what is copied or saved', () => {
  it('words are quoted for a shell', () => {
    expect(shellWord('aurora/vision')).toBe('aurora/vision');
    expect(shellWord("it's $HOME")).toBe(`'it'\\''s $HOME'`);
    expect(shellWord('')).toBe(`''`);
  });

  it('a CSV file keeps commas and quotes, and has no formulas', () => {
    expect(csv(['a', 'b'], [['x,"y"', 1], ['=1+1', undefined], ['-', -2]])).toBe(`a,b\r\n"x,""y""",1\r\n'=1+1,\r\n'-,-2\r\n`);
  });
});
