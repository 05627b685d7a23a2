// The audit trail, newest first, searched by the control plane and read on as far as the reader asks.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactNode } from 'react';
import { answer, api, pageSize, type Schemas } from '../../api/client';
import { strings } from '../../strings';
import { Button, TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { Page } from '../../ui/Page';
import { CopyField, Time } from '../../ui/pieces';
import { Empty, Loading, Note, Refused } from '../../ui/states';
import { auditQuery, type AuditFilter } from './audit-filter';
import { Ref, word } from './parts';

const words = strings.operator.audit;
type Entry = Schemas['AuditView'];

const nothing: AuditFilter = { actor: '', action: '', subject: '', from: '', to: '' };

/** Something in a row that the search can be narrowed to. */
function Narrow({ label, onPress, children }: { label: string; onPress: () => void; children: ReactNode }) {
  return (
    <button type="button" className="narrow" title={label} onClick={onPress}>
      {children}
    </button>
  );
}

/** The page. */
export function Component() {
  const [filter, setFilter] = useState<AuditFilter>(nothing);
  const [asked, setAsked] = useState<AuditFilter>(nothing);
  const query = auditQuery(asked);
  const pages = useInfiniteQuery({
    queryKey: ['operator', 'audit', query],
    meta: { touches: { nouns: [] } },
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => answer(api.GET('/api/v1/audit', { params: { query: { ...query, page_size: pageSize, ...(pageParam ? { page_token: pageParam } : {}) } } })),
    getNextPageParam: (page) => page.next_page_token,
  });
  const read = pages.data?.pages.flatMap((page) => page.items) ?? [];
  const searched = Object.keys(query).length > 1;
  const search = (event: FormEvent): void => {
    event.preventDefault();
    setAsked(filter);
  };
  const set = (name: keyof AuditFilter, value: string): void => setFilter((before) => ({ ...before, [name]: value }));
  const narrow = (name: 'actor' | 'action', value: string): void => {
    const next = { ...filter, [name]: value };
    setFilter(next);
    setAsked(next);
  };
  const columns: Column<Entry>[] = [
    { id: 'sequence', title: words.sequence, align: 'end', value: (entry) => entry.sequence },
    { id: 'at', title: words.at, value: (entry) => entry.at, render: (entry) => <Time at={entry.at} /> },
    { id: 'actor', title: words.actor, value: (entry) => entry.actor, render: (entry) => <Narrow label={words.onlyActor(entry.actor)} onPress={() => narrow('actor', entry.actor)}><Ref id={entry.actor} /></Narrow> },
    { id: 'action', title: words.action, value: (entry) => word(entry.action), render: (entry) => <Narrow label={words.onlyAction(word(entry.action))} onPress={() => narrow('action', entry.action)}>{word(entry.action)}</Narrow> },
    { id: 'subject', title: words.subject, value: (entry) => entry.subject, render: (entry) => <Ref id={entry.subject} /> },
    { id: 'tenant', title: words.tenant, value: (entry) => entry.tenant_id, render: (entry) => (entry.tenant_id ? <Ref id={entry.tenant_id} /> : '–') },
    { id: 'request', title: words.request, value: (entry) => entry.request_id, render: (entry) => <code className="small">{entry.request_id}</code> },
  ];
  // The chain is numbered a moment after the fact: the very newest may have no number yet, and two of one moment may have theirs
  // the other way round.
  const newest = read.reduce<Entry | undefined>((last, entry) => ((entry.sequence ?? 0) > (last?.sequence ?? 0) ? entry : last), undefined);
  return (
    <Page title={words.title} lead={words.lead} calls={[{ method: 'GET', path: '/api/v1/audit', cli: 'gpuaas audit list' }]}>
      <form className="filters" onSubmit={search}>
        <TextField type="search" label={words.actor} value={filter.actor} onChange={(value) => set('actor', value)} />
        <TextField type="search" label={words.action} value={filter.action} onChange={(value) => set('action', value)} />
        <TextField type="search" label={words.subject} value={filter.subject} onChange={(value) => set('subject', value)} />
        <TextField type="datetime-local" label={words.from} value={filter.from} onChange={(value) => set('from', value)} />
        <TextField type="datetime-local" label={words.to} value={filter.to} onChange={(value) => set('to', value)} />
        <div className="filters-act">
          <Button submit tone="primary">
            {words.search}
          </Button>
        </div>
      </form>
      <p className="small soft">{words.searchHint}</p>
      {pages.error && !pages.data ? (
        <Refused error={pages.error} onRetry={() => void pages.refetch()} />
      ) : pages.isPending ? (
        <Loading lines={8} />
      ) : (
        <>
          <DataTable
            label={words.title}
            columns={columns}
            rows={read}
            rowKey={(entry) => entry.id}
            sorting={{ column: 'at', descending: true }}
            empty={
              <Empty title={searched ? words.noMatch : words.none}>
                <p>{searched ? words.noMatchDetail : words.noneDetail}</p>
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
          {!searched && newest?.hash && (
            <Note tone="idle" title={words.chain}>
              <p className="small">{words.chainDetail(newest.sequence ?? read.length)}</p>
              <CopyField text={newest.hash} what={words.chain} />
            </Note>
          )}
        </>
      )}
    </Page>
  );
}
