// Allocations of all projects, and the way to one by its id.
import { useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import type { Schemas } from '../../api/client';
import { readOptions } from '../../api/reads';
import * as things from '../../api/things';
import { useScope } from '../../app/scope';
import { strings } from '../../strings';
import { Button, Checkbox, TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { Page } from '../../ui/Page';
import { StateBadge, Time } from '../../ui/pieces';
import { Empty, Loading, ProblemNote } from '../../ui/states';
import { Ref, useCatalogNames, word } from './parts';

const words = strings.operator.allocation;
type Allocation = Schemas['AllocationView'];
const over: readonly string[] = ['released', 'refused', 'failed'];

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
  const { all, ready } = useScope();
  const names = useCatalogNames();
  const [ended, setEnded] = useState(false);
  const lists = useQueries({ queries: all.map(({ project }) => readOptions(things.allocations(project.id))) });
  const pathOf = new Map(all.map((each) => [each.project.id, each.path]));
  const rows = lists.flatMap((list) => list.data?.items ?? []).filter((each) => ended || !over.includes(each.execution));
  const failed = lists.find((list) => list.error);
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
  return (
    <Page title={words.title} lead={words.lead} actions={<Open />} calls={[{ method: 'GET', path: '/api/v1/projects/{project_id}/allocations', cli: 'gpuaas allocation list --project TENANT/PROJECT' }]}>
      <Checkbox selected={ended} onChange={setEnded}>
        {words.withEnded}
      </Checkbox>
      {failed && <ProblemNote error={failed.error} onRetry={() => void failed.refetch()} />}
      {!ready || lists.some((list) => list.isPending) ? (
        <Loading lines={6} />
      ) : (
        <DataTable
          label={words.title}
          columns={columns}
          rows={rows}
          rowKey={(each) => each.id}
          sorting={{ column: 'created', descending: true }}
          complete={lists.every((list) => list.data?.complete ?? true)}
          empty={
            <Empty title={words.none}>
              <p>{words.noneDetail}</p>
            </Empty>
          }
        />
      )}
    </Page>
  );
}
