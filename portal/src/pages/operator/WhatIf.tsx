// Policy what-if: edit the governance document, ask what would start, stop or wait otherwise, and only then apply it. The
// control plane answers with the very function that decides; nothing is changed by asking.
import { useState } from 'react';
import { parse, stringify } from 'yaml';
import { answer, api, ifMatch, wish, type Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { Button, Checkbox, TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { ConfirmButton, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { Card, StateBadge, Tile } from '../../ui/pieces';
import { Empty, Note, ProblemNote, Reading } from '../../ui/states';
import { Ref, useMayAct, word } from './parts';
import { QueueTree } from './Queues';

const words = strings.operator.whatIf;
type Body = Schemas['GovernanceApplyBody'];

interface Asked {
  body: Body;
  simulation: Schemas['SimulationView'];
  change: Schemas['GovernanceAppliedView'];
}

function Effects({ simulation }: { simulation: Schemas['SimulationView'] }) {
  const tones = { starts: 'good', stops: 'bad', waits_otherwise: 'warn' } as const;
  const columns: Column<Schemas['EffectView']>[] = [
    { id: 'effect', title: words.effect, value: (each) => words.effects[each.effect], render: (each) => <StateBadge state={each.effect} tone={tones[each.effect]} label={words.effects[each.effect]} /> },
    { id: 'name', title: strings.operator.queues.workload, value: (each) => each.name, render: (each) => <Ref id={each.workload_id}>{each.name}</Ref> },
    { id: 'queue', title: strings.operator.queues.queue, value: (each) => each.queue },
    { id: 'rule', title: strings.operator.queues.rule, value: (each) => (each.rule ? word(each.rule) : undefined) },
    { id: 'why', title: strings.operator.queues.why, value: (each) => each.wait?.sentence },
  ];
  return <DataTable label={words.effectsTitle} columns={columns} rows={simulation.effects} rowKey={(each) => `${each.workload_id}${each.effect}`} empty={<Empty title={words.noEffect}><p>{words.noEffectDetail}</p></Empty>} />;
}

function Changes({ change }: { change: Schemas['GovernanceAppliedView'] }) {
  const changed = change.changes.filter((each) => each.action !== 'keep');
  const columns: Column<Schemas['GovernanceChangeView']>[] = [
    { id: 'action', title: words.action, value: (each) => word(each.action), render: (each) => <StateBadge state={each.action} tone={each.action === 'delete' ? 'bad' : each.action === 'create' ? 'good' : 'busy'} /> },
    { id: 'kind', title: words.kind, value: (each) => word(each.kind) },
    { id: 'slug', title: words.name, value: (each) => each.slug },
    {
      id: 'fields',
      title: words.fields,
      value: (each) => each.fields.map((field) => `${field.field}: ${field.before ?? '–'} → ${field.after ?? '–'}`).join('; '),
      render: (each) => (
        <div>
          {each.fields.map((field) => (
            <div key={field.field}>
              <code>{field.field}</code>: {field.before ?? '–'} → {field.after ?? '–'}
            </div>
          ))}
        </div>
      ),
    },
  ];
  return <DataTable label={words.changes} columns={columns} rows={changed} rowKey={(each) => `${each.kind}${each.project_id ?? ''}${each.slug}`} empty={<p className="soft">{words.noChange}</p>} />;
}

function Answered({ asked, version }: { asked: Asked; version: number }) {
  const may = useMayAct();
  const { simulation, change, body } = asked;
  const apply = (): Promise<unknown> => answer(api.POST('/api/v1/admin/governance/apply', { params: { header: { ...wish(), ...ifMatch({ version }) } }, body }));
  const changed = change.changes.filter((each) => each.action !== 'keep').length;
  return (
    <div className="stack" role="status">
      <div className="tiles">
        <Tile label={words.changes} value={changed} />
        <Tile label={words.effects.starts} value={simulation.starts} />
        <Tile label={words.effects.stops} value={simulation.stops} />
      </div>
      {change.findings.length > 0 && (
        <Note tone="warn" title={words.findings}>
          <ul>
            {change.findings.map((finding) => (
              <li key={`${finding.kind}${finding.slug}${finding.code}${finding.field}`}>
                {word(finding.kind)} <strong>{finding.slug}</strong>: {finding.detail}
              </li>
            ))}
          </ul>
        </Note>
      )}
      <h2>{words.changes}</h2>
      <Changes change={change} />
      <h2>{words.effectsTitle}</h2>
      <Effects simulation={simulation} />
      <h2>{words.queuesAfter}</h2>
      <QueueTree uses={simulation.queues} />
      {may && changed > 0 && (
        <div>
          <ConfirmButton trigger={words.apply} title={words.applyTitle(changed)} action={words.apply} run={apply} onDone={() => tell(words.applied)}>
            <p>{words.applyDetail(simulation.starts, simulation.stops)}</p>
          </ConfirmButton>
        </div>
      )}
    </div>
  );
}

function Editor({ current }: { current: Schemas['GovernanceView'] }) {
  const [text, setText] = useState(() => stringify(current.governance));
  const [prune, setPrune] = useState(false);
  const [pending, setPending] = useState(false);
  const [wrong, setWrong] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [asked, setAsked] = useState<Asked>();
  const ask = async (): Promise<void> => {
    setWrong(undefined);
    setError(undefined);
    let governance: Schemas['Governance'];
    try {
      governance = (parse(text) as Schemas['Governance'] | null) ?? {};
    } catch (cause) {
      setWrong(cause instanceof Error ? cause.message : String(cause));
      return;
    }
    const body: Body = { governance, prune, dry_run: false };
    setPending(true);
    try {
      const simulation = await answer(api.POST('/api/v1/admin/governance/simulate', { body }));
      const change = await answer(api.POST('/api/v1/admin/governance/apply', { params: { header: wish() }, body: { ...body, dry_run: true } }));
      setAsked({ body, simulation, change });
    } catch (cause) {
      setAsked(undefined);
      setError(cause);
    } finally {
      setPending(false);
    }
  };
  return (
    <div className="stack">
      <Card title={words.document}>
        <div className="tall-text">
          <TextField multiline label={words.document} hideLabel hint={words.documentHint} value={text} onChange={setText} error={wrong} />
        </div>
        <Checkbox selected={prune} onChange={setPrune}>
          {words.prune}
        </Checkbox>
        <div className="row">
          <Button tone="primary" pending={pending} onPress={() => void ask()}>
            {words.ask}
          </Button>
          <Button onPress={() => setText(stringify(current.governance))}>{words.reset}</Button>
        </div>
      </Card>
      {error !== undefined && <ProblemNote error={error} />}
      {asked && <Answered asked={asked} version={current.version} />}
    </div>
  );
}

/** The page. */
export function Component() {
  const governance = useRead(operator.governance);
  return (
    <Page
      title={words.title}
      lead={words.lead}
      crumbs={[{ label: strings.operator.queues.title, to: '/operator/queues' }]}
      calls={[
        { method: 'GET', path: '/api/v1/admin/governance', cli: 'gpuaas governance export -o yaml' },
        { method: 'POST', path: '/api/v1/admin/governance/simulate', body: { governance: {} }, cli: 'gpuaas queue simulate -f governance.yaml' },
      ]}
    >
      <Reading of={governance}>{(current) => <Editor key={current.version} current={current} />}</Reading>
    </Page>
  );
}
