//! Tenants and projects: how they come, pause and go.

use lifecycle::{Next, project, tenant};
use model::{
    Timestamp,
    tenancy::{Desired, State},
};
use proptest::prelude::*;

const NOW: Timestamp = Timestamp::from_micros(60_000_000);

fn empty_tenant(state: State, desired: Desired) -> tenant::View {
    tenant::View {
        state,
        state_since: Timestamp::from_micros(50_000_000),
        desired,
        projects_left: 0,
        projects_unasked: 0,
        members_left: 0,
        tokens_live: 0,
        service_accounts_left: 0,
    }
}

fn empty_project(state: State, desired: Desired) -> project::View {
    project::View { state, desired, allocations_live: 0, allocations_unasked: 0, members_left: 0, tokens_live: 0 }
}

#[test]
fn wishes_lead_where_they_should() {
    use Desired as D;
    use State as S;
    let table = [
        (S::Creating, D::Active, Some(S::Active)),
        (S::Creating, D::Suspended, Some(S::Active)),
        (S::Creating, D::Deleted, Some(S::Deleting)),
        (S::Active, D::Active, None),
        (S::Active, D::Suspended, Some(S::Suspended)),
        (S::Active, D::Deleted, Some(S::Deleting)),
        (S::Suspended, D::Active, Some(S::Active)),
        (S::Suspended, D::Suspended, None),
        (S::Suspended, D::Deleted, Some(S::Deleting)),
        (S::Deleting, D::Active, Some(S::Deleted)),
        (S::Deleting, D::Deleted, Some(S::Deleted)),
        (S::Deleted, D::Active, None),
        (S::Deleted, D::Deleted, None),
    ];
    for (state, desired, enters) in table {
        let of_tenant = tenant::decide(&empty_tenant(state, desired), NOW);
        let of_project = project::decide(&empty_project(state, desired), NOW);
        assert_eq!(of_tenant, enters.map_or(Next::Forget, Next::Enter), "tenant {state} wanted {desired}");
        assert_eq!(of_project, enters.map_or(Next::Forget, Next::Enter), "project {state} wanted {desired}");
    }
}

#[test]
fn a_tenant_takes_itself_apart_in_order() {
    let mut view = empty_tenant(State::Deleting, Desired::Deleted);
    (view.projects_left, view.projects_unasked) = (2, 1);
    (view.tokens_live, view.members_left, view.service_accounts_left) = (3, 4, 5);
    assert_eq!(tenant::decide(&view, NOW), Next::Do(tenant::Effect::DeleteProjects));
    view.projects_unasked = 0;
    let Next::Wait(wait) = tenant::decide(&view, NOW) else { panic!("waits for its projects") };
    assert_eq!(wait.code, "projects_left");
    assert_eq!(wait.because, "2 projects are still being deleted, 10 s after the tenant was.");
    assert!(wait.source.starts_with("lifecycle/src/tenant.rs:"), "{}", wait.source);
    view.projects_left = 0;
    assert_eq!(tenant::decide(&view, NOW), Next::Do(tenant::Effect::RevokeTokens));
    view.tokens_live = 0;
    assert_eq!(tenant::decide(&view, NOW), Next::Do(tenant::Effect::RemoveMembers));
    view.members_left = 0;
    assert_eq!(tenant::decide(&view, NOW), Next::Do(tenant::Effect::RemoveServiceAccounts));
    view.service_accounts_left = 0;
    assert_eq!(tenant::decide(&view, NOW), Next::Enter(State::Deleted));
}

#[test]
fn a_project_waits_for_its_allocations_before_it_removes_anybody() {
    let mut view = empty_project(State::Deleting, Desired::Deleted);
    (view.allocations_live, view.allocations_unasked, view.members_left, view.tokens_live) = (1, 1, 1, 1);
    assert_eq!(project::decide(&view, NOW), Next::Do(project::Effect::ReleaseAllocations));
    view.allocations_unasked = 0;
    let Next::Wait(wait) = project::decide(&view, NOW) else { panic!("waits for its allocations") };
    assert_eq!(wait.code, "allocations_live");
    view.allocations_live = 0;
    assert_eq!(project::decide(&view, NOW), Next::Do(project::Effect::RevokeTokens));
    view.tokens_live = 0;
    assert_eq!(project::decide(&view, NOW), Next::Do(project::Effect::RemoveMembers));
}

