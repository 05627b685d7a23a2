//! Tenants and projects.

use model::identity::MemberRole;
use model::tenancy::{Desired, State};
use model::{ProjectId, TenantId};
use store::testing::both_engines;
use store::{Db, Page, Scope, StoreError, members, projects, tenants};

use crate::world::{
    allocation, changes, fresh, member, narrowed, placed, project, read, scope, site, story, tenant, tick, user, write,
};

fn tenant_row(db: &Db, id: &TenantId) -> tenants::TenantRow {
    let id = id.clone();
    read(db, move |tx| tenants::get(tx, &id)).unwrap()
}

#[test]
fn a_tenant_comes_back_as_it_was_written() {
    both_engines(|db| {
        let id = tenant(&db);
        let row = tenant_row(&db, &id);
        assert_eq!((row.id.clone(), row.version, row.state, row.desired), (id, 1, State::Creating, Desired::Active));
        assert_eq!(row.observed, "{}");
        assert_eq!(row.life.look, Some(row.created));
        let slug = row.slug.clone();
        assert_eq!(read(&db, move |tx| tenants::by_slug(tx, &slug)), Some(row));
    });
}

#[test]
fn every_change_of_a_tenant_raises_its_version_by_one_and_is_told_once() {
    both_engines(|db| {
        let id = tenant(&db);
        let row = tenant_row(&db, &id);
        let version = write(&db, move |tx, stamp| {
            let name = "Another name".parse().unwrap();
            tenants::rename(tx, stamp, &row, &name)?;
            let row = tenants::get(tx, &row.id)?.unwrap();
            tenants::enter(tx, stamp, &row, State::Active, r#"{"ready":true}"#, None)?;
            let row = tenants::get(tx, &row.id)?.unwrap();
            tenants::wish(tx, stamp, &row, Desired::Suspended, Some("Contract ended"))
        });
        assert_eq!(version, Ok(4));
        let row = tenant_row(&db, &id);
        assert_eq!((row.name.as_str(), row.state, row.desired), ("Another name", State::Active, Desired::Suspended));
        assert_eq!((row.observed.as_str(), row.version), (r#"{"ready":true}"#, 4));
        assert_eq!(changes(&db, id.as_str()), ["created", "updated", "state_changed", "wished"]);
        let told = &story(&db, id.as_str())[2];
        assert_eq!((told.2.as_deref(), told.3.as_deref()), (Some("creating"), Some("active")));
    });
}

#[test]
fn a_stale_version_changes_nothing() {
    both_engines(|db| {
        let id = tenant(&db);
        let old = tenant_row(&db, &id);
        let seen = old.clone();
        write(&db, move |tx, stamp| tenants::wish(tx, stamp, &seen, Desired::Deleted, None)).unwrap();
        let seen = old.clone();
        let name: model::text::DisplayName = "Late".parse().unwrap();
        let late = write(&db, move |tx, stamp| tenants::rename(tx, stamp, &seen, &name));
        assert_eq!(late, Err(StoreError::StaleVersion));
        let late = write(&db, move |tx, stamp| tenants::enter(tx, stamp, &old, State::Active, "{}", None));
        assert_eq!(late, Err(StoreError::StaleVersion));
        assert_eq!(changes(&db, id.as_str()), ["created", "wished"]);
        assert_eq!(tenant_row(&db, &id).name.as_str(), "A tenant");
    });
}

#[test]
fn a_slug_is_free_again_once_its_tenant_is_deleted() {
    both_engines(|db| {
        let id = tenant(&db);
        let row = tenant_row(&db, &id);
        let slug = row.slug.clone();
        let again = move |db: &Db| {
            let (id, slug) = (fresh!(TenantId), slug.clone());
            write(db, move |tx, stamp| tenants::insert(tx, stamp, &id, &slug, &"Again".parse().unwrap()))
        };
        assert!(matches!(again(&db), Err(StoreError::UniqueViolation { .. })));
        write(&db, move |tx, stamp| tenants::enter(tx, stamp, &row, State::Deleted, "{}", None)).unwrap();
        assert_eq!(again(&db), Ok(()));
    });
}

#[test]
fn a_scope_sees_its_own_tenants_and_nothing_else() {
    both_engines(|db| {
        let (ours, theirs) = (tenant(&db), tenant(&db));
        let (alpha, beta) = (project(&db, &ours), project(&db, &ours));
        let foreign = project(&db, &theirs);
        let (whole, part, nobody) = (user(&db), user(&db), user(&db));
        member(&db, &whole, &ours, None, MemberRole::Viewer);
        member(&db, &part, &ours, Some(&alpha), MemberRole::ProjectMember);
        let tenants_of = |scope: Scope| -> Vec<TenantId> {
            read(&db, move |tx| tenants::list(tx, &scope, Page::first(50))).into_iter().map(|row| row.id).collect()
        };
        let projects_of = |scope: Scope| -> Vec<ProjectId> {
            read(&db, move |tx| projects::list(tx, &scope, None, Page::first(50)))
                .into_iter()
                .map(|row| row.id)
                .collect()
        };
        assert_eq!(tenants_of(Scope::All), [ours.clone(), theirs.clone()]);
        assert_eq!(projects_of(Scope::All), [alpha.clone(), beta.clone(), foreign.clone()]);
        assert_eq!(tenants_of(scope(&whole)), [ours.clone()]);
        assert_eq!(projects_of(scope(&whole)), [alpha.clone(), beta.clone()]);
        assert_eq!(tenants_of(scope(&part)), [ours.clone()]);
        assert_eq!(projects_of(scope(&part)), [alpha.clone()]);
        assert_eq!(tenants_of(narrowed(&whole, &beta)), [ours.clone()]);
        assert_eq!(projects_of(narrowed(&whole, &beta)), [beta.clone()]);
        assert_eq!(projects_of(narrowed(&part, &beta)), []);
        assert_eq!(projects_of(narrowed(&whole, &foreign)), []);
        assert_eq!(tenants_of(narrowed(&whole, &foreign)), []);
        assert_eq!(tenants_of(scope(&nobody)), []);

        let sees = |scope: Scope, id: &ProjectId| {
            let id = id.clone();
            read(&db, move |tx| projects::get_visible(tx, &scope, &id)).is_some()
        };
        assert!(sees(Scope::All, &foreign) && sees(scope(&whole), &beta) && sees(scope(&part), &alpha));
        assert!(!sees(scope(&whole), &foreign) && !sees(scope(&part), &beta));
        let (scoped, id) = (scope(&whole), theirs.clone());
        assert_eq!(read(&db, move |tx| tenants::get_visible(tx, &scoped, &id)), None);
    });
}

#[test]
fn a_removed_membership_opens_nothing() {
    both_engines(|db| {
        let (ours, person) = (tenant(&db), user(&db));
        let id = member(&db, &person, &ours, None, MemberRole::TenantAdmin);
        let visible = |db: &Db| {
            let scope = scope(&person);
            read(db, move |tx| tenants::list(tx, &scope, Page::first(5))).len()
        };
        assert_eq!(visible(&db), 1);
        write(&db, move |tx, stamp| {
            let row = members::get(tx, &id)?.unwrap();
            members::remove(tx, stamp, &row)
        })
        .unwrap();
        assert_eq!(visible(&db), 0);
    });
}

#[test]
fn pages_follow_each_other_without_gap_or_repeat() {
    both_engines(|db| {
        let person = user(&db);
        let all: Vec<TenantId> = (0..5).map(|_| tenant(&db)).collect();
        for id in &all {
            member(&db, &person, id, None, MemberRole::Viewer);
        }
        for scope in [Scope::All, scope(&person)] {
            let mut found: Vec<TenantId> = Vec::new();
            loop {
                let (scope, after) = (scope.clone(), found.last().map(ToString::to_string).unwrap_or_default());
                let page = read(&db, move |tx| tenants::list(tx, &scope, Page::after(&after, 2)));
                assert!(page.len() <= 2);
                if page.is_empty() {
                    break;
                }
                found.extend(page.into_iter().map(|row| row.id));
            }
            assert_eq!(found, all);
        }
    });
}

#[test]
fn a_project_is_updated_wished_and_entered() {
    both_engines(|db| {
        let ours = tenant(&db);
        let id = project(&db, &ours);
        let made = id.clone();
        write(&db, move |tx, stamp| {
            let row = projects::hold(tx, &made)?.unwrap();
            assert_eq!((row.gpu_cap, row.state, row.version), (8, State::Creating, 1));
            projects::update(tx, stamp, &row, &"Vision".parse().unwrap(), 16)?;
            assert_eq!(projects::wish(tx, stamp, &row, Desired::Deleted, None), Err(StoreError::StaleVersion));
            let row = projects::get(tx, &made)?.unwrap();
            projects::wish(tx, stamp, &row, Desired::Suspended, None)?;
            let row = projects::get(tx, &made)?.unwrap();
            projects::enter(tx, stamp, &row, State::Active, "{}", None)
        })
        .unwrap();
        let (owner, made) = (ours.clone(), id.clone());
        let row = read(&db, move |tx| projects::get(tx, &made)).unwrap();
        assert_eq!((row.name.as_str(), row.gpu_cap, row.desired), ("Vision", 16, Desired::Suspended));
        let slug = row.slug.clone();
        assert_eq!(read(&db, move |tx| projects::by_slug(tx, &owner, &slug)), Some(row));
        assert_eq!(changes(&db, id.as_str()), ["created", "updated", "wished", "state_changed"]);
        let of_nobody = fresh!(TenantId);
        assert_eq!(read(&db, move |tx| projects::list(tx, &Scope::All, Some(&of_nobody), Page::first(5))), []);
    });
}

#[test]
fn what_is_left_of_a_tenant_is_counted() {
    both_engines(|db| {
        let site = site(&db, 2);
        let (ours, work) = (site.tenant_id.clone(), site.project_id.clone());
        let person = user(&db);
        member(&db, &person, &ours, None, MemberRole::TenantAdmin);
        member(&db, &person, &ours, Some(&work), MemberRole::ProjectMember);
        let id = placed(&db, &site, &site.slot_ids);
        let left = |db: &Db| {
            let (ours, work, now) = (ours.clone(), work.clone(), tick());
            read(db, move |tx| Ok((tenants::left(tx, &ours, now)?, projects::left(tx, &work, now)?)))
        };
        let (of_tenant, of_project) = left(&db);
        assert_eq!((of_tenant.projects, of_tenant.members), (1, 2));
        assert_eq!((of_tenant.allocations_live, of_tenant.claims_active), (1, 2));
        assert_eq!((of_project.members, of_project.allocations_live, of_project.claims_active), (1, 1, 2));
        let project_id = work.clone();
        assert_eq!(read(&db, move |tx| projects::gpus_held(tx, &project_id)), 2);

        crate::world::started(&db, &id);
        crate::world::released(&db, &id);
        let (owner, project_id) = (ours.clone(), work.clone());
        write(&db, move |tx, stamp| {
            assert_eq!(members::remove_in(tx, stamp, &owner, Some(&project_id), 10)?, 1);
            assert_eq!(members::remove_in(tx, stamp, &owner, None, 10)?, 1);
            let row = projects::get(tx, &project_id)?.unwrap();
            projects::enter(tx, stamp, &row, State::Deleted, "{}", None)?;
            allocation(tx, &id).map(drop)
        })
        .unwrap();
        assert_eq!(left(&db), (tenants::TenantLeft::default(), projects::ProjectLeft::default()));
    });
}
