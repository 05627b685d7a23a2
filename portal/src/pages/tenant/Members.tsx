// The people of a tenant and its service accounts.
import { useState } from 'react';
import { useParams } from 'react-router';
import { answer, api, ifMatch, pageQuery, readAll, wish, type Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import { mayAdminister } from '../../api/session';
import { useScope } from '../../app/scope';
import { useSession } from '../../app/session';
import { strings } from '../../strings';
import { Select, TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { ConfirmButton, FormDialog, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { Card, Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';
import { CreateToken } from './Tokens';

const words = strings.tenant.members;
type Member = Schemas['MemberView'];
type Account = Schemas['PrincipalView'];
type Role = Schemas['MemberRole'];

const wholeTenant = 'tenant';

function AddMember({ tenantId, accounts }: { tenantId: string; accounts: readonly Account[] }) {
  const { all } = useScope();
  const [who, setWho] = useState('email');
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('project_member');
  const [where, setWhere] = useState<string>();
  const projects = all.filter((each) => each.tenant.id === tenantId);
  const place = role === 'tenant_admin' ? wholeTenant : (where ?? (role === 'viewer' ? wholeTenant : projects[0]?.project.id));
  const ready = (who !== 'email' || email.trim() !== '') && !(role === 'project_member' && (place === undefined || place === wholeTenant));
  const add = async (): Promise<void> => {
    const member = await answer(
      api.POST('/api/v1/tenants/{tenant_id}/members', {
        params: { path: { tenant_id: tenantId }, header: wish() },
        body: {
          subject: who === 'email' ? { email: email.trim() } : { service_account: who },
          role,
          ...(place === undefined || place === wholeTenant ? {} : { project_id: place }),
        },
      }),
    );
    tell(words.wasAdded(member.principal_name));
  };
  return (
    <FormDialog tone="primary" trigger={words.add} title={words.add} action={words.add} run={add} ready={ready} onOpen={() => setEmail('')}>
      {accounts.length > 0 && (
        <Select
          label={words.who}
          value={who}
          onChange={setWho}
          options={[{ id: 'email', label: words.person }, ...accounts.map((account) => ({ id: account.id, label: account.name, detail: words.serviceAccount }))]}
        />
      )}
      {who === 'email' && <TextField label={words.email} type="email" value={email} onChange={setEmail} required focusFirst />}
      <Select
        label={words.role}
        value={role}
        onChange={(id) => setRole(id as Role)}
        options={(Object.keys(strings.codes.role) as Role[]).map((id) => ({ id, label: strings.codes.role[id], detail: words.roleDetail[id] }))}
      />
      {role !== 'tenant_admin' && (
        <Select
          label={strings.shared.project}
          value={place}
          onChange={setWhere}
          options={[
            ...(role === 'viewer' ? [{ id: wholeTenant, label: words.wholeTenant }] : []),
            ...projects.map((each) => ({ id: each.project.id, label: each.project.slug, detail: each.project.name })),
          ]}
        />
      )}
    </FormDialog>
  );
}

function AddAccount({ tenantId }: { tenantId: string }) {
  const [name, setName] = useState('');
  const add = async (): Promise<void> => {
    const account = await answer(
      api.POST('/api/v1/tenants/{tenant_id}/service-accounts', { params: { path: { tenant_id: tenantId }, header: wish() }, body: { name: name.trim() } }),
    );
    tell(words.wasAdded(account.name));
  };
  return (
    <FormDialog trigger={words.addAccount} title={words.addAccount} action={words.addAccount} run={add} ready={name.trim() !== ''} onOpen={() => setName('')}>
      <TextField label={words.name} hint={words.nameHint} value={name} onChange={setName} required focusFirst />
    </FormDialog>
  );
}

function removeMember(member: Member): Promise<unknown> {
  return answer(api.DELETE('/api/v1/members/{member_id}', { params: { path: { member_id: member.id }, header: ifMatch(member) } }));
}

function removeAccount(account: Account): Promise<unknown> {
  return answer(api.DELETE('/api/v1/service-accounts/{principal_id}', { params: { path: { principal_id: account.id }, header: ifMatch(account) } }));
}

function MemberTable({ members, may }: { members: readonly Member[]; may: boolean }) {
  const { all } = useScope();
  const session = useSession();
  const projectOf = (id: string | undefined): string => (id === undefined ? words.wholeTenant : (all.find((each) => each.project.id === id)?.path ?? id));
  const columns: Column<Member>[] = [
    { id: 'name', title: words.who, value: (each) => each.principal_name },
    { id: 'role', title: words.role, value: (each) => strings.codes.role[each.role] },
    { id: 'where', title: words.where, value: (each) => projectOf(each.project_id) },
    { id: 'kind', title: words.kind, value: (each) => (each.principal_kind === 'user' ? words.person : words.serviceAccount) },
    { id: 'since', title: words.since, value: (each) => each.created_at, render: (each) => <Time at={each.created_at} /> },
    ...(may
      ? [
          {
            id: 'actions',
            title: strings.shared.actions,
            align: 'end' as const,
            render: (each: Member) => (
              <ConfirmButton
                small
                trigger={words.remove}
                title={words.removeTitle(each.principal_name)}
                action={words.remove}
                run={() => removeMember(each)}
                onDone={() => tell(words.wasRemoved(each.principal_name))}
              >
                <p>{words.removeDetail(strings.codes.role[each.role], projectOf(each.project_id))}</p>
                {each.principal_id === session.who.principal.id && <p>{words.thatIsYou}</p>}
              </ConfirmButton>
            ),
          },
        ]
      : []),
  ];
  return <DataTable label={words.title} columns={columns} rows={members} rowKey={(each) => each.id} sorting={{ column: 'name', descending: false }} empty={<Empty title={words.empty} />} />;
}

function AccountTable({ accounts, may, tenantId }: { accounts: readonly Account[]; may: boolean; tenantId: string }) {
  const columns: Column<Account>[] = [
    { id: 'name', title: words.name, value: (each) => each.name },
    { id: 'id', title: words.id, value: (each) => each.id, render: (each) => <code className="small">{each.id}</code> },
    { id: 'since', title: words.since, value: (each) => each.created_at, render: (each) => <Time at={each.created_at} /> },
    ...(may
      ? [
          {
            id: 'actions',
            title: strings.shared.actions,
            align: 'end' as const,
            render: (each: Account) => (
              <span className="row">
                <CreateToken small owner={{ id: each.id, name: each.name, tenantId }} />
                <ConfirmButton small trigger={words.remove} title={words.removeTitle(each.name)} action={words.remove} run={() => removeAccount(each)} onDone={() => tell(words.wasRemoved(each.name))}>
                  <p>{words.removeAccountDetail}</p>
                </ConfirmButton>
              </span>
            ),
          },
        ]
      : []),
  ];
  return (
    <DataTable
      label={words.accounts}
      columns={columns}
      rows={accounts}
      rowKey={(each) => each.id}
      empty={
        <Empty title={words.noAccounts}>
          <p>{words.noAccountsDetail}</p>
        </Empty>
      }
    />
  );
}

/** The page. */
export function Component() {
  const { tenantId = '' } = useParams();
  const session = useSession();
  const { tenants } = useScope();
  const tenant = tenants.find((each) => each.id === tenantId);
  const may = mayAdminister(session, tenantId);
  const members = useRead({
    key: ['members', tenantId],
    touches: { nouns: ['member'] },
    read: () => readAll((token) => answer(api.GET('/api/v1/tenants/{tenant_id}/members', { params: { path: { tenant_id: tenantId }, query: pageQuery(token) } }))),
  });
  const accounts = useRead({
    key: ['service-accounts', tenantId],
    touches: { nouns: ['principal'] },
    read: () => readAll((token) => answer(api.GET('/api/v1/tenants/{tenant_id}/service-accounts', { params: { path: { tenant_id: tenantId }, query: pageQuery(token) } }))),
  });
  return (
    <Page
      title={words.title}
      lead={tenant ? words.lead(tenant.name) : undefined}
      actions={
        may && (
          <>
            <AddAccount tenantId={tenantId} />
            <AddMember tenantId={tenantId} accounts={accounts.data?.items ?? []} />
          </>
        )
      }
      calls={[
        { method: 'GET', path: `/api/v1/tenants/${tenantId}/members`, ...(tenant ? { cli: `gpuaas member list --tenant ${tenant.slug}` } : {}) },
        { method: 'GET', path: `/api/v1/tenants/${tenantId}/service-accounts`, ...(tenant ? { cli: `gpuaas service-account list --tenant ${tenant.slug}` } : {}) },
      ]}
    >
      <Reading of={members}>
        {(list) => (
          <>
            <MemberTable members={list.items} may={may} />
            <Card title={words.accounts}>
              <Reading of={accounts}>{(found) => <AccountTable accounts={found.items} may={may} tenantId={tenantId} />}</Reading>
            </Card>
          </>
        )}
      </Reading>
    </Page>
  );
}
