// The public keys of a project.
import { useParams } from 'react-router';
import { useState } from 'react';
import { answer, api, ifMatch, wish, type Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import { mayUse } from '../../api/session';
import * as things from '../../api/things';
import { useScope } from '../../app/scope';
import { useSession } from '../../app/session';
import { strings } from '../../strings';
import { TextField, type ButtonTone } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { ConfirmButton, FormDialog, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';

const words = strings.tenant.sshKeys;
type Key = Schemas['SshKeyView'];

/** A button that opens the form to add a key. */
export function AddKey({ projectId, onAdded, tone = 'primary' }: { projectId: string; onAdded?: (key: Key) => void; tone?: ButtonTone }) {
  const [name, setName] = useState('');
  const [publicKey, setPublicKey] = useState('');
  const add = async (): Promise<void> => {
    const key = await answer(
      api.POST('/api/v1/projects/{project_id}/ssh-keys', {
        params: { path: { project_id: projectId }, header: wish() },
        body: { name: name.trim(), public_key: publicKey.trim() },
      }),
    );
    tell(words.wasAdded(key.name));
    onAdded?.(key);
  };
  const reset = (): void => {
    setName('');
    setPublicKey('');
  };
  return (
    <FormDialog tone={tone} trigger={words.add} title={words.add} action={words.add} run={add} onOpen={reset} ready={name.trim() !== '' && publicKey.trim() !== ''}>
      <TextField label={words.name} hint={words.nameHint} value={name} onChange={setName} required focusFirst />
      <TextField label={words.publicKey} hint={words.publicKeyHint} value={publicKey} onChange={setPublicKey} required multiline placeholder="ssh-ed25519 AAAA…" />
    </FormDialog>
  );
}

function remove(key: Key): Promise<unknown> {
  return answer(api.DELETE('/api/v1/ssh-keys/{ssh_key_id}', { params: { path: { ssh_key_id: key.id }, header: ifMatch(key) } }));
}

/** The page. */
export function Component() {
  const { projectId = '' } = useParams();
  const session = useSession();
  const { current } = useScope();
  const keys = useRead(things.sshKeys(projectId));
  const may = current !== undefined && mayUse(session, current.project);
  const columns: Column<Key>[] = [
    { id: 'name', title: words.name, value: (key) => key.name },
    { id: 'fingerprint', title: words.fingerprint, value: (key) => key.fingerprint, render: (key) => <code>{key.fingerprint}</code> },
    { id: 'added', title: words.added, value: (key) => key.created_at, render: (key) => <Time at={key.created_at} /> },
    ...(may
      ? [
          {
            id: 'actions',
            title: strings.shared.actions,
            align: 'end' as const,
            render: (key: Key) => (
              <ConfirmButton
                small
                trigger={words.remove}
                title={words.removeTitle(key.name)}
                action={words.remove}
                run={() => remove(key)}
                onDone={() => tell(words.wasRemoved(key.name))}
              >
                <p>{words.removeDetail}</p>
                <code>{key.fingerprint}</code>
              </ConfirmButton>
            ),
          },
        ]
      : []),
  ];
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={may && <AddKey projectId={projectId} />}
      calls={[{ method: 'GET', path: `/api/v1/projects/${projectId}/ssh-keys`, ...(current ? { cli: `gpuaas ssh-key list --project ${current.path}` } : {}) }]}
    >
      <Reading of={keys}>
        {(list) => (
          <DataTable
            label={words.title}
            columns={columns}
            rows={list.items}
            complete={list.complete}
            rowKey={(key) => key.id}
            sorting={{ column: 'name', descending: false }}
            empty={
              <Empty title={words.empty}>
                <p>{words.emptyDetail}</p>
              </Empty>
            }
          />
        )}
      </Reading>
    </Page>
  );
}
