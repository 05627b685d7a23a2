import { expect, it } from 'vitest';
import { auditQuery } from './audit-filter';

const nothing = { actor: '', action: '', subject: '', from: '', to: '' };

it('asks for everything, newest first, where nothing is typed', () => {
  expect(auditQuery(nothing)).toEqual({ order: 'newest' });
});

it('takes an action with spaces and capitals, and leaves out what is blank', () => {
  expect(auditQuery({ ...nothing, actor: ' prn_01 ', action: ' Node  drain', subject: '  ' })).toEqual({ order: 'newest', actor: 'prn_01', action: 'node_drain' });
});

it('turns local times into moments, and leaves out what is no time', () => {
  expect(auditQuery({ ...nothing, from: '2026-03-01T12:00:00Z', to: 'soon' })).toEqual({ order: 'newest', from: '2026-03-01T12:00:00Z' });
});
