// The audit trail. The API gives it oldest first in pages; it is read on as far as the reader asks, and searched in what was
// read.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer, api, pageSize, type Schemas } from '../../api/client';
import { strings } from '../../strings';
import { Button, TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { Page } from '../../ui/Page';
import { CopyField, Time } from '../../ui/pieces';
import { Empty, Loading, Note, Refused } from '../../ui/states';
import { matchesAudit, type AuditFilter } from './audit-filter';
import { Ref, word } from './parts';

const words = strings.operator.audit;
type Entry = Schemas['AuditView'];

const nothing: AuditFilter = { actor: '', action: '', subject: '', from: '', to: '' };

/** The page. */
export function Component() {
  const [filter, setFilter] = useState<AuditFilter>(nothing);
  const pages = useInfiniteQuery({
    queryKey: ['operator', 'audit'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => answer(api.GET('/api/v1/audit', { params: { query: { page_size: pageSize, ...(pageParam ? { page_token: pageParam } : {}) } } })),
    getNextPageParam: (page) => page.next_page_token,
  });
  const read = pages.data?.pages.flatMap((page) => page.items) ?? [];
  const shown = read.filter((entry) => matchesAudit(entry, filter));
  const set = (name: keyof AuditFilter, value: string): void => setFilter((before) => ({ ...before, [name]: value }));
  const columns: Column<Entry>[] = [
    { id: 'sequence', title: words.sequence, align: 'end', value: (entry) => entry.sequence },
    { id: 'at', title: words.at, value: (entry) => entry.at, render: (entry) => <Time at={entry.at} /> },
    { id: 'actor', title: words.actor, value: (entry) => entry.actor, render: (entry) => <Ref id={entry.actor} /> },
    { id: 'action', title: words.action, value: (entry) => word(entry.action) },
    { id: 'subject', title: words.subject, value: (entry) => entry.subject, render: (entry) => <Ref id={entry.subject} /> },
    { id: 'tenant', title: words.tenant, value: (entry) => entry.tenant_id, render: (entry) => (entry.tenant_id ? <Ref id={entry.tenant_id} /> : '–') },
    { id: 'request', title: words.request, value: (entry) => entry.request_id, render: (entry) => <code className="small">{entry.request_id}</code> },
  ];
  const last = read.at(-1);
  return (
    <Page title={words.title} lead={words.lead} calls={[{ method: 'GET', path: '/api/v1/audit', cli: 'gpuaas audit list' }]}>
      <div className="filters">
        <TextField type="search" label={words.actor} value={filter.actor} onChange={(value) => set('actor', value)} />
        <TextField type="search" label={words.action} value={filter.action} onChange={(value) => set('action', value)} />
        <TextField type="search" label={words.subject} value={filter.subject} onChange={(value) => set('subject', value)} />
        <TextField type="datetime-local" label={words.from} value={filter.from} onChange={(value) => set('from', value)} />
        <TextField type="datetime-local" label={words.to} value={filter.to} onChange={(value) => set('to', value)} />
      </div>
      {pages.error && !pages.data ? (
        <Refused error={pages.error} onRetry={() => void pages.refetch()} />
      ) : pages.isPending ? (
        <Loading lines={8} />
      ) : (
        <>
          <DataTable
            label={words.title}
            columns={columns}
            rows={shown}
            rowKey={(entry) => entry.id}
            sorting={{ column: 'sequence', descending: true }}
            empty={
              <Empty title={read.length === 0 ? words.none : words.noMatch}>
                <p>{read.length === 0 ? words.noneDetail : words.noMatchDetail(read.length)}</p>
              </Empty>
            }
          />
          <div className="row">
            {pages.hasNextPage ? (
              <Button pending={pages.isFetchingNextPage} onPress={() => void pages.fetchNextPage()}>
                {words.more}
              </Button>
            ) : (
              <span className="small soft">{words.allRead(read.length)}</span>
            )}
            <Button tone="quiet" onPress={() => void pages.refetch()}>
              {words.again}
            </Button>
          </div>
          {last?.hash && (
            <Note tone="idle" title={words.chain}>
              <p className="small">{words.chainDetail(last.sequence ?? read.length)}</p>
              <CopyField text={last.hash} what={words.chain} />
            </Note>
          )}
        </>
      )}
    </Page>
  );
}
