// A list of webhooks, a tenant's or the platform's: which addresses are told what, adding one, and the secret that is shown once.
import { useState } from 'react';
import { Link } from 'react-router';
import { answer, api, pageQuery, readAll, wish, type Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import { useScope } from '../../app/scope';
import { strings } from '../../strings';
import { Button, Select, TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { DialogBox, FormDialog } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { CopyField, StateBadge } from '../../ui/pieces';
import { Empty, Note, Reading } from '../../ui/states';
import { pathOf, type Owner } from './owner';

const words = strings.webhooks;
type Webhook = Schemas['WebhookView'];

/** A box with a new secret, while there is one to show. */
export function SecretBox({ secret, onClose }: { secret: string | undefined; onClose: () => void }) {
  return (
    <DialogBox title={words.secretTitle} isOpen={secret !== undefined} onClose={onClose} alert>
      <Note tone="warn" title={words.secretOnce}>
        <p>{words.secretDetail}</p>
      </Note>
      {secret !== undefined && <CopyField text={secret} what={words.secret} />}
      <div className="modal-actions">
        <Button tone="primary" onPress={onClose}>
          {words.secretDone}
        </Button>
      </div>
    </DialogBox>
  );
}

/** Whether anything is sent, and if not, who ended it. */
export function WebhookState({ of }: { of: Webhook }) {
  if (of.enabled) return <StateBadge state="enabled" tone={of.failing_since ? 'warn' : 'good'} label={words.on} />;
  return <StateBadge state="disabled" tone={of.disabled_why ? 'bad' : 'idle'} label={of.disabled_why ? words.ended : words.off} />;
}

function create(owner: Owner, body: Schemas['WebhookCreateBody']): Promise<Schemas['WebhookCreatedView']> {
  if (owner.tenantId === undefined) return answer(api.POST('/api/v1/admin/webhooks', { params: { header: wish() }, body }));
  return answer(api.POST('/api/v1/tenants/{tenant_id}/webhooks', { params: { path: { tenant_id: owner.tenantId }, header: wish() }, body }));
}

function Add({ owner, onMade }: { owner: Owner; onMade: (secret: string) => void }) {
  const { all } = useScope();
  const [url, setUrl] = useState('');
  const [description, setDescription] = useState('');
  const [events, setEvents] = useState('');
  const [where, setWhere] = useState('all');
  const add = async (): Promise<void> => {
    const eventTypes = events.split(/[\s,]+/).filter((each) => each !== '');
    const made = await create(owner, {
      url: url.trim(),
      ...(description.trim() ? { description: description.trim() } : {}),
      ...(eventTypes.length > 0 ? { event_types: eventTypes } : {}),
      ...(where === 'all' ? {} : { project_id: where }),
    });
    onMade(made.secret);
  };
  const reset = (): void => {
    setUrl('');
    setDescription('');
    setEvents('');
    setWhere('all');
  };
  const projects = all.filter((each) => each.tenant.id === owner.tenantId);
  return (
    <FormDialog tone="primary" trigger={words.create} title={words.create} action={words.create} run={add} onOpen={reset} ready={/^https?:\/\/./.test(url.trim())}>
      <TextField label={words.url} hint={words.urlHint} value={url} onChange={setUrl} required focusFirst placeholder="https://…" />
      <TextField label={words.description} value={description} onChange={setDescription} />
      <TextField label={words.eventTypes} hint={words.eventTypesHint} value={events} onChange={setEvents} />
      {owner.tenantId !== undefined && (
        <Select label={words.onlyProject} value={where} onChange={setWhere} options={[{ id: 'all', label: words.wholeTenant }, ...projects.map((each) => ({ id: each.project.id, label: each.path }))]} />
      )}
    </FormDialog>
  );
}

/** The page. */
export function WebhookList({ owner }: { owner: Owner }) {
  const { tenantId } = owner;
  const { all } = useScope();
  const [secret, setSecret] = useState<string>();
  const list = useRead({
    key: ['webhooks', tenantId],
    touches: { nouns: ['webhook'] },
    read: () =>
      readAll((token) =>
        tenantId === undefined
          ? answer(api.GET('/api/v1/admin/webhooks', { params: { query: pageQuery(token) } }))
          : answer(api.GET('/api/v1/tenants/{tenant_id}/webhooks', { params: { path: { tenant_id: tenantId }, query: pageQuery(token) } })),
      ),
  });
  const projectOf = (each: Webhook): string => (each.project_id ? (all.find((one) => one.project.id === each.project_id)?.path ?? each.project_id) : words.wholeTenant);
  const columns: Column<Webhook>[] = [
    {
      id: 'url',
      title: words.url,
      value: (each) => each.url,
      render: (each) => (
        <Link className="row-link" to={`${pathOf(owner)}/${each.id}`}>
          {each.url}
        </Link>
      ),
    },
    { id: 'state', title: words.state, value: (each) => String(each.enabled), render: (each) => <WebhookState of={each} /> },
    { id: 'description', title: words.description, value: (each) => each.description },
    { id: 'events', title: words.eventTypes, value: (each) => each.event_types.join(' ') || words.everything },
    ...(tenantId === undefined ? [] : [{ id: 'project', title: words.onlyProject, value: projectOf }]),
    { id: 'open', title: words.open, value: (each) => each.open_deliveries, align: 'end' },
    { id: 'said', title: words.said, value: (each) => each.projected },
  ];
  return (
    <Page
      title={tenantId === undefined ? words.titlePlatform : words.title}
      lead={tenantId === undefined ? words.leadPlatform : words.lead}
      actions={owner.mayChange && <Add owner={owner} onMade={setSecret} />}
      calls={[
        tenantId === undefined
          ? { method: 'GET', path: '/api/v1/admin/webhooks', cli: 'gpuaas webhook list --platform' }
          : { method: 'GET', path: `/api/v1/tenants/${tenantId}/webhooks`, cli: `gpuaas webhook list --tenant ${tenantId}` },
      ]}
    >
      <SecretBox secret={secret} onClose={() => setSecret(undefined)} />
      <Reading of={list}>
        {(found) => (
          <DataTable
            label={words.title}
            columns={columns}
            rows={found.items}
            complete={found.complete}
            rowKey={(each) => each.id}
            sorting={{ column: 'url', descending: false }}
            empty={
              <Empty title={words.empty}>
                <p>{tenantId === undefined ? words.emptyPlatform : words.emptyDetail}</p>
              </Empty>
            }
          />
        )}
      </Reading>
    </Page>
  );
}
