// The allocations of a project: those that live, and those that ended.
import { useState } from 'react';
import { Link, useParams } from 'react-router';
import type { Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import { mayUse } from '../../api/session';
import * as things from '../../api/things';
import { useScope } from '../../app/scope';
import { useSession } from '../../app/session';
import { strings } from '../../strings';
import { Checkbox, LinkButton } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { Page } from '../../ui/Page';
import { StateBadge, Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';
import { lives } from './holding';

const words = strings.tenant.allocations;
type Allocation = Schemas['AllocationView'];

/** The page. */
export function Component() {
  const { projectId = '' } = useParams();
  const session = useSession();
  const { current, regionId } = useScope();
  const list = useRead(things.allocations(projectId));
  const regions = useRead(things.regions);
  const skus = useRead(things.skus);
  const [ended, setEnded] = useState(false);
  const may = current !== undefined && mayUse(session, current.project);
  const regionOf = (id: string): string => regions.data?.items.find((region) => region.id === id)?.slug ?? id;
  const skuOf = (id: string): string => skus.data?.items.find((sku) => sku.id === id)?.slug ?? id;
  const columns: Column<Allocation>[] = [
    {
      id: 'name',
      title: words.name,
      value: (each) => each.name,
      render: (each) => (
        <Link className="row-link" to={`/projects/${projectId}/allocations/${each.id}`}>
          {each.name}
        </Link>
      ),
    },
    {
      id: 'state',
      title: words.state,
      value: (each) => each.execution,
      render: (each) => (
        <span>
          <StateBadge state={each.execution} />
          {each.progress.wait && <span className="small soft"> {each.progress.wait.because}</span>}
        </span>
      ),
    },
    { id: 'sku', title: words.sku, value: (each) => skuOf(each.sku_id) },
    { id: 'gpus', title: words.gpus, value: (each) => each.gpu_count, align: 'end' },
    { id: 'region', title: strings.shared.region, value: (each) => regionOf(each.region_id) },
    { id: 'created', title: words.created, value: (each) => each.created_at, render: (each) => <Time at={each.created_at} from="now" /> },
    {
      id: 'ends',
      title: words.ends,
      value: (each) => each.lease_ends_at,
      render: (each) => (each.lease_ends_at && lives(each) ? <Time at={each.lease_ends_at} from="now" /> : <span className="soft">–</span>),
    },
    { id: 'id', title: words.id, value: (each) => each.id, render: (each) => <code className="small">{each.id}</code> },
  ];
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={may && <LinkButton tone="primary" to={`/projects/${projectId}/launch`}>{strings.shared.nav.launch}</LinkButton>}
      calls={[{ method: 'GET', path: `/api/v1/projects/${projectId}/allocations`, ...(current ? { cli: `gpuaas allocation list --project ${current.path}` } : {}) }]}
    >
      <Reading of={list}>
        {(all) => {
          const rows = all.items.filter((each) => regionId === undefined || each.region_id === regionId).filter((each) => ended || lives(each));
          return (
            <>
              <Checkbox selected={ended} onChange={setEnded}>
                {words.showEnded(all.items.filter((each) => !lives(each)).length)}
              </Checkbox>
              <DataTable
                label={words.title}
                columns={columns}
                rows={rows}
                complete={all.complete}
                rowKey={(each) => each.id}
                sorting={{ column: 'created', descending: true }}
                empty={
                  <Empty title={words.empty} action={may && <LinkButton tone="primary" to={`/projects/${projectId}/launch`}>{strings.shared.nav.launch}</LinkButton>}>
                    <p>{words.emptyDetail}</p>
                  </Empty>
                }
              />
            </>
          );
        }}
      </Reading>
    </Page>
  );
}
