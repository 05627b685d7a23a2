// What an allocation's page shows in its views: usage and cost, decisions, events, proofs.
import { answer, api, pageQuery, pageSize, readAll, type Schemas } from '../../api/client';
import { useRead, type Read } from '../../api/reads';
import { strings } from '../../strings';
import { useSeconds } from '../../ui/clock';
import { DataTable, type Column } from '../../ui/DataTable';
import { count, money, sentence } from '../../ui/format';
import { CopyField, Duration, Facts, Money, StateBadge, Tile, Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';
import { costOf, hourlyOf, secondsOf, usageOf, type Usage } from './cost';
import { Checks, PlacementRefusal } from './Refusal';

const words = strings.tenant.allocation;

/** What one allocation used, claim by claim. */
function usageRead(of: Schemas['AllocationView']): Read<Usage[]> {
  return {
    key: ['usage-of', of.id],
    touches: { nouns: ['allocation'], subject: of.id },
    read: async () => {
      const all = await readAll((token) =>
        answer(
          api.GET('/api/v1/projects/{project_id}/usage', {
            params: { path: { project_id: of.project_id }, query: { ...pageQuery(token), from: of.created_at } },
          }),
        ),
      );
      return usageOf(all.items, of.id);
    },
  };
}

function CostTiles({ claims }: { claims: readonly Usage[] }) {
  const now = useSeconds();
  return (
    <div className="tiles">
      <Tile label={words.costSoFar} value={money(costOf(claims, now))} />
      <Tile label={words.costAnHour} value={money(hourlyOf(claims))} detail={strings.shared.perHour} />
      <Tile label={words.heldFor} value={<Duration seconds={secondsOf(claims, now)} />} />
    </div>
  );
}

/** What it cost so far. */
export function UsageOfAllocation({ of }: { of: Schemas['AllocationView'] }) {
  const usage = useRead(usageRead(of));
  const columns: Column<Usage>[] = [
    { id: 'from', title: words.from, value: (each) => each.from, render: (each) => <Time at={each.from} /> },
    { id: 'to', title: words.to, value: (each) => each.to, render: (each) => (each.to ? <Time at={each.to} /> : words.goesOn) },
    { id: 'gpus', title: words.gpus, value: (each) => each.gpus, align: 'end' },
    { id: 'price', title: words.pricePerGpu, value: (each) => each.price_micros_per_gpu_hour / 1_000_000, render: (each) => <Money micros={each.price_micros_per_gpu_hour} />, align: 'end' },
    { id: 'claim', title: words.claim, value: (each) => each.claim_id, render: (each) => <code className="small">{each.claim_id}</code> },
  ];
  return (
    <Reading of={usage}>
      {(claims) =>
        claims.length === 0 ? (
          <Empty title={words.noUsage}>
            <p>{words.noUsageDetail}</p>
          </Empty>
        ) : (
          <div className="stack">
            <CostTiles claims={claims} />
            <DataTable label={words.usage} columns={columns} rows={claims} rowKey={(each) => each.claim_id} empty={null} />
          </div>
        )
      }
    </Reading>
  );
}

/** Why it was let in and placed, or not. */
export function Decisions({ allocationId }: { allocationId: string }) {
  const decisions = useRead({
    key: ['decisions', allocationId],
    touches: { nouns: ['allocation'], subject: allocationId },
    read: () =>
      readAll((token) =>
        answer(api.GET('/api/v1/allocations/{allocation_id}/decisions', { params: { path: { allocation_id: allocationId }, query: pageQuery(token) } })),
      ),
  });
  return (
    <Reading of={decisions}>
      {(list) => (
        <ol className="plain-list stack">
          {list.items.map((each) => (
            <li key={each.id} className="stack-tight decision">
              <div className="row">
                <StateBadge state={each.outcome} tone={each.outcome === 'refused' ? 'bad' : 'good'} />
                <span className="small soft">
                  <Time at={each.at} />
                </span>
              </div>
              <p>{each.because}</p>
              {each.considered && <p className="small soft">{words.considered(each.considered.nodes, each.considered.nodes_fitting, each.considered.sets)}</p>}
              {each.outcome === 'admitted' && <Checks checks={each.checks} />}
              {each.refusal ? (
                <PlacementRefusal refusal={each.refusal} />
              ) : (
                each.nodes.length > 0 && (
                  <ul>
                    {each.nodes.map((passed) => (
                      <li key={passed.reason}>
                        {count(passed.nodes)} {strings.codes.reason[passed.reason]}
                      </li>
                    ))}
                  </ul>
                )
              )}
            </li>
          ))}
        </ol>
      )}
    </Reading>
  );
}

/** So many pages of events are looked through for those of one allocation. */
const eventPages = 5;

/** What was told about it. The feed cannot be asked for one thing, so it is read from the allocation's first entry on. */
export function Events({ allocationId }: { allocationId: string }) {
  const events = useRead({
    key: ['events-of', allocationId],
    touches: { nouns: ['allocation'], subject: allocationId },
    read: async () => {
      const items: Schemas['CloudEvent'][] = [];
      let after = 0;
      for (let page = 0; page < eventPages; page += 1) {
        const got: Schemas['EventPage'] = await answer(api.GET('/api/v1/events', { params: { query: { after, page_size: pageSize, subject: allocationId } } }));
        items.push(...got.items);
        if (got.next_after <= after || got.next_after >= got.head) return { items, complete: true };
        after = got.next_after;
      }
      return { items, complete: false };
    },
  });
  const columns: Column<Schemas['CloudEvent']>[] = [
    { id: 'at', title: words.at, value: (event) => event.time, render: (event) => <Time at={event.time} /> },
    { id: 'change', title: words.change, value: (event) => event.data.change, render: (event) => sentence(event.data.change) },
    {
      id: 'to',
      title: words.state,
      value: (event) => event.data.state_to,
      render: (event) => (event.data.state_to ? <StateBadge state={event.data.state_to} /> : <span className="soft">–</span>),
    },
    { id: 'reason', title: words.reason, value: (event) => event.data.reason },
    { id: 'sequence', title: words.sequence, value: (event) => Number(event.sequence), align: 'end' },
  ];
  return (
    <Reading of={events}>
      {(list) => (
        <DataTable label={words.events} columns={columns} rows={list.items} complete={list.complete} rowKey={(event) => event.id} empty={<Empty title={words.noEvents} />} />
      )}
    </Reading>
  );
}

/** What became of its slots and disks. */
export function Proofs({ allocationId }: { allocationId: string }) {
  const proofs = useRead({
    key: ['proofs', allocationId],
    touches: { nouns: ['allocation'], subject: allocationId },
    read: () => answer(api.GET('/api/v1/allocations/{allocation_id}/proofs', { params: { path: { allocation_id: allocationId } } })),
  });
  return (
    <Reading of={proofs}>
      {(all) => (
        <div className="stack">
          <p>{all.projected}</p>
          {all.slots.map((slot) => (
            <section key={slot.slot_number} className="stack-tight decision">
              <div className="row">
                <h2>{words.slot(slot.slot_number)}</h2>
                <StateBadge
                  state={slot.outcome}
                  tone={slot.outcome === 'proved' ? 'good' : slot.outcome === 'pending' ? 'busy' : 'warn'}
                  label={strings.codes.wipeOutcome[slot.outcome]}
                />
              </div>
              <Facts
                of={[
                  [words.method, slot.method && strings.codes.eraseMethod[slot.method]],
                  [words.provedAt, slot.proved_at && <Time at={slot.proved_at} />],
                  [words.steps, slot.steps && slot.steps.map((step) => strings.codes.wipeStep[step]).join(', ')],
                ]}
              />
              {slot.signature && <CopyField text={slot.signature} what={words.signature} />}
              {slot.node_key_fingerprint && <span className="small soft">{words.signedBy(slot.node_key_fingerprint)}</span>}
            </section>
          ))}
        </div>
      )}
    </Reading>
  );
}