fn any_state() -> impl Strategy<Value = State> {
    prop::sample::select(State::ALL)
}

fn any_desired() -> impl Strategy<Value = Desired> {
    prop::sample::select(Desired::ALL)
}

proptest! {
    #[test]
    fn a_tenant_moves_only_along_its_graph_and_never_ends_with_anything_left(
        state in any_state(), desired in any_desired(), counts in prop::array::uniform4(0u64..3), unasked in 0u64..3,
    ) {
        let [projects_left, members_left, tokens_live, service_accounts_left] = counts;
        let view = tenant::View {
            projects_left, members_left, tokens_live, service_accounts_left,
            projects_unasked: unasked.min(projects_left),
            ..empty_tenant(state, desired)
        };
        if let Next::Enter(to) = tenant::decide(&view, NOW) {
            prop_assert!(tenant::EDGES.contains(&(state, to)));
            prop_assert!(to != State::Deleted || counts == [0; 4]);
        }
    }

    #[test]
    fn a_project_moves_only_along_its_graph_and_never_ends_with_anything_left(
        state in any_state(), desired in any_desired(), counts in prop::array::uniform3(0u64..3), unasked in 0u64..3,
    ) {
        let [allocations_live, members_left, tokens_live] = counts;
        let allocations_unasked = unasked.min(allocations_live);
        let view = project::View { state, desired, allocations_live, allocations_unasked, members_left, tokens_live };
        if let Next::Enter(to) = project::decide(&view, NOW) {
            prop_assert!(project::EDGES.contains(&(state, to)));
            prop_assert!(to != State::Deleted || counts == [0; 3]);
        }
    }

    // Effects work, one thing at a time, and somebody keeps adding a few more while it goes.
    #[test]
    fn a_deleted_tenant_is_gone_in_the_end(
        state in prop::sample::select(&[State::Creating, State::Active, State::Suspended, State::Deleting][..]),
        counts in prop::array::uniform4(0u64..4),
        newcomers in prop::collection::vec(0usize..4, 0..4),
    ) {
        let mut view = tenant::View {
            projects_left: counts[0], projects_unasked: counts[0], members_left: counts[1],
            tokens_live: counts[2], service_accounts_left: counts[3],
            ..empty_tenant(state, Desired::Deleted)
        };
        let mut newcomers = newcomers.into_iter();
        for _ in 0..60 {
            match tenant::decide(&view, NOW) {
                Next::Enter(to) => view.state = to,
                Next::Wait(_) => view.projects_left -= 1,
                Next::Do(tenant::Effect::DeleteProjects) => view.projects_unasked = 0,
                Next::Do(tenant::Effect::RevokeTokens) => view.tokens_live -= 1,
                Next::Do(tenant::Effect::RemoveMembers) => view.members_left -= 1,
                Next::Do(tenant::Effect::RemoveServiceAccounts) => view.service_accounts_left -= 1,
                Next::LookAgain { .. } => prop_assert!(false, "what is being deleted says what it waits for"),
                Next::Forget => break,
            }
            match newcomers.next() {
                Some(0) if view.state != State::Deleted => (view.projects_left, view.projects_unasked) = (view.projects_left + 1, view.projects_unasked + 1),
                Some(1) if view.state != State::Deleted => view.members_left += 1,
                Some(2) if view.state != State::Deleted => view.tokens_live += 1,
                Some(3) if view.state != State::Deleted => view.service_accounts_left += 1,
                _ => (),
            }
        }
        prop_assert_eq!(view.state, State::Deleted);
        prop_assert_eq!(view.projects_left + view.members_left + view.tokens_live + view.service_accounts_left, 0);
    }
}
