import { expect, it } from 'vitest';
import type { Schemas } from '../../api/client';
import { matchesAudit } from './audit-filter';

const entry = { actor: 'prn_01', action: 'node_drain', subject: 'nod_02', at: '2026-03-01T12:00:00Z' } as Schemas['AuditView'];
const nothing = { actor: '', action: '', subject: '', from: '', to: '' };

it('matches by parts of words, with spaces or underscores', () => {
  expect(matchesAudit(entry, nothing)).toBe(true);
  expect(matchesAudit(entry, { ...nothing, action: 'Node dr' })).toBe(true);
  expect(matchesAudit(entry, { ...nothing, action: 'node_drain', subject: 'NOD' })).toBe(true);
  expect(matchesAudit(entry, { ...nothing, actor: 'prn_02' })).toBe(false);
});

it('keeps to the times given', () => {
  expect(matchesAudit(entry, { ...nothing, from: '2026-03-01T12:00:01Z' })).toBe(false);
  expect(matchesAudit(entry, { ...nothing, from: '2026-03-01T11:00:00Z', to: '2026-03-01T12:00:00Z' })).toBe(true);
  expect(matchesAudit(entry, { ...nothing, to: '2026-03-01T11:59:59Z' })).toBe(false);
});
