// What the operators' pages share: links from ids, buttons that ask first, and names for ids.
import { useState, type ReactNode } from 'react';
import { Link } from 'react-router';
import { useRead } from '../../api/reads';
import { mayOperate } from '../../api/session';
import * as things from '../../api/things';
import { useScope } from '../../app/scope';
import { useSession } from '../../app/session';
import { strings } from '../../strings';
import { TextField } from '../../ui/controls';
import { sentence } from '../../ui/format';
import { ConfirmButton, FormDialog, tell } from '../../ui/overlays';
import { Note } from '../../ui/states';
import { placeOf, shortId } from './ids';

const words = strings.operator.parts;

/** Whether who is signed in may change things here. */
export function useMayAct(): boolean {
  return mayOperate(useSession());
}

/** An id, as a link where there is a page for it; tenants and projects by their names. */
export function Ref({ id, children }: { id: string; children?: ReactNode }) {
  const { all, tenants } = useScope();
  const to = placeOf(id);
  const name = all.find((each) => each.project.id === id)?.path ?? tenants.find((each) => each.id === id)?.slug;
  const shown = children ?? name ?? (
    <code className="nowrap" title={id}>
      {shortId(id)}
    </code>
  );
  return to ? (
    <Link to={to} className="row-link">
      {shown}
    </Link>
  ) : (
    <>{shown}</>
  );
}

interface ActProps {
  /** What the button says. */
  label: string;
  /** A question that names the object. */
  title: string;
  /** What follows from it. */
  consequence: ReactNode;
  run: (reason: string) => Promise<unknown>;
  /** What is said when it was done. */
  done: string;
  /** Asks for a reason, which is kept in the audit. */
  reason?: boolean;
  danger?: boolean;
  small?: boolean;
  disabled?: boolean;
}

/** A button that names the object and the consequences before it does something. */
export function Act({ label, title, consequence, run, done, reason, danger, small, disabled }: ActProps) {
  const [why, setWhy] = useState('');
  const common = { ...(small ? { small } : {}), ...(disabled ? { disabled } : {}) };
  if (!reason) {
    return (
      <ConfirmButton trigger={label} title={title} action={label} tone={danger ? 'danger' : 'plain'} run={() => run('')} onDone={() => tell(done)} {...common}>
        <p>{consequence}</p>
      </ConfirmButton>
    );
  }
  const act = async (): Promise<void> => {
    await run(why.trim());
    tell(done);
  };
  return (
    <FormDialog trigger={label} title={title} action={label} run={act} onOpen={() => setWhy('')} ready={why.trim() !== ''} tone={danger ? 'danger' : 'plain'} {...common}>
      <Note tone={danger ? 'warn' : 'idle'}>
        <p>{consequence}</p>
      </Note>
      <TextField label={words.reason} hint={words.reasonHint} value={why} onChange={setWhy} required focusFirst />
    </FormDialog>
  );
}

/** Yes or no, as a word. */
export function YesNo({ value }: { value: boolean }) {
  return <>{value ? strings.shared.yes : strings.shared.no}</>;
}

/** A word of the API as people write it. */
export function word(code: string): string {
  return sentence(code);
}

/** Names of pools and regions for their ids. */
export function useCatalogNames(): { pool: (id: string) => string; region: (id: string) => string; regionOfPool: (id: string) => string } {
  const pools = useRead(things.pools);
  const regions = useRead(things.regions);
  const pool = (id: string): string => pools.data?.items.find((each) => each.id === id)?.slug ?? shortId(id);
  const region = (id: string): string => regions.data?.items.find((each) => each.id === id)?.slug ?? shortId(id);
  return { pool, region, regionOfPool: (id) => region(pools.data?.items.find((each) => each.id === id)?.region_id ?? '') };
}
