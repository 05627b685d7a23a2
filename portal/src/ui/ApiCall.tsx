// The API calls behind a page, to copy. Every page ends with this.
import { strings } from '../strings';
import { shellWord } from './format';
import { CopyField, Disclosure } from './pieces';

const words = strings.shared;

/** One call of the API, and the command that makes it. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
  /** The same with the `gpuaas` command, where there is one. */
  cli?: string;
}

/** A call as a line for a shell. */
export function curlOf(call: Call): string {
  const parts = ['curl'];
  if (call.method !== 'GET') parts.push('-X', call.method);
  parts.push('-H "Authorization: Bearer $GPUAAS_TOKEN"');
  if (call.method === 'POST') parts.push('-H "Idempotency-Key: $(uuidgen)"');
  if (call.body !== undefined) parts.push(`-H 'Content-Type: application/json'`, `-d ${shellWord(JSON.stringify(call.body))}`);
  parts.push(`"$GPUAAS_URL${call.path}"`);
  return parts.join(' ');
}

/** What this page asks the API. */
export function ApiCalls({ calls }: { calls: readonly Call[] }) {
  if (calls.length === 0) return null;
  return (
    <div className="api-call">
      <Disclosure title={words.apiCall}>
        <div className="stack">
          <p className="soft small">{words.apiCallLead}</p>
          {calls.map((call) => (
            <div key={`${call.method} ${call.path}`} className="stack-tight">
              <code>
                {call.method} {call.path}
              </code>
              <CopyField text={curlOf(call)} what={words.asCurl} />
              {call.cli && <CopyField text={call.cli} what={words.asCli} />}
            </div>
          ))}
        </div>
      </Disclosure>
    </div>
  );
}
