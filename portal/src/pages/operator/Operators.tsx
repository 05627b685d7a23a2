// Who runs the platform.
import { useState } from 'react';
import { answer, api, ifMatch, wish, type Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { useSession } from '../../app/session';
import { strings } from '../../strings';
import { Select, TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { FormDialog, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';
import { Act, useMayAct } from './parts';

const words = strings.operator.operators;
type Person = Schemas['PrincipalView'];

function Add() {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Schemas['PlatformRole']>('operator_read_only');
  const run = async (): Promise<void> => {
    await answer(api.POST('/api/v1/admin/operators', { params: { header: wish() }, body: { email: email.trim(), role } }));
    tell(words.added(email.trim()));
  };
  return (
    <FormDialog tone="primary" trigger={words.add} title={words.add} action={words.add} run={run} ready={email.includes('@')}>
      <TextField type="email" label={words.email} value={email} onChange={setEmail} required focusFirst />
      <Select
        label={words.role}
        value={role}
        onChange={(id) => setRole(id as Schemas['PlatformRole'])}
        options={[
          { id: 'operator_read_only', label: words.roles.operator_read_only, detail: words.roleDetails.operator_read_only },
          { id: 'platform_operator', label: words.roles.platform_operator, detail: words.roleDetails.platform_operator },
        ]}
      />
    </FormDialog>
  );
}

/** The page. */
export function Component() {
  const people = useRead(operator.operators);
  const may = useMayAct();
  const me = useSession().who.principal.id;
  const columns: Column<Person>[] = [
    { id: 'name', title: words.name, value: (each) => each.name, render: (each) => (each.id === me ? `${each.name} (${words.you})` : each.name) },
    { id: 'role', title: words.role, value: (each) => (each.platform_role ? words.roles[each.platform_role] : undefined) },
    { id: 'created', title: words.since, value: (each) => each.created_at, render: (each) => <Time at={each.created_at} /> },
    {
      id: 'actions',
      title: strings.shared.actions,
      align: 'end',
      render: (each) =>
        may &&
        each.id !== me && (
          <Act
            small
            danger
            label={words.remove}
            title={words.removeTitle(each.name)}
            consequence={words.removeDetail}
            done={words.removed(each.name)}
            run={() => answer(api.DELETE('/api/v1/admin/operators/{principal_id}', { params: { path: { principal_id: each.id }, header: ifMatch(each) } }))}
          />
        ),
    },
  ];
  return (
    <Page title={words.title} lead={words.lead} actions={may && <Add />} calls={[{ method: 'GET', path: '/api/v1/admin/operators', cli: 'gpuaas operator list' }]}>
      <Reading of={people}>{(list) => <DataTable label={words.title} columns={columns} rows={list.items} rowKey={(each) => each.id} empty={<Empty title={words.none} />} />}</Reading>
    </Page>
  );
}
