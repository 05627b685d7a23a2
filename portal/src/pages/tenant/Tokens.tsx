// Tokens: those the caller may see, new ones, and taking one away. A secret is shown once, when it is made.
import { useState } from 'react';
import { answer, api, ifMatch, pageQuery, readAll, wish, type Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import { useScope } from '../../app/scope';
import { useSession } from '../../app/session';
import { strings } from '../../strings';
import { useNow } from '../../ui/clock';
import { Button, Select, TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { ConfirmButton, DialogBox, FormDialog, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { CopyField, StateBadge, Time } from '../../ui/pieces';
import { Empty, Note, Reading } from '../../ui/states';

const words = strings.tenant.tokens;
type Token = Schemas['TokenView'];

const daysOffered = [1, 7, 30, 90, 365] as const;

interface CreateProps {
  /** Whose it will be; the caller's own when absent. */
  owner?: { id: string; name: string; tenantId: string };
  small?: boolean;
}

/** A button that makes a token and shows its secret once. */
export function CreateToken({ owner, small }: CreateProps) {
  const { all } = useScope();
  const [name, setName] = useState('');
  const [scope, setScope] = useState<Schemas['TokenScope']>('write');
  const [days, setDays] = useState('30');
  const [where, setWhere] = useState('everything');
  const [secret, setSecret] = useState<string>();
  const create = async (): Promise<void> => {
    const project = all.find((each) => each.project.id === where);
    const made = await answer(
      api.POST('/api/v1/tokens', {
        params: { header: wish() },
        body: {
          name: name.trim(),
          scope,
          lifetime_s: Number(days) * 86_400,
          ...(owner ? { principal_id: owner.id, tenant_id: owner.tenantId } : {}),
          ...(project ? { project_id: project.project.id, tenant_id: project.tenant.id } : {}),
        },
      }),
    );
    setSecret(made.secret);
  };
  const projects = all.filter((each) => owner === undefined || each.tenant.id === owner.tenantId);
  return (
    <>
      <FormDialog
        tone={small ? 'plain' : 'primary'}
        {...(small ? { small } : {})}
        trigger={words.create}
        title={owner ? words.createFor(owner.name) : words.create}
        action={words.create}
        run={create}
        ready={name.trim() !== ''}
        onOpen={() => setName('')}
      >
        <TextField label={words.name} hint={words.nameHint} value={name} onChange={setName} required focusFirst />
        <Select
          label={words.scope}
          value={scope}
          onChange={(id) => setScope(id === 'read' ? 'read' : 'write')}
          options={[
            { id: 'write', label: words.write },
            { id: 'read', label: words.read },
          ]}
        />
        <Select
          label={words.where}
          value={where}
          onChange={setWhere}
          options={[{ id: 'everything', label: owner ? words.tenantWide : words.everything }, ...projects.map((each) => ({ id: each.project.id, label: each.path }))]}
        />
        <Select label={words.lifetime} value={days} onChange={setDays} options={daysOffered.map((each) => ({ id: String(each), label: words.days(each) }))} />
      </FormDialog>
      <DialogBox title={words.secretTitle} isOpen={secret !== undefined} onClose={() => setSecret(undefined)} alert>
        <Note tone="warn" title={words.secretOnce}>
          <p>{words.secretDetail}</p>
        </Note>
        {secret !== undefined && <CopyField text={secret} what={words.secret} />}
        <div className="modal-actions">
          <Button tone="primary" onPress={() => setSecret(undefined)}>
            {words.secretDone}
          </Button>
        </div>
      </DialogBox>
    </>
  );
}

function revoke(token: Token): Promise<unknown> {
  return answer(api.DELETE('/api/v1/tokens/{token_id}', { params: { path: { token_id: token.id }, header: ifMatch(token) } }));
}

/** The page. */
export function Component() {
  const session = useSession();
  const { all, tenants } = useScope();
  const now = useNow();
  const tokens = useRead({
    key: ['tokens'],
    touches: { nouns: ['token'] },
    read: () => readAll((token) => answer(api.GET('/api/v1/tokens', { params: { query: pageQuery(token) } }))),
  });
  const standing = (token: Token): string => (token.revoked_at ? 'revoked' : Date.parse(token.expires_at) <= now ? 'expired' : 'active');
  const reach = (token: Token): string => {
    if (token.project_id) return all.find((each) => each.project.id === token.project_id)?.path ?? token.project_id;
    if (token.tenant_id) return tenants.find((each) => each.id === token.tenant_id)?.slug ?? token.tenant_id;
    return words.everything;
  };
  const columns: Column<Token>[] = [
    { id: 'name', title: words.name, value: (token) => token.name },
    {
      id: 'state',
      title: words.state,
      value: standing,
      render: (token) => (
        <span className="row">
          <StateBadge state={standing(token)} />
          {token.id === session.who.token.id && <span className="small soft">{words.thisSession}</span>}
        </span>
      ),
    },
    { id: 'scope', title: words.scope, value: (token) => (token.scope === 'read' ? words.read : words.write) },
    { id: 'where', title: words.where, value: reach },
    { id: 'owner', title: words.owner, value: (token) => (token.principal_id === session.who.principal.id ? words.you : token.principal_id) },
    { id: 'expires', title: words.expires, value: (token) => token.expires_at, render: (token) => <Time at={token.expires_at} from="now" /> },
    {
      id: 'actions',
      title: strings.shared.actions,
      align: 'end',
      render: (token) =>
        standing(token) === 'active' && (
          <ConfirmButton small trigger={words.revoke} title={words.revokeTitle(token.name)} action={words.revoke} run={() => revoke(token)} onDone={() => tell(words.wasRevoked(token.name))}>
            <p>{token.id === session.who.token.id ? words.revokeOwn : words.revokeDetail}</p>
          </ConfirmButton>
        ),
    },
  ];
  return (
    <Page title={words.title} lead={words.lead} actions={<CreateToken />} calls={[{ method: 'GET', path: '/api/v1/tokens', cli: 'gpuaas token list' }]}>
      <Reading of={tokens}>
        {(list) => (
          <DataTable
            label={words.title}
            columns={columns}
            rows={list.items}
            complete={list.complete}
            rowKey={(token) => token.id}
            sorting={{ column: 'expires', descending: true }}
            empty={
              <Empty title={words.empty}>
                <p>{words.emptyDetail}</p>
              </Empty>
            }
          />
        )}
      </Reading>
    </Page>
  );
}
