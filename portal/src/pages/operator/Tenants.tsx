// All tenants.
import { useState } from 'react';
import { answer, api, wish, type Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import * as things from '../../api/things';
import { strings } from '../../strings';
import { TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { FormDialog, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { StateBadge, Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';
import { Ref, useMayAct } from './parts';

const words = strings.operator.tenants;
type Tenant = Schemas['TenantView'];

function AddTenant() {
  const [slug, setSlug] = useState('');
  const [name, setName] = useState('');
  const run = async (): Promise<void> => {
    await answer(api.POST('/api/v1/tenants', { params: { header: wish() }, body: { slug: slug.trim(), name: name.trim() } }));
    tell(words.added(name.trim()));
  };
  return (
    <FormDialog tone="primary" trigger={words.add} title={words.add} action={words.add} run={run} ready={slug.trim() !== '' && name.trim() !== ''}>
      <TextField label={words.slug} hint={words.slugHint} value={slug} onChange={setSlug} required focusFirst />
      <TextField label={words.name} value={name} onChange={setName} required />
    </FormDialog>
  );
}

/** The page. */
export function Component() {
  const tenants = useRead(things.tenants);
  const may = useMayAct();
  const columns: Column<Tenant>[] = [
    { id: 'name', title: words.name, value: (each) => each.name, render: (each) => <Ref id={each.id}>{each.name}</Ref> },
    { id: 'slug', title: words.slug, value: (each) => each.slug, render: (each) => <code>{each.slug}</code> },
    { id: 'state', title: words.state, value: (each) => each.execution, render: (each) => <StateBadge state={each.execution} /> },
    { id: 'projects', title: words.projects, align: 'end', value: (each) => each.observed.projects },
    { id: 'members', title: words.members, align: 'end', value: (each) => each.observed.members },
    { id: 'allocations', title: words.allocations, align: 'end', value: (each) => each.observed.allocations },
    { id: 'said', title: words.said, value: (each) => each.projected },
    { id: 'created', title: words.created, value: (each) => each.created_at, render: (each) => <Time at={each.created_at} /> },
  ];
  return (
    <Page title={words.title} lead={words.lead} actions={may && <AddTenant />} calls={[{ method: 'GET', path: '/api/v1/tenants', cli: 'gpuaas tenant list' }]}>
      <Reading of={tenants}>
        {(list) => (
          <DataTable
            label={words.title}
            columns={columns}
            rows={list.items}
            rowKey={(each) => each.id}
            complete={list.complete}
            sorting={{ column: 'name', descending: false }}
            empty={
              <Empty title={words.none}>
                <p>{words.noneDetail}</p>
              </Empty>
            }
          />
        )}
      </Reading>
    </Page>
  );
}
