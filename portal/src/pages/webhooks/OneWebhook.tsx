// One webhook: how it stands, what can be done with it, and its log: every delivery with what was sent and what came back.
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { answer, api, ifMatch, pageQuery, readAll, wish, type Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { Button } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { ConfirmButton, DialogBox, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { Card, CopyField, Disclosure, Facts, StateBadge, Time, Timeline } from '../../ui/pieces';
import { Empty, Loading, Note, ProblemNote, Reading, Refused } from '../../ui/states';
import { pathOf, type Owner } from './owner';
import { SecretBox, WebhookState } from './WebhookList';

const words = strings.webhooks;
type Webhook = Schemas['WebhookView'];
type Delivery = Schemas['WebhookDeliveryView'];

const tones = { pending: 'busy', delivered: 'good', failed: 'warn', exhausted: 'bad' } as const satisfies Record<Schemas['DeliveryState'], string>;

/** What happened, as it is named when choosing events: without the platform's prefix and the version. */
function eventOf(each: Delivery): string {
  return each.event_type?.replace(/^io\.gpuaas\.(.+)\.v\d+$/, '$1') ?? each.event_id;
}

function setEnabled(it: Webhook, enabled: boolean): Promise<unknown> {
  return answer(api.PATCH('/api/v1/webhooks/{webhook_id}', { params: { path: { webhook_id: it.id }, header: ifMatch(it) }, body: { enabled } }));
}

/** A button that does something at once, and says what came of it. */
function Now({ label, done, run }: { label: string; done: string; run: () => Promise<unknown> }) {
  const [pending, setPending] = useState(false);
  const act = async (): Promise<void> => {
    setPending(true);
    try {
      await run();
      tell(done);
    } catch (cause) {
      tell(cause instanceof Error ? cause.message : String(cause), 'bad');
    } finally {
      setPending(false);
    }
  };
  return (
    <Button small pending={pending} onPress={() => void act()}>
      {label}
    </Button>
  );
}

function Actions({ of, owner, onSecret }: { of: Webhook; owner: Owner; onSecret: (secret: string) => void }) {
  const navigate = useNavigate();
  const path = { webhook_id: of.id };
  const rotate = async (): Promise<void> => {
    const made = await answer(api.POST('/api/v1/webhooks/{webhook_id}/rotate-secret', { params: { path, header: wish() }, body: {} }));
    onSecret(made.secret);
  };
  const remove = (): Promise<unknown> => answer(api.DELETE('/api/v1/webhooks/{webhook_id}', { params: { path, header: ifMatch(of) } }));
  const removed = (): void => {
    tell(words.wasRemoved);
    void navigate(pathOf(owner));
  };
  return (
    <>
      {of.enabled && <Now label={words.test} done={words.tested} run={() => answer(api.POST('/api/v1/webhooks/{webhook_id}/test', { params: { path, header: wish() } }))} />}
      <ConfirmButton small tone="plain" trigger={words.rotate} title={words.rotateTitle(of.url)} action={words.rotate} run={rotate}>
        <p>{words.rotateDetail}</p>
      </ConfirmButton>
      {of.enabled ? (
        <ConfirmButton small trigger={words.disable} title={words.disableTitle(of.url)} action={words.disable} run={() => setEnabled(of, false)} onDone={() => tell(words.changed)}>
          <p>{words.disableDetail}</p>
        </ConfirmButton>
      ) : (
        <ConfirmButton small tone="primary" trigger={words.enable} title={words.enableTitle(of.url)} action={words.enable} run={() => setEnabled(of, true)} onDone={() => tell(words.changed)}>
          <p>{words.enableDetail}</p>
        </ConfirmButton>
      )}
      <ConfirmButton small trigger={words.remove} title={words.removeTitle(of.url)} action={words.remove} run={remove} onDone={removed}>
        <p>{words.removeDetail}</p>
      </ConfirmButton>
    </>
  );
}

function Detail({ of }: { of: Delivery }) {
  const found = useRead({
    key: ['webhook-delivery', of.id],
    touches: { nouns: ['webhook'] },
    read: () => answer(api.GET('/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}', { params: { path: { webhook_id: of.webhook_id, delivery_id: of.id } } })),
  });
  if (!found.data) return found.error ? <ProblemNote error={found.error} onRetry={() => void found.refetch()} /> : <Loading />;
  const { attempts, event } = found.data;
  return (
    <div className="stack-tight">
      <Timeline
        label={words.attempts}
        items={attempts.map((each) => ({
          key: String(each.number),
          at: each.at,
          tone: each.error === undefined ? 'good' : 'bad',
          title: words.attempt(each.number),
          detail: (
            <>
              <p>
                {each.status ?? words.noAnswer} · {words.took(each.duration_ms)} {each.error}
              </p>
              {each.response_body !== '' && <CopyField block text={each.response_body} what={words.answer} />}
            </>
          ),
        }))}
      />
      {event && (
        <Disclosure title={words.sent}>
          <CopyField block text={JSON.stringify(event, undefined, 2)} what={words.sent} />
        </Disclosure>
      )}
    </div>
  );
}

function Deliveries({ of, may }: { of: Webhook; may: boolean }) {
  const [open, setOpen] = useState<Delivery>();
  const list = useRead({
    key: ['webhook-deliveries', of.id],
    touches: { nouns: ['webhook', 'allocation', 'workload'] },
    read: () => readAll((token) => answer(api.GET('/api/v1/webhooks/{webhook_id}/deliveries', { params: { path: { webhook_id: of.id }, query: pageQuery(token) } })), 400),
  });
  const replay = (each: Delivery): Promise<unknown> =>
    answer(api.POST('/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay', { params: { path: { webhook_id: of.id, delivery_id: each.id }, header: wish() } })).then(() => list.refetch());
  const columns: Column<Delivery>[] = [
    { id: 'at', title: words.at, value: (each) => each.created_at, render: (each) => <Time at={each.created_at} /> },
    { id: 'event', title: words.event, value: eventOf },
    { id: 'state', title: words.state, value: (each) => each.state, render: (each) => <StateBadge state={each.state} tone={tones[each.state]} /> },
    { id: 'attempts', title: words.attempts, value: (each) => each.attempts, align: 'end' },
    { id: 'answer', title: words.answer, value: (each) => each.last_error ?? each.last_status },
    { id: 'next', title: words.next, value: (each) => each.next_attempt_at, render: (each) => each.next_attempt_at && <Time at={each.next_attempt_at} from="now" /> },
    {
      id: 'actions',
      title: strings.shared.actions,
      align: 'end',
      render: (each) => (
        <span className="row">
          <Button small onPress={() => setOpen(each)}>
            {words.details}
          </Button>
          {may && <Now label={words.replay} done={words.replayed} run={() => replay(each)} />}
        </span>
      ),
    },
  ];
  return (
    <>
      <DialogBox title={words.deliveryTitle(open?.id ?? '')} isOpen={open !== undefined} onClose={() => setOpen(undefined)}>
        {open && <Detail of={open} />}
        <div className="modal-actions">
          <Button onPress={() => setOpen(undefined)}>{strings.shared.close}</Button>
        </div>
      </DialogBox>
      <Reading of={list}>
        {(found) => (
          <DataTable
            label={words.deliveries}
            columns={columns}
            rows={found.items}
            complete={found.complete}
            rowKey={(each) => each.id}
            sorting={{ column: 'at', descending: true }}
            empty={
              <Empty title={words.noDeliveries}>
                <p>{words.noDeliveriesDetail}</p>
              </Empty>
            }
          />
        )}
      </Reading>
    </>
  );
}

/** The page. */
export function OneWebhook({ owner }: { owner: Owner }) {
  const { webhookId = '' } = useParams();
  const [secret, setSecret] = useState<string>();
  const found = useRead({
    key: ['webhook', webhookId],
    touches: { nouns: ['webhook'], subject: webhookId },
    read: () => answer(api.GET('/api/v1/webhooks/{webhook_id}', { params: { path: { webhook_id: webhookId } } })),
  });
  const crumbs = [{ label: words.title, to: pathOf(owner) }];
  const it = found.data;
  if (!it) {
    return (
      <Page title={words.title} crumbs={crumbs}>
        {found.error ? <Refused error={found.error} onRetry={() => void found.refetch()} /> : <Loading />}
      </Page>
    );
  }
  return (
    <Page
      title={it.url}
      mark={<WebhookState of={it} />}
      lead={it.projected}
      crumbs={crumbs}
      actions={owner.mayChange && <Actions of={it} owner={owner} onSecret={setSecret} />}
      calls={[
        { method: 'GET', path: `/api/v1/webhooks/${it.id}`, cli: `gpuaas webhook show ${it.id}` },
        { method: 'GET', path: `/api/v1/webhooks/${it.id}/deliveries`, cli: `gpuaas webhook deliveries ${it.id}` },
      ]}
    >
      <SecretBox secret={secret} onClose={() => setSecret(undefined)} />
      {it.disabled_why && (
        <Note tone="bad" title={words.ended}>
          <p>{it.disabled_why}</p>
        </Note>
      )}
      <Card title={words.about}>
        <Facts
          of={[
            [words.id, <code key="id">{it.id}</code>],
            [words.description, it.description],
            [words.eventTypes, it.event_types.join(' ') || words.everything],
            [words.open, String(it.open_deliveries)],
            [words.created, <Time key="created" at={it.created_at} />],
            [words.failingSince, it.failing_since && <Time at={it.failing_since} />],
            [words.previousUntil, it.previous_secret_until && <Time at={it.previous_secret_until} />],
          ]}
        />
      </Card>
      <Deliveries of={it} may={owner.mayChange} />
    </Page>
  );
}
