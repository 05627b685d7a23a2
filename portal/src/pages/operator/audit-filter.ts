// What is searched for in the audit trail, as the API takes it. Pure.
import type { operations } from '../../api/schema';

/** What somebody typed; empty fields match everything. `from` and `to` are local times as a date field gives them. */
export interface AuditFilter {
  actor: string;
  action: string;
  subject: string;
  from: string;
  to: string;
}

/** The query of a search. */
export type AuditQuery = NonNullable<operations['audit_list']['parameters']['query']>;

/** A local time as the API takes it; nothing for a time that is none. */
function moment(local: string): string | undefined {
  const at = new Date(local);
  return Number.isNaN(at.getTime()) ? undefined : `${at.toISOString().slice(0, 19)}Z`;
}

/** The search, newest first. Words of an action may be written with spaces. */
export function auditQuery(filter: AuditFilter): AuditQuery {
  const action = filter.action.trim().toLowerCase().replaceAll(/\s+/g, '_');
  const [actor, subject, from, to] = [filter.actor.trim(), filter.subject.trim(), moment(filter.from), moment(filter.to)];
  return {
    order: 'newest',
    ...(actor === '' ? {} : { actor }),
    ...(action === '' ? {} : { action }),
    ...(subject === '' ? {} : { subject }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
}
