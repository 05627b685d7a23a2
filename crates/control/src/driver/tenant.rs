//! Tenants: what is left in one, and how it is taken away when it goes. `deleted` is entered only by a transaction that holds
//! the tenant and counted nothing left; the count stays with it as the proof.

use lifecycle::{
    Next,
    tenant::{self, Effect, State, View},
};
use model::{Timestamp, tenancy::Desired};
use store::{
    Stamp, StoreError, Tx,
    living::{Living as Table, Seen},
    members, operations, principals, projects,
    tenants::{self, TenantLeft, TenantRow},
    tokens::{self, TokenFilter},
    webhooks,
};

use super::{Hands, Living, id_of, write_json};
use crate::{
    leader::{Leader, unchanged},
    plane::PlaneConfig,
    views,
};

/// Tenants.
pub(crate) struct Tenants;

/// A tenant and what is left in it.
pub(crate) struct Looked {
    tenant: TenantRow,
    left: TenantLeft,
    projects_unasked: usize,
}

/// An effect on many rows takes this many at a time; what is left over is seen by the next look.
pub(super) const BITE: i64 = 100;

// Tokens that are not revoked count until they are, expired or not: from this moment on, all of them are.
const EVER: Timestamp = Timestamp::from_micros(0);

impl Living for Tenants {
    const TABLE: Table = Table::Tenants;
    type Looked = Looked;
    type State = State;
    type Effect = Effect;

    fn load(tx: &mut Tx<'_>, id: &str, _: Timestamp) -> Result<Option<Looked>, StoreError> {
        let Some(tenant) = tenants::get(tx, &id_of(id)?)? else { return Ok(None) };
        let left = tenants::left(tx, &tenant.id, EVER)?;
        let projects_unasked = projects::unasked(tx, &tenant.id, BITE)?.len();
        Ok(Some(Looked { tenant, left, projects_unasked }))
    }

    fn seen(looked: &Looked) -> Seen<'_> {
        looked.tenant.seen()
    }

    fn decide(looked: &Looked, now: Timestamp, _: &PlaneConfig) -> Next<State, Effect> {
        let Looked { tenant, left, projects_unasked } = looked;
        let view = View {
            state: tenant.state,
            state_since: tenant.life.state_since,
            desired: tenant.desired,
            projects_left: count(left.projects),
            projects_unasked: u64::try_from(*projects_unasked).unwrap_or(u64::MAX),
            members_left: count(left.members),
            tokens_live: count(left.tokens_live),
            service_accounts_left: count(left.service_accounts),
        };
        tenant::decide(&view, now)
    }

    fn perform(hands: &Hands<'_>, looked: &Looked, effect: Effect) -> Result<(), StoreError> {
        take_away(hands.leader, &looked.tenant, effect)
    }

    fn enter(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, looked: &Looked, state: State) -> Result<(), StoreError> {
        let tenant = unchanged(tenants::hold(tx, &looked.tenant.id)?, |row| row.version, looked.tenant.version)?;
        let left = tenants::left(tx, &tenant.id, EVER)?;
        if state == State::Deleted && left != TenantLeft::default() {
            // Something came in between the look and now: what was decided does not hold any more.
            return Err(StoreError::StaleVersion);
        }
        if state == State::Deleted {
            webhooks::delete_of_tenant(tx, stamp, &tenant.id, i64::MAX)?;
        }
        let observed = write_json(&views::tenant_holdings(&left, stamp.now))?;
        tenants::enter(tx, stamp, &tenant, state, &observed, None)?;
        operations::finish_for(tx, tenant.id.as_str(), state.as_str(), None, stamp.now)?;
        Ok(())
    }
}

fn take_away(leader: &Leader, tenant: &TenantRow, effect: Effect) -> Result<(), StoreError> {
    let (id, version) = (tenant.id.clone(), tenant.version);
    leader.commit(move |tx, stamp| {
        unchanged(tenants::hold(tx, &id)?, |row| row.version, version)?;
        match effect {
            Effect::DeleteProjects => {
                for project in projects::unasked(tx, &id, BITE)? {
                    projects::wish(tx, stamp, &project, Desired::Deleted, Some("tenant_deleted"))?;
                }
            }
            Effect::RevokeTokens => {
                let filter = TokenFilter { tenant_id: Some(&id), ..TokenFilter::default() };
                tokens::revoke_matching(tx, stamp, filter, Some("tenant_deleted"), BITE)?;
            }
            Effect::RemoveMembers => {
                members::remove_in(tx, stamp, &id, None, BITE)?;
            }
            Effect::RemoveServiceAccounts => {
                principals::remove_in_tenant(tx, stamp, &id, BITE)?;
            }
        }
        Ok(())
    })
}

/// A count from SQL as the deciders want it.
pub(super) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
