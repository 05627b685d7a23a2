// One allocation: how to get in, what is happening, what it costs, why it is where it is; extending it and giving it back.
import { useState } from 'react';
import { Link, useParams, useSearchParams } from 'react-router';
import { answer, api, ifMatch, wish, type Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import { mayUse } from '../../api/session';
import * as things from '../../api/things';
import { useScope } from '../../app/scope';
import { useSession } from '../../app/session';
import { strings } from '../../strings';
import { TextField } from '../../ui/controls';
import { gpuModel } from '../../ui/format';
import { ConfirmButton, FormDialog, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { Card, CopyField, Facts, StateBadge, Tabs, Time } from '../../ui/pieces';
import { Note, Reading, Refused, Loading } from '../../ui/states';
import { Decisions, Events, Proofs, UsageOfAllocation } from './AllocationParts';
import { lives, waits } from './holding';
import { LiveTimeline } from './LiveTimeline';
import { PlacementRefusal } from './Refusal';

const words = strings.tenant.allocation;
type Allocation = Schemas['AllocationView'];

function release(it: Allocation): Promise<unknown> {
  return answer(api.POST('/api/v1/allocations/{allocation_id}/release', { params: { path: { allocation_id: it.id }, header: wish() } }));
}

function Extend({ of }: { of: Allocation }) {
  const [until, setUntil] = useState('');
  const at = new Date(until);
  const valid = !Number.isNaN(at.getTime());
  const extend = async (): Promise<void> => {
    await answer(
      api.POST('/api/v1/allocations/{allocation_id}/extend', {
        params: { path: { allocation_id: of.id }, header: { ...wish(), ...ifMatch(of) } },
        body: { lease_ends_at: `${at.toISOString().slice(0, 19)}Z` },
      }),
    );
    tell(words.extended);
  };
  return (
    <FormDialog trigger={words.extend} title={words.extendTitle(of.name)} action={words.extend} run={extend} ready={valid}>
      {of.lease_ends_at && (
        <p>
          {words.endsNow} <Time at={of.lease_ends_at} />
        </p>
      )}
      <TextField label={words.until} hint={words.untilHint} type="datetime-local" value={until} onChange={setUntil} focusFirst />
    </FormDialog>
  );
}

function Connect({ of }: { of: Allocation }) {
  if (!of.access) return null;
  return (
    <Card title={words.connect}>
      <CopyField text={`gpuaas ssh ${of.id}`} what={words.sshCommand} />
      <Facts
        of={[
          [words.user, <code key="user">{of.access.user}</code>],
          [words.address, <code key="ip">{of.access.private_ip}</code>],
          [words.keys, of.ssh_keys.map((key) => key.name).join(', ') || strings.shared.none],
          [words.console, <code key="console">gpuaas console {of.id}</code>],
        ]}
      />
      <div className="stack-tight">
        <span className="small soft">{words.hostKey}</span>
        <CopyField text={of.access.host_key} what={words.hostKey} />
      </div>
    </Card>
  );
}

function About({ of }: { of: Allocation }) {
  const regions = useRead(things.regions);
  const skus = useRead(things.skus);
  const sku = skus.data?.items.find((each) => each.id === of.sku_id);
  return (
    <Card title={words.about}>
      <Facts
        of={[
          [words.id, <code key="id">{of.id}</code>],
          [words.what, `${of.gpu_count} × ${sku ? gpuModel(sku.gpu_model) : of.sku_id}, ${strings.codes.shape[of.shape]}`],
          [strings.shared.region, regions.data?.items.find((each) => each.id === of.region_id)?.slug ?? of.region_id],
          [words.image, of.image_id],
          [words.asked, <Time key="asked" at={of.created_at} />],
          [words.since, <Time key="since" at={of.progress.since} />],
          [words.leaseEnds, of.lease_ends_at && <Time at={of.lease_ends_at} />],
          [words.labels, of.labels.length > 0 && of.labels.map((label) => `${label.key}=${label.value}`).join(' ')],
          [words.group, of.placement.group],
          [words.userData, of.has_user_data && strings.shared.yes],
          [words.mayRecreate, of.may_recreate && strings.shared.yes],
          [words.workload, of.workload_id && <Link to={`/projects/${of.project_id}/queue/${of.workload_id}`}>{of.workload_id}</Link>],
          [words.recreatedFrom, of.recreated_from && <Link to={`/allocations/${of.recreated_from}`}>{of.recreated_from}</Link>],
          [words.recreatedAs, of.recreated_as && <Link to={`/allocations/${of.recreated_as}`}>{of.recreated_as}</Link>],
        ]}
      />
    </Card>
  );
}

function Standing({ of }: { of: Allocation }) {
  const { wait, fault } = of.progress;
  return (
    <>
      {of.execution === 'refused' && (
        <Note tone="bad" title={words.refused}>
          {of.observed.reason && <p>{of.observed.reason}</p>}
          {of.observed.refusal && <PlacementRefusal refusal={of.observed.refusal} />}
          <p>
            <Link to={`/projects/${of.project_id}/launch`}>{words.tryOther}</Link>
          </p>
        </Note>
      )}
      {of.execution === 'failed' && (
        <Note tone="bad" title={words.failed}>
          <p>{of.observed.reason ?? of.projected}</p>
        </Note>
      )}
      {waits(of) && of.workload_id && (
        <Note tone="warn" title={words.inQueue}>
          <p>
            <Link to={`/projects/${of.project_id}/queue/${of.workload_id}`}>{words.whyInQueue}</Link>
          </p>
        </Note>
      )}
      {wait && (
        <Note tone={wait.over_budget ? 'bad' : 'busy'} title={wait.over_budget ? words.waitsTooLong : words.waits}>
          <p>{wait.because}</p>
          <p className="small soft">
            {words.waitUntil} <Time at={wait.until} />
          </p>
        </Note>
      )}
      {fault && (
        <Note tone="warn" title={words.fault(fault.count)}>
          <p>{fault.last}</p>
        </Note>
      )}
      {of.lease_warned_at && of.lease_ends_at && lives(of) && (
        <Note tone="warn" title={words.endsSoon}>
          <p>
            <Time at={of.lease_ends_at} from="now" />
          </p>
        </Note>
      )}
    </>
  );
}

function Views({ of }: { of: Allocation }) {
  const [search, setSearch] = useSearchParams();
  const ended = !lives(of);
  const views = [
    { id: 'timeline', title: words.timeline, content: <LiveTimeline allocationId={of.id} ended={ended} /> },
    { id: 'usage', title: words.usage, content: <UsageOfAllocation of={of} /> },
    { id: 'decisions', title: words.decisions, content: <Decisions allocationId={of.id} /> },
    { id: 'events', title: words.events, content: <Events allocationId={of.id} /> },
    ...(ended || of.execution === 'releasing' ? [{ id: 'proofs', title: words.proofs, content: <Proofs allocationId={of.id} /> }] : []),
  ];
  const wanted = search.get('view');
  return (
    <Card>
      <Tabs
        label={words.views}
        views={views}
        selected={views.find((view) => view.id === wanted)?.id ?? 'timeline'}
        onSelect={(id) => setSearch(id === 'timeline' ? {} : { view: id }, { replace: true })}
      />
    </Card>
  );
}

/** The page. */
export function Component() {
  const { projectId = '', allocationId = '' } = useParams();
  const session = useSession();
  const { current } = useScope();
  const found = useRead(things.allocation(allocationId));
  const crumbs = [{ label: strings.tenant.allocations.title, to: `/projects/${projectId}/allocations` }];
  const it = found.data;
  if (!it) {
    return (
      <Page title={words.title} crumbs={crumbs}>
        {found.error ? <Refused error={found.error} onRetry={() => void found.refetch()} /> : <Loading />}
      </Page>
    );
  }
  const may = current !== undefined && mayUse(session, current.project) && it.desired === 'running' && lives(it);
  return (
    <Page
      title={it.name}
      mark={<StateBadge state={it.execution} />}
      lead={it.projected}
      crumbs={crumbs}
      actions={
        may && (
          <>
            {it.lease_ends_at && <Extend of={it} />}
            <ConfirmButton trigger={words.release} title={words.releaseTitle(it.name)} action={words.release} run={() => release(it)} onDone={() => tell(words.releasing(it.name))}>
              <p>{words.releaseLoss(it.gpu_count)}</p>
              <code>{it.id}</code>
            </ConfirmButton>
          </>
        )
      }
      calls={[
        { method: 'GET', path: `/api/v1/allocations/${it.id}`, cli: `gpuaas allocation show ${it.id}` },
        { method: 'GET', path: `/api/v1/allocations/${it.id}/timeline`, cli: `gpuaas allocation timeline ${it.id} --follow` },
        { method: 'GET', path: `/api/v1/allocations/${it.id}/decisions`, cli: `gpuaas allocation why ${it.id}` },
        { method: 'POST', path: `/api/v1/allocations/${it.id}/release`, cli: `gpuaas release ${it.id}` },
      ]}
    >
      <Reading of={found}>
        {() => (
          <>
            <Standing of={it} />
            <div className="grid-side">
              <Views of={it} />
              <div className="stack">
                <Connect of={it} />
                <About of={it} />
              </div>
            </div>
          </>
        )}
      </Reading>
    </Page>
  );
}
