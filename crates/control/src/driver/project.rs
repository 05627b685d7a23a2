//! Projects: what is left in one, and how it is taken away when it goes. `deleted` is entered only by a transaction that holds
//! the project and counted nothing left; the count stays with it as the proof, and its tenant is looked at again.

use lifecycle::{
    Next,
    project::{self, Effect, State, View},
};
use model::{Timestamp, allocation::Desired};
use store::{
    Stamp, StoreError, Tx, allocations,
    living::{self, Living as Table, Seen},
    members, operations,
    projects::{self, ProjectLeft, ProjectRow},
    scope::{PAGE_ROWS_MAX, Page},
    ssh_keys,
    tokens::{self, TokenFilter},
};

use super::{
    Hands, Living, id_of,
    tenant::{BITE, count},
    write_json,
};
use crate::{
    leader::{Leader, unchanged},
    plane::PlaneConfig,
    views,
};

/// Projects.
pub(crate) struct Projects;

/// A project and what is left in it.
pub(crate) struct Looked {
    project: ProjectRow,
    left: ProjectLeft,
    allocations_unasked: usize,
}

// Tokens that are not revoked count until they are, expired or not.
const EVER: Timestamp = Timestamp::from_micros(0);

impl Living for Projects {
    const TABLE: Table = Table::Projects;
    type Looked = Looked;
    type State = State;
    type Effect = Effect;

    fn load(tx: &mut Tx<'_>, id: &str, _: Timestamp) -> Result<Option<Looked>, StoreError> {
        let Some(project) = projects::get(tx, &id_of(id)?)? else { return Ok(None) };
        let left = projects::left(tx, &project.id, EVER)?;
        let allocations_unasked = allocations::unasked(tx, &project.id, BITE)?.len();
        Ok(Some(Looked { project, left, allocations_unasked }))
    }

    fn seen(looked: &Looked) -> Seen<'_> {
        looked.project.seen()
    }

    fn decide(looked: &Looked, now: Timestamp, _: &PlaneConfig) -> Next<State, Effect> {
        let Looked { project, left, allocations_unasked } = looked;
        let view = View {
            state: project.state,
            desired: project.desired,
            allocations_live: count(left.allocations_live),
            allocations_unasked: u64::try_from(*allocations_unasked).unwrap_or(u64::MAX),
            members_left: count(left.members),
            tokens_live: count(left.tokens_live),
        };
        project::decide(&view, now)
    }

    fn perform(hands: &Hands<'_>, looked: &Looked, effect: Effect) -> Result<(), StoreError> {
        take_away(hands.leader, &looked.project, effect)
    }

    fn enter(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, looked: &Looked, state: State) -> Result<(), StoreError> {
        let project = unchanged(projects::hold(tx, &looked.project.id)?, |row| row.version, looked.project.version)?;
        let left = projects::left(tx, &project.id, EVER)?;
        if state == State::Deleted && left != ProjectLeft::default() {
            // Something came in between the look and now: what was decided does not hold any more.
            return Err(StoreError::StaleVersion);
        }
        let observed = write_json(&views::project_holdings(&left, stamp.now))?;
        projects::enter(tx, stamp, &project, state, &observed, None)?;
        operations::finish_for(tx, project.id.as_str(), state.as_str(), None, stamp.now)?;
        if state == State::Deleted {
            forget_keys(tx, stamp, &project)?;
            living::poke(tx, Table::Tenants, project.tenant_id.as_str(), stamp.now)?;
        }
        Ok(())
    }
}

/// Public keys go with their project.
fn forget_keys(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, project: &ProjectRow) -> Result<(), StoreError> {
    for key in ssh_keys::of_project(tx, &project.id, Page::first(PAGE_ROWS_MAX))? {
        ssh_keys::delete(tx, stamp, &key)?;
    }
    Ok(())
}

fn take_away(leader: &Leader, project: &ProjectRow, effect: Effect) -> Result<(), StoreError> {
    let (id, tenant_id, version) = (project.id.clone(), project.tenant_id.clone(), project.version);
    leader.commit(move |tx, stamp| {
        unchanged(projects::hold(tx, &id)?, |row| row.version, version)?;
        match effect {
            Effect::ReleaseAllocations => {
                for allocation in allocations::unasked(tx, &id, BITE)? {
                    allocations::wish(tx, stamp, &allocation, Desired::Released, Some("project_deleted"))?;
                }
            }
            Effect::RevokeTokens => {
                let filter = TokenFilter { project_id: Some(&id), ..TokenFilter::default() };
                tokens::revoke_matching(tx, stamp, filter, Some("project_deleted"), BITE)?;
            }
            Effect::RemoveMembers => {
                members::remove_in(tx, stamp, &tenant_id, Some(&id), BITE)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use model::{
        MemberId, PrincipalId, ProjectId, TenantId,
        identity::{MemberRole, PrincipalKind},
        tenancy,
    };
    use store::{
        Db, NoFaults, members::MemberNew, principals, principals::PrincipalNew, projects::ProjectNew, tenants,
    };

    use super::*;
    use crate::driver::tests::leader;

    #[test]
    fn what_came_in_after_the_look_keeps_a_project_from_being_deleted() {
        let db = Db::open_inline(Box::new(NoFaults)).unwrap();
        let leader = leader(&db);
        let bits = || leader.ports.id_bits();
        let (tenant, id) = (TenantId::from_parts(leader.now, bits()), ProjectId::from_parts(leader.now, bits()));
        let (user, member) = (PrincipalId::from_parts(leader.now, bits()), MemberId::from_parts(leader.now, bits()));
        let (of, new) = (tenant.clone(), id.clone());
        leader
            .commit(move |tx, stamp| {
                let (slug, name) = ("lab".parse().unwrap(), "Lab".parse().unwrap());
                tenants::insert(tx, stamp, &of, &slug, &name)?;
                let project = ProjectNew { id: &new, tenant_id: &of, slug: &slug, name: &name, gpu_cap: 1 };
                projects::insert(tx, stamp, project)?;
                let row = projects::get(tx, &new)?.unwrap();
                projects::wish(tx, stamp, &row, tenancy::Desired::Deleted, None)?;
                let row = projects::get(tx, &new)?.unwrap();
                projects::enter(tx, stamp, &row, State::Deleting, "{}", None)
            })
            .unwrap();
        let (name, now) = (id.to_string(), leader.now);
        let looked = leader.read(move |tx| Projects::load(tx, &name, now)).unwrap().unwrap();
        assert_eq!(Projects::decide(&looked, now, &leader.config), Next::Enter(State::Deleted));
        let project = id.clone();
        leader
            .commit(move |tx, stamp| {
                let (kind, name) = (PrincipalKind::User, "ada@acme.example");
                principals::insert(
                    tx,
                    stamp,
                    PrincipalNew { id: &user, kind, name, tenant_id: None, platform_role: None },
                )?;
                let (principal_id, role) = (&user, MemberRole::Viewer);
                let new = MemberNew { id: &member, tenant_id: &tenant, project_id: Some(&project), principal_id, role };
                members::insert(tx, stamp, new)
            })
            .unwrap();
        let entered = leader.commit(move |tx, stamp| Projects::enter(tx, stamp, &looked, State::Deleted));
        assert_eq!(entered, Err(StoreError::StaleVersion));
        assert_eq!(leader.read(move |tx| projects::get(tx, &id)).unwrap().unwrap().state, State::Deleting);
    }
}
