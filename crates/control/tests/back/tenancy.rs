//! Tenants and projects: created, suspended, and deleted with proof that nothing is left.

use api::tenancy::Holdings;
use model::{
    MemberId, PrincipalId, TokenId,
    allocation::State as AllocationState,
    identity::{MemberRole, PrincipalKind, TokenScope},
    supply::SlotState,
    tenancy::{Desired, State},
};
use store::{
    members::{self, MemberNew},
    principals::{self, PrincipalNew},
    projects, tenants,
    testing::both_engines,
    tokens::{self, TokenNew},
};

use crate::world::World;

fn want_tenant(world: &World, desired: Desired) {
    let id = world.tenant.clone();
    world
        .write(move |tx, stamp| {
            let row = tenants::get(tx, &id)?.unwrap();
            tenants::wish(tx, stamp, &row, desired, None)
        })
        .unwrap();
}

#[test]
fn a_tenant_and_its_project_come_to_life() {
    both_engines(|db| {
        let mut world = World::bare(db, 0);
        assert_eq!((world.tenant_row().state, world.project_row().state), (State::Creating, State::Creating));
        world.settle();
        assert_eq!((world.tenant_row().state, world.project_row().state), (State::Active, State::Active));
        world.check_history();
    });
}

#[test]
fn a_suspended_tenant_starts_nothing_and_comes_back() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let running = world.run(1);
        want_tenant(&world, Desired::Suspended);
        let (id, _) = world.launch(1);
        world.settle();
        assert_eq!(world.tenant_row().state, State::Suspended);
        assert_eq!(world.allocation(&id).state, AllocationState::Refused, "a wish that slipped in before");
        assert_eq!(world.allocation(&running).state, AllocationState::Running);
        want_tenant(&world, Desired::Active);
        world.settle();
        assert_eq!(world.tenant_row().state, State::Active);
        world.check_history();
    });
}

#[test]
fn a_tenant_is_deleted_only_when_nothing_is_left() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let id = world.run(2);
        people(&world);
        want_tenant(&world, Desired::Deleted);
        world.settle();
        // The guest still runs: everything waits for it, and says so.
        assert_eq!((world.tenant_row().state, world.project_row().state), (State::Deleting, State::Deleting));
        assert_eq!(world.project_row().life.wait.unwrap().code, "allocations_live");
        assert_eq!(world.tenant_row().life.wait.unwrap().code, "projects_left");
        assert_eq!(world.allocation(&id).state, AllocationState::Releasing);

        assert_eq!(world.nodes_work(), 1);
        world.settle();
        assert_eq!(world.allocation(&id).state, AllocationState::Released);
        assert_eq!((world.tenant_row().state, world.project_row().state), (State::Deleted, State::Deleted));
        let tenant = world.tenant.clone();
        let now = world.ports.now();
        assert_eq!(world.read(move |tx| tenants::left(tx, &tenant, now)), tenants::TenantLeft::default());
        for observed in [world.tenant_row().observed, world.project_row().observed] {
            let proof: Holdings = serde_json::from_str(&observed).unwrap();
            assert_eq!(Holdings { counted_at: None, ..proof.clone() }, Holdings::default());
            assert!(proof.counted_at.is_some());
        }
        assert_eq!(world.slots_in(SlotState::Available), 8);
        world.check_history();
    });
}

/// A member of each kind, a service account, and tokens of both.
fn people(world: &World) {
    let (tenant, project, user) = (world.tenant.clone(), world.project.clone(), world.user.clone());
    let expired = world.ports.now();
    world
        .write(move |tx, stamp| {
            let account = PrincipalId::from_parts(stamp.now, stamp.bits());
            principals::insert(
                tx,
                stamp,
                PrincipalNew {
                    id: &account,
                    kind: PrincipalKind::ServiceAccount,
                    name: "robot",
                    tenant_id: Some(&tenant),
                    platform_role: None,
                },
            )?;
            let roles = [
                (&user, None, MemberRole::TenantAdmin),
                (&account, Some(&project), MemberRole::ProjectMember),
                (&user, Some(&project), MemberRole::Viewer),
            ];
            for (principal_id, project_id, role) in roles {
                let id = MemberId::from_parts(stamp.now, stamp.bits());
                members::insert(tx, stamp, MemberNew { id: &id, tenant_id: &tenant, project_id, principal_id, role })?;
            }
            for (at, project_id) in [None, Some(&project)].into_iter().enumerate() {
                let id = TokenId::from_parts(stamp.now, stamp.bits());
                let new = TokenNew {
                    id: &id,
                    principal_id: &account,
                    tenant_id: Some(&tenant),
                    project_id,
                    name: "t",
                    secret_hash: &format!("hash-{at}"),
                    scope: TokenScope::Write,
                    // Expired ones are revoked all the same.
                    expires: expired.plus_seconds(if at == 0 { 3600 } else { 0 }),
                };
                tokens::insert(tx, stamp, new)?;
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn what_slips_in_between_the_look_and_the_end_keeps_a_project_from_being_deleted() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let (id, _) = world.launch(1);
        let project = world.project.clone();
        world
            .write(move |tx, stamp| {
                let row = projects::get(tx, &project)?.unwrap();
                projects::wish(tx, stamp, &row, Desired::Deleted, None)
            })
            .unwrap();
        world.settle();
        // Refused at placement, because the project was to go; never deleted under a living allocation.
        assert!(world.allocation(&id).state.is_terminal());
        assert_eq!(world.project_row().state, State::Deleted);
        assert_eq!(world.active_claims(), 0);
        world.check_history();
    });
}
