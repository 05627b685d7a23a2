// One tenant: how it stands, its projects with their caps, and its people; suspend, resume and delete.
import { useState } from 'react';
import { useParams } from 'react-router';
import { answer, api, ifMatch, wish, type Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import * as things from '../../api/things';
import { strings } from '../../strings';
import { TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { FormDialog, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { Card, Facts, StateBadge, Time } from '../../ui/pieces';
import { Empty, Note, Reading } from '../../ui/states';
import { Act, Ref, useMayAct } from './parts';

const words = strings.operator.tenants;
type Tenant = Schemas['TenantView'];
type Project = Schemas['ProjectView'];

function Actions({ tenant }: { tenant: Tenant }) {
  const path = { tenant_id: tenant.id };
  const header = { ...wish(), ...ifMatch(tenant) };
  if (tenant.desired === 'deleted') return null;
  return (
    <>
      {tenant.desired === 'suspended' ? (
        <Act label={words.resume} title={words.resumeTitle(tenant.name)} consequence={words.resumeDetail} done={words.resumed} run={() => answer(api.POST('/api/v1/tenants/{tenant_id}/resume', { params: { path, header } }))} />
      ) : (
        <Act danger label={words.suspend} title={words.suspendTitle(tenant.name)} consequence={words.suspendDetail} done={words.suspended} run={() => answer(api.POST('/api/v1/tenants/{tenant_id}/suspend', { params: { path, header } }))} />
      )}
      <Act
        danger
        label={words.remove}
        title={words.removeTitle(tenant.name)}
        consequence={words.removeDetail(tenant.observed.projects, tenant.observed.allocations)}
        done={words.removed}
        run={() => answer(api.DELETE('/api/v1/tenants/{tenant_id}', { params: { path, header: ifMatch(tenant) } }))}
      />
    </>
  );
}

function CapButton({ project }: { project: Project }) {
  const [cap, setCap] = useState(String(project.gpu_cap));
  const run = async (): Promise<void> => {
    await answer(api.PATCH('/api/v1/projects/{project_id}', { params: { path: { project_id: project.id }, header: ifMatch(project) }, body: { gpu_cap: Number(cap) } }));
    tell(words.capSet(project.name, Number(cap)));
  };
  return (
    <FormDialog small trigger={words.setCap} title={words.setCapTitle(project.name)} action={words.setCap} run={run} onOpen={() => setCap(String(project.gpu_cap))} ready={/^\d+$/.test(cap)}>
      <p>{words.setCapDetail}</p>
      <TextField type="number" min={0} label={words.cap} value={cap} onChange={setCap} required focusFirst />
    </FormDialog>
  );
}

function AddProject({ tenant }: { tenant: Tenant }) {
  const [slug, setSlug] = useState('');
  const [name, setName] = useState('');
  const [cap, setCap] = useState('8');
  const run = async (): Promise<void> => {
    await answer(api.POST('/api/v1/tenants/{tenant_id}/projects', { params: { path: { tenant_id: tenant.id }, header: wish() }, body: { slug: slug.trim(), name: name.trim(), gpu_cap: Number(cap) } }));
    tell(words.added(name.trim()));
  };
  return (
    <FormDialog small trigger={words.addProject} title={words.addProjectTitle(tenant.name)} action={words.addProject} run={run} ready={slug.trim() !== '' && name.trim() !== '' && /^\d+$/.test(cap)}>
      <TextField label={words.slug} hint={words.slugHint} value={slug} onChange={setSlug} required focusFirst />
      <TextField label={words.name} value={name} onChange={setName} required />
      <TextField type="number" min={0} label={words.cap} value={cap} onChange={setCap} required />
    </FormDialog>
  );
}

function Shown({ tenant }: { tenant: Tenant }) {
  const may = useMayAct();
  const projects = useRead(things.projects(tenant.id));
  const columns: Column<Project>[] = [
    { id: 'name', title: words.name, value: (each) => each.name, render: (each) => <Ref id={each.id}>{each.name}</Ref> },
    { id: 'slug', title: words.slug, value: (each) => each.slug, render: (each) => <code>{each.slug}</code> },
    { id: 'state', title: words.state, value: (each) => each.execution, render: (each) => <StateBadge state={each.execution} /> },
    { id: 'cap', title: words.cap, align: 'end', value: (each) => each.gpu_cap },
    { id: 'allocations', title: words.allocations, align: 'end', value: (each) => each.observed.allocations },
    { id: 'said', title: words.said, value: (each) => each.projected },
    ...(may ? [{ id: 'actions', title: strings.shared.actions, align: 'end' as const, render: (each: Project) => <CapButton project={each} /> }] : []),
  ];
  return (
    <>
      {tenant.progress.wait && (
        <Note tone={tenant.progress.wait.over_budget ? 'bad' : 'busy'}>
          <p>{tenant.progress.wait.because}</p>
        </Note>
      )}
      <Card title={words.facts}>
        <p>{tenant.projected}</p>
        <Facts
          of={[
            [words.slug, <code key="s">{tenant.slug}</code>],
            [words.members, String(tenant.observed.members)],
            [words.accounts, String(tenant.observed.service_accounts)],
            [words.tokens, String(tenant.observed.tokens)],
            [words.allocations, String(tenant.observed.allocations)],
            [words.counted, tenant.observed.counted_at && <Time key="c" at={tenant.observed.counted_at} />],
            [words.created, <Time key="t" at={tenant.created_at} />],
          ]}
        />
      </Card>
      <Card title={words.projects} actions={may && <AddProject tenant={tenant} />}>
        <Reading of={projects}>
          {(list) => (
            <DataTable
              label={words.projects}
              columns={columns}
              rows={list.items}
              rowKey={(each) => each.id}
              sorting={{ column: 'name', descending: false }}
              empty={
                <Empty title={words.noProject}>
                  <p>{words.noProjectDetail}</p>
                </Empty>
              }
            />
          )}
        </Reading>
      </Card>
    </>
  );
}

/** The page. */
export function Component() {
  const { tenantId = '' } = useParams();
  const may = useMayAct();
  const tenant = useRead(operator.tenant(tenantId));
  return (
    <Page
      title={tenant.data?.name ?? words.tenant}
      mark={tenant.data && <StateBadge state={tenant.data.execution} />}
      crumbs={[{ label: words.title, to: '/operator/tenants' }]}
      actions={may && tenant.data && <Actions tenant={tenant.data} />}
      calls={[
        { method: 'GET', path: `/api/v1/tenants/${tenantId}`, cli: `gpuaas tenant show ${tenantId}` },
        { method: 'GET', path: `/api/v1/tenants/${tenantId}/projects`, cli: `gpuaas project list --tenant ${tenantId}` },
      ]}
    >
      <Reading of={tenant}>{(found) => <Shown tenant={found} />}</Reading>
    </Page>
  );
}
