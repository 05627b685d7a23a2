// What a page shows when it has no data: nothing there yet, still reading, not allowed, not there, refused, out of reach.
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Refusal, type Problem } from '../api/client';
import { strings } from '../strings';
import { Button, LinkButton } from './controls';
import type { Tone } from './icons';

const words = strings.shared;

/** A box with something to know. */
export function Note({ tone, title, children }: { tone: Tone; title?: ReactNode; children?: ReactNode }) {
  return (
    <div className="note" data-tone={tone} role={tone === 'bad' ? 'alert' : 'note'}>
      {title !== undefined && <strong className="note-title">{title}</strong>}
      {children}
    </div>
  );
}

/** A refusal with its code, what is wrong with which field, and where to read on. */
export function ProblemNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const refusal = error instanceof Refusal ? error : undefined;
  const problem = refusal?.problem;
  const retry = onRetry && (
    <div>
      <Button small onPress={onRetry}>
        {words.retry}
      </Button>
    </div>
  );
  if (!problem) {
    return (
      <Note tone="bad" title={refusal ? words.unreachable : words.unexpected}>
        <p>{refusal ? words.unreachableDetail : words.unexpectedDetail}</p>
        <p className="small soft">{error instanceof Error ? error.message : String(error)}</p>
        {retry}
      </Note>
    );
  }
  return (
    <Note tone="bad" title={problem.title}>
      {problem.detail !== `${problem.title}.` && <p>{problem.detail}</p>}
      {problem.errors && problem.errors.length > 0 && (
        <ul>
          {problem.errors.map((field) => (
            <li key={field.pointer}>
              <code>{field.pointer}</code>: {field.detail}
            </li>
          ))}
        </ul>
      )}
      <p className="small">
        {words.problemCode} <code>{problem.code}</code> · <a href={problem.type}>{words.problemPage}</a>
        {refusal?.requestId && (
          <>
            {' '}
            · {words.requestId} <code>{refusal.requestId}</code>
          </>
        )}
      </p>
      {retry}
    </Note>
  );
}

/** Nothing there yet, and what to do about it. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="blank">
      <strong className="blank-title">{title}</strong>
      {children}
      {action}
    </div>
  );
}

/** Still reading. */
export function Loading({ lines = 4 }: { lines?: number }) {
  return (
    <div className="stack-tight" role="status">
      <span className="hidden-but-read">{words.loading}</span>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} className="skeleton" data-line={line % 3} />
      ))}
    </div>
  );
}

function problemOf(error: unknown): Problem | undefined {
  return error instanceof Refusal ? error.problem : undefined;
}

/** The code of a problem, and where to read on. */
function CodeLine({ of }: { of: Pick<Problem, 'code' | 'type'> }) {
  return (
    <p className="small">
      {words.problemCode} <code>{of.code}</code> · <a href={of.type}>{words.problemPage}</a>
    </p>
  );
}

/** What the API would say; for pages that know it without asking. */
const forbidden = { code: 'forbidden', type: '/docs/errors/forbidden' } as const satisfies Pick<Problem, 'code' | 'type'>;

/** The caller may not see this. */
export function Denied({ error }: { error?: unknown }) {
  const problem = problemOf(error);
  return (
    <div className="blank" role="alert">
      <h2>{words.denied}</h2>
      <p>{problem?.detail ?? words.deniedDetail}</p>
      <CodeLine of={problem ?? forbidden} />
      <LinkButton to="/">{words.home}</LinkButton>
    </div>
  );
}

/** There is no such thing, or none for this caller. */
export function Missing({ error }: { error?: unknown }) {
  const problem = problemOf(error);
  return (
    <div className="blank" role="alert">
      <h2>{words.missing}</h2>
      <p>{words.missingDetail}</p>
      {problem && <CodeLine of={problem} />}
      <LinkButton to="/">{words.home}</LinkButton>
    </div>
  );
}

/** What stands in for something that could not be read. */
export function Refused({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  if (error instanceof Refusal && error.denied) return <Denied error={error} />;
  if (error instanceof Refusal && error.missing) return <Missing error={error} />;
  return <ProblemNote error={error} onRetry={onRetry} />;
}

/** Shows what a read gave, or how it stands. What was read before stays while it is read again. */
export function Reading<T>({ of, children, lines }: { of: UseQueryResult<T>; children: (value: T) => ReactNode; lines?: number }) {
  if (of.data !== undefined) {
    return (
      <>
        {of.error && <ProblemNote error={of.error} onRetry={() => void of.refetch()} />}
        {children(of.data)}
      </>
    );
  }
  if (of.error) return <Refused error={of.error} onRetry={() => void of.refetch()} />;
  return <Loading {...(lines === undefined ? {} : { lines })} />;
}
