// One-time tokens that bring hosts in.
import { useState } from 'react';
import { answer, api, ifMatch, wish, type Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import * as things from '../../api/things';
import { strings } from '../../strings';
import { Button, Select, TextField } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { DialogBox, FormDialog, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { CopyField, StateBadge, Time } from '../../ui/pieces';
import { Empty, Note, Reading } from '../../ui/states';
import { Act, Ref, useCatalogNames, useMayAct } from './parts';

const words = strings.operator.enrolment;
type Token = Schemas['EnrollmentTokenView'];
type Created = Schemas['EnrollmentTokenCreatedView'];

function Make({ onMade }: { onMade: (made: Created) => void }) {
  const pools = useRead(things.pools).data?.items ?? [];
  const [name, setName] = useState('');
  const [pool, setPool] = useState<string>();
  const [serial, setSerial] = useState('');
  const [minutes, setMinutes] = useState('15');
  const run = async (): Promise<void> => {
    onMade(
      await answer(
        api.POST('/api/v1/admin/enrollment-tokens', {
          params: { header: wish() },
          body: { node_name: name.trim(), pool_id: pool ?? '', lifetime_s: Number(minutes) * 60, ...(serial.trim() ? { hardware_serial: serial.trim() } : {}) },
        }),
      ),
    );
  };
  return (
    <FormDialog tone="primary" trigger={words.make} title={words.make} action={words.make} run={run} ready={name.trim() !== '' && pool !== undefined && /^([1-9]|1[0-5])$/.test(minutes)}>
      <TextField label={words.node} hint={words.nodeHint} value={name} onChange={setName} required focusFirst />
      <Select label={words.pool} value={pool} onChange={setPool} options={pools.map((each) => ({ id: each.id, label: each.slug, detail: each.name }))} placeholder={words.choosePool} />
      <TextField label={words.serial} hint={words.serialHint} value={serial} onChange={setSerial} />
      <TextField type="number" min={1} max={15} label={words.minutes} value={minutes} onChange={setMinutes} required />
    </FormDialog>
  );
}

function stateOf(token: Token): { label: string; tone: 'good' | 'idle' | 'warn' } {
  if (token.used_at) return { label: words.used, tone: 'good' };
  if (token.revoked_at) return { label: words.revoked, tone: 'idle' };
  return Date.parse(token.expires_at) < Date.now() ? { label: words.expired, tone: 'idle' } : { label: words.open, tone: 'warn' };
}

/** The page. */
export function Component() {
  const tokens = useRead(operator.enrollmentTokens);
  const may = useMayAct();
  const names = useCatalogNames();
  const [made, setMade] = useState<Created>();
  const columns: Column<Token>[] = [
    { id: 'node', title: words.node, value: (token) => token.node_name, render: (token) => (token.node_id ? <Ref id={token.node_id}>{token.node_name}</Ref> : token.node_name) },
    { id: 'pool', title: words.pool, value: (token) => names.pool(token.pool_id) },
    { id: 'state', title: words.state, value: (token) => stateOf(token).label, render: (token) => <StateBadge state="token" {...stateOf(token)} /> },
    { id: 'said', title: words.said, value: (token) => token.projected },
    { id: 'created', title: words.created, value: (token) => token.created_at, render: (token) => <Time at={token.created_at} /> },
    { id: 'expires', title: words.expires, value: (token) => token.expires_at, render: (token) => <Time at={token.expires_at} from="now" /> },
    {
      id: 'actions',
      title: strings.shared.actions,
      align: 'end',
      render: (token) =>
        may &&
        !token.used_at &&
        !token.revoked_at && (
          <Act
            small
            danger
            label={words.revoke}
            title={words.revokeTitle(token.node_name)}
            consequence={words.revokeDetail}
            done={words.wasRevoked}
            run={() => answer(api.DELETE('/api/v1/admin/enrollment-tokens/{enrollment_token_id}', { params: { path: { enrollment_token_id: token.id }, header: ifMatch(token) } }))}
          />
        ),
    },
  ];
  return (
    <Page title={words.title} lead={words.lead} actions={may && <Make onMade={setMade} />} calls={[{ method: 'GET', path: '/api/v1/admin/enrollment-tokens', cli: 'gpuaas enrollment-token list' }]}>
      <Reading of={tokens}>
        {(list) => (
          <DataTable
            label={words.title}
            columns={columns}
            rows={list.items}
            rowKey={(token) => token.id}
            complete={list.complete}
            sorting={{ column: 'created', descending: true }}
            empty={
              <Empty title={words.none}>
                <p>{words.noneDetail}</p>
              </Empty>
            }
          />
        )}
      </Reading>
      {made && (
        <DialogBox title={words.madeTitle(made.token.node_name)} isOpen onClose={() => setMade(undefined)}>
          <Note tone="warn">{words.onlyNow}</Note>
          <CopyField text={made.secret} what={words.secret} />
          <p className="small">{words.authority}</p>
          <CopyField text={made.authority_sha256} what={words.authority} />
          <div className="modal-actions">
            <Button
              onPress={() => {
                setMade(undefined);
                tell(words.kept);
              }}
            >
              {strings.shared.close}
            </Button>
          </div>
        </DialogBox>
      )}
    </Page>
  );
}
