// Which entries of the audit trail match a search. Pure.
import type { Schemas } from '../../api/client';

/** What is searched for; empty fields match everything. `from` and `to` are local times as a date field gives them. */
export interface AuditFilter {
  actor: string;
  action: string;
  subject: string;
  from: string;
  to: string;
}

const within = (text: string, part: string): boolean => text.toLowerCase().includes(part.trim().toLowerCase());

/** Whether an entry matches. Words of an action may be written with spaces. */
export function matchesAudit(entry: Schemas['AuditView'], filter: AuditFilter): boolean {
  if (!within(entry.actor, filter.actor) || !within(entry.subject, filter.subject)) return false;
  if (!within(entry.action.replaceAll('_', ' '), filter.action.replaceAll('_', ' '))) return false;
  const at = Date.parse(entry.at);
  if (filter.from && at < Date.parse(filter.from)) return false;
  return !filter.to || at <= Date.parse(filter.to);
}
