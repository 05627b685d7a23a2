// Allocations of all projects, and the way to one by its id.
import { useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import type { Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { useScope } from '../../app/scope';
import { strings } from '../../strings';
import { Button, Select, TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { Page } from '../../ui/Page';
import { StateBadge, Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';
import { Ref, useCatalogNames, word } from './parts';

const words = strings.operator.allocation;
type Allocation = Schemas['AllocationView'];
const states: readonly Schemas['AllocationState'][] = ['requested', 'reserved', 'provisioning', 'running', 'releasing', 'released', 'refused', 'failed'];

function Open() {
  const navigate = useNavigate();
  const [id, setId] = useState('');
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (id.trim()) void navigate(`/operator/allocations/${encodeURIComponent(id.trim())}`);
      }}
    >
      <TextField label={words.id} hideLabel value={id} onChange={setId} placeholder="alc_…" />
      <Button submit>{words.find}</Button>
    </form>
  );
}

/** The page. */
export function Component() {
  const { all, tenants } = useScope();
  const names = useCatalogNames();
  const [params, setParams] = useSearchParams();
  const tenant = params.get('tenant') ?? 'all';
  const state = states.find((each) => each === params.get('state'));
  const list = useRead(operator.allocations(tenant === 'all' ? undefined : tenant, state));
  const set = (name: string, value: string): void =>
    setParams((before) => {
      const next = new URLSearchParams(before);
      next.set(name, value);
      return next;
    });
  const pathOf = new Map(all.map((each) => [each.project.id, each.path]));
  const columns: Column<Allocation>[] = [
    { id: 'name', title: words.name, value: (each) => each.name, render: (each) => <Ref id={each.id}>{each.name}</Ref> },
    { id: 'state', title: strings.operator.queues.state, value: (each) => each.execution, render: (each) => <StateBadge state={each.execution} /> },
    { id: 'project', title: words.project, value: (each) => pathOf.get(each.project_id) ?? each.project_id },
    { id: 'shape', title: words.shape, value: (each) => word(each.shape) },
    { id: 'gpus', title: words.gpus, align: 'end', value: (each) => each.gpu_count },
    { id: 'region', title: words.region, value: (each) => names.region(each.region_id) },
    { id: 'said', title: words.said, value: (each) => each.projected },
    { id: 'created', title: words.created, value: (each) => each.created_at, render: (each) => <Time at={each.created_at} /> },
  ];
  const query = [tenant !== 'all' && `tenant_id=${tenant}`, state && `state=${state}`].filter(Boolean).join('&');
  const everything = { id: 'all', label: strings.operator.fleet.all };
  return (
    <Page title={words.title} lead={words.lead} actions={<Open />} calls={[{ method: 'GET', path: `/api/v1/admin/allocations${query ? `?${query}` : ''}` }]}>
      <div className="filters">
        <Select label={words.tenant} value={tenant} onChange={(id) => set('tenant', id)} options={[everything, ...tenants.map((each) => ({ id: each.id, label: each.slug, detail: each.name }))]} />
        <Select label={strings.operator.queues.state} value={state ?? 'all'} onChange={(id) => set('state', id)} options={[everything, ...states.map((each) => ({ id: each, label: word(each) }))]} />
      </div>
      <Reading of={list} lines={6}>
        {(found) => (
          <DataTable
            label={words.title}
            columns={columns}
            rows={found.items}
            rowKey={(each) => each.id}
            sorting={{ column: 'created', descending: true }}
            complete={found.complete}
            empty={
              query === '' ? (
                <Empty title={words.none}>
                  <p>{words.noneDetail}</p>
                </Empty>
              ) : (
                <Empty title={words.noMatch}>
                  <p>{words.noMatchDetail}</p>
                </Empty>
              )
            }
          />
        )}
      </Reading>
    </Page>
  );
}
