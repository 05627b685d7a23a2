// The catalogue: one page for each kind of thing, and one for each thing.
import { useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { parse, stringify } from 'yaml';
import { useRead } from '../../../api/reads';
import { strings } from '../../../strings';
import { Checkbox, TextField } from '../../../ui/controls';
import { DataTable, type Column } from '../../../ui/DataTable';
import { FormDialog, tell } from '../../../ui/overlays';
import { Page } from '../../../ui/Page';
import { Card, Facts, Time } from '../../../ui/pieces';
import { Empty, Missing, Reading } from '../../../ui/states';
import { Act, useMayAct } from '../parts';
import { kinds, type Editable, type Item, type Kind } from './kinds';

const words = strings.operator.catalog;

function KindTabs({ current }: { current: string }) {
  return (
    <nav aria-label={words.title} className="subnav">
      <ul className="plain-list row">
        {kinds.map((kind) => (
          <li key={kind.id}>
            <Link to={`/operator/catalog/${kind.id}`} className="subnav-link" aria-current={kind.id === current ? 'page' : undefined}>
              {words.kinds[kind.id]}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** A form over a whole document, as YAML or JSON. */
function DocumentButton({ trigger, title, hint, start, save, done, primary }: { trigger: string; title: string; hint: string; start: string; save: (value: unknown) => Promise<unknown>; done: string; primary?: boolean }) {
  const [text, setText] = useState(start);
  const [wrong, setWrong] = useState<string>();
  const run = async (): Promise<void> => {
    let value: unknown;
    try {
      value = parse(text);
    } catch (cause) {
      setWrong(cause instanceof Error ? cause.message : String(cause));
      throw cause;
    }
    setWrong(undefined);
    await save(value);
    tell(done);
  };
  return (
    <FormDialog trigger={trigger} title={title} action={words.save} run={run} onOpen={() => setText(start)} tone={primary ? 'primary' : 'plain'}>
      <div className="tall-text">
        <TextField multiline label={words.document} hint={hint} value={text} onChange={setText} error={wrong} focusFirst />
      </div>
    </FormDialog>
  );
}

function EditButton({ item, kind }: { item: Item; kind: Kind }) {
  const fields = item.edit?.fields ?? [];
  const initial = Object.fromEntries(fields.map((field) => [field.id, field.value]));
  const [values, setValues] = useState<Record<string, string>>(initial);
  const set = (id: string, value: string): void => setValues((before) => ({ ...before, [id]: value }));
  const run = async (): Promise<void> => {
    await item.edit?.save(values);
    tell(words.saved(item.name));
  };
  const control = (field: Editable) => {
    if (field.kind === 'switch') {
      return (
        <Checkbox key={field.id} selected={values[field.id] === 'true'} onChange={(on) => set(field.id, on ? 'true' : 'false')}>
          {words.facts[field.label]}
        </Checkbox>
      );
    }
    return <TextField key={field.id} type={field.kind} label={words.facts[field.label]} value={values[field.id] ?? ''} onChange={(value) => set(field.id, value)} />;
  };
  return (
    <FormDialog tone="primary" trigger={words.edit} title={words.editTitle(words.one[kind.id], item.name)} action={words.save} run={run} onOpen={() => setValues(initial)}>
      {fields.map(control)}
    </FormDialog>
  );
}

function ItemActions({ item, kind }: { item: Item; kind: Kind }) {
  const navigate = useNavigate();
  const one = words.one[kind.id];
  const remove = async (): Promise<void> => {
    await item.remove?.();
    await navigate(`/operator/catalog/${kind.id}`);
  };
  return (
    <>
      {item.edit && <EditButton item={item} kind={kind} />}
      {item.document && (
        <DocumentButton primary trigger={words.edit} title={words.editTitle(one, item.name)} hint={words.documentHint} start={stringify(item.document.value)} save={item.document.save} done={words.saved(item.name)} />
      )}
      {item.acts?.map((act) => (
        <Act key={act.id} label={words.acts[act.id]} title={`${words.acts[act.id]}: ${item.name}?`} consequence={words.actDetails[act.id]} done={words.saved(item.name)} run={act.run} {...(act.danger ? { danger: true } : {})} />
      ))}
      {item.remove && <Act danger label={words.remove} title={words.removeTitle(one, item.name)} consequence={words.removeDetail} done={words.removed(item.name)} run={remove} />}
    </>
  );
}

function ListPage({ kind }: { kind: Kind }) {
  const may = useMayAct();
  const list = useRead(kind.read);
  const shape = list.data?.items[0]?.facts.filter((fact) => fact.column) ?? [];
  const factOf = (item: Item, id: string) => item.facts.find((fact) => fact.id === id);
  const columns: Column<Item>[] = [
    {
      id: 'item',
      title: words.one[kind.id],
      value: (item) => item.name,
      render: (item) => (
        <Link className="row-link" to={`/operator/catalog/${kind.id}/${encodeURIComponent(item.id)}`}>
          {item.name}
        </Link>
      ),
    },
    ...shape.map(
      (fact): Column<Item> => ({
        id: fact.id,
        title: words.facts[fact.id],
        value: (item) => factOf(item, fact.id)?.value,
        render: (item) => factOf(item, fact.id)?.shown ?? factOf(item, fact.id)?.value ?? '–',
        ...(fact.end ? { align: 'end' as const } : {}),
      }),
    ),
  ];
  return (
    <Page
      title={words.kinds[kind.id]}
      windowTitle={words.kinds[kind.id]}
      lead={words.leads[kind.id]}
      actions={may && kind.create && <DocumentButton primary trigger={words.add(words.one[kind.id])} title={words.add(words.one[kind.id])} hint={words.newHint} start={words.examples[kind.id]} save={kind.create} done={words.added} />}
      calls={[{ method: 'GET', path: kind.path, ...(kind.cli ? { cli: kind.cli } : {}) }]}
    >
      <KindTabs current={kind.id} />
      <Reading of={list}>
        {(found) => (
          <DataTable
            key={kind.id}
            label={words.kinds[kind.id]}
            columns={columns}
            rows={found.items}
            rowKey={(item) => item.id}
            complete={found.complete}
            sorting={{ column: 'item', descending: false }}
            empty={
              <Empty title={words.none}>
                <p>{words.leads[kind.id]}</p>
              </Empty>
            }
          />
        )}
      </Reading>
    </Page>
  );
}

function ItemPage({ kind, id }: { kind: Kind; id: string }) {
  const may = useMayAct();
  const list = useRead(kind.read);
  const item = list.data?.items.find((each) => each.id === id);
  return (
    <Page
      title={item?.name ?? id}
      crumbs={[{ label: words.kinds[kind.id], to: `/operator/catalog/${kind.id}` }]}
      actions={may && item && <ItemActions key={item.version} item={item} kind={kind} />}
      calls={[{ method: 'GET', path: `${kind.path}/${id}` }]}
    >
      <Reading of={list}>
        {() =>
          item ? (
            <div className="grid-2">
              <Card title={words.one[kind.id]}>
                <Facts of={[...item.facts.map((fact) => [words.facts[fact.id], fact.shown ?? fact.value] as const), [words.facts.created, item.createdAt && <Time key="c" at={item.createdAt} />], [words.facts.version, String(item.version)]]} />
              </Card>
              {item.document && (
                <Card title={words.document}>
                  {/* A long document can be scrolled with the keyboard. */}
                  {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
                  <pre className="document" tabIndex={0}>
                    {stringify(item.document.value)}
                  </pre>
                </Card>
              )}
            </div>
          ) : (
            <Missing />
          )
        }
      </Reading>
    </Page>
  );
}

/** The page: a list, or one thing of it. */
export function Component() {
  const { kind: wanted = 'skus', id } = useParams();
  const kind = kinds.find((each) => each.id === wanted);
  if (!kind) {
    return (
      <Page title={words.title}>
        <Missing />
      </Page>
    );
  }
  return id === undefined ? <ListPage key={kind.id} kind={kind} /> : <ItemPage key={`${kind.id}${id}`} kind={kind} id={id} />;
}
