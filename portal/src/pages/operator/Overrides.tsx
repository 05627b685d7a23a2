// Requests to let a slot go on without a wipe proof. One operator asks; another one decides.
import { answer, api, wish, type Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { useSession } from '../../app/session';
import { strings } from '../../strings';
import { DataTable, type Column } from '../../ui/DataTable';
import { Page } from '../../ui/Page';
import { StateBadge, Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';
import { Act, Ref, useMayAct } from './parts';

const words = strings.operator.overrides;
type Override = Schemas['WipeOverrideView'];
const tones = { requested: 'warn', approved: 'busy', rejected: 'idle', expired: 'idle', used: 'idle' } as const;

function Decide({ each }: { each: Override }) {
  const me = useSession().who.principal.id;
  const may = useMayAct();
  if (!may || each.execution !== 'requested') return null;
  const path = { override_id: each.id };
  return (
    <div className="row">
      {each.requested_by === me ? (
        <span className="small soft">{words.anotherPerson}</span>
      ) : (
        <Act
          small
          danger
          label={words.approve}
          title={words.approveTitle(each.slot_id)}
          consequence={words.approveDetail}
          done={words.approved}
          run={() => answer(api.POST('/api/v1/admin/wipe-overrides/{override_id}/approve', { params: { path, header: wish() } }))}
        />
      )}
      <Act
        small
        label={words.reject}
        title={words.rejectTitle(each.slot_id)}
        consequence={words.rejectDetail}
        done={words.rejected}
        run={() => answer(api.POST('/api/v1/admin/wipe-overrides/{override_id}/reject', { params: { path, header: wish() } }))}
      />
    </div>
  );
}

/** The page. */
export function Component() {
  const overrides = useRead(operator.overrides);
  const columns: Column<Override>[] = [
    { id: 'slot', title: words.slot, value: (each) => each.slot_id, render: (each) => <Ref id={each.slot_id} /> },
    { id: 'state', title: words.state, value: (each) => each.execution, render: (each) => <StateBadge state={each.execution} tone={tones[each.execution]} /> },
    { id: 'reason', title: words.reason, value: (each) => each.reason },
    { id: 'evidence', title: words.evidence, value: (each) => each.evidence_ref },
    { id: 'by', title: words.by, value: (each) => each.requested_by, render: (each) => <Ref id={each.requested_by} /> },
    { id: 'at', title: words.at, value: (each) => each.requested_at, render: (each) => <Time at={each.requested_at} /> },
    { id: 'expires', title: words.expires, value: (each) => each.expires_at, render: (each) => <Time at={each.expires_at} from="now" /> },
    { id: 'decided', title: words.decidedBy, value: (each) => each.decided_by, render: (each) => (each.decided_by ? <Ref id={each.decided_by} /> : '–') },
    { id: 'actions', title: strings.shared.actions, render: (each) => <Decide each={each} /> },
  ];
  return (
    <Page title={words.title} lead={words.lead} crumbs={[{ label: strings.operator.stuck.title, to: '/operator/stuck' }]} calls={[{ method: 'GET', path: '/api/v1/admin/wipe-overrides', cli: 'gpuaas override list' }]}>
      <Reading of={overrides}>
        {(list) => (
          <DataTable
            label={words.title}
            columns={columns}
            rows={list.items}
            rowKey={(each) => each.id}
            sorting={{ column: 'at', descending: true }}
            empty={
              <Empty title={words.none}>
                <p>{words.noneDetail}</p>
              </Empty>
            }
          />
        )}
      </Reading>
    </Page>
  );
}
