//! Principals, members and tokens.

use model::identity::{MemberRole, PlatformRole, PrincipalKind, TokenScope};
use model::{MemberId, PrincipalId, ProjectId, TenantId, TokenId};
use store::members::Binding;
use store::testing::both_engines;
use store::tokens::{TokenFilter, TokenNew};
use store::{Db, Page, Scope, StoreError, members, principals, tokens};

use crate::world::{changes, fresh, member, narrowed, project, read, scope, tenant, tick, user, word, write};

fn account(db: &Db, tenant_id: &TenantId, name: &str) -> Result<PrincipalId, StoreError> {
    let (id, tenant_id, name) = (fresh!(PrincipalId), tenant_id.clone(), name.to_owned());
    let made = id.clone();
    write(db, move |tx, stamp| {
        let new = principals::PrincipalNew {
            id: &made,
            kind: PrincipalKind::ServiceAccount,
            name: &name,
            tenant_id: Some(&tenant_id),
            platform_role: None,
        };
        principals::insert(tx, stamp, new)
    })?;
    Ok(id)
}

pub fn token(db: &Db, owner: &PrincipalId, tenant_id: Option<&TenantId>, project_id: Option<&ProjectId>) -> TokenId {
    let (id, owner, tenant_id, project_id) = (fresh!(TokenId), owner.clone(), tenant_id.cloned(), project_id.cloned());
    let (made, hash, expires) = (id.clone(), format!("hash-{id}"), tick().plus_seconds(3600));
    write(db, move |tx, stamp| {
        let new = TokenNew {
            id: &made,
            principal_id: &owner,
            tenant_id: tenant_id.as_ref(),
            project_id: project_id.as_ref(),
            name: "ci",
            secret_hash: &hash,
            scope: TokenScope::Write,
            expires,
        };
        tokens::insert(tx, stamp, new)
    })
    .unwrap();
    id
}

#[test]
fn people_and_service_accounts_come_back_and_end() {
    both_engines(|db| {
        let person = user(&db);
        let made = person.clone();
        let row = read(&db, move |tx| principals::get(tx, &made)).unwrap();
        assert_eq!((row.kind, row.platform_role, row.removed, row.version), (PrincipalKind::User, None, None, 1));
        let email = row.name.clone();
        assert_eq!(read(&db, move |tx| principals::by_email(tx, &email)), Some(row.clone()));
        let email = row.name.clone();
        write(&db, move |tx, stamp| {
            let role = Some(PlatformRole::PlatformOperator);
            principals::update(tx, stamp, &row, &row.name, role)?;
            assert_eq!(principals::operators_left(tx)?, 1);
            assert_eq!(principals::remove(tx, stamp, &row), Err(StoreError::StaleVersion));
            let row = principals::get(tx, &row.id)?.unwrap();
            principals::remove(tx, stamp, &row)?;
            let row = principals::get(tx, &row.id)?.unwrap();
            assert!(row.removed.is_some());
            assert_eq!(principals::operators_left(tx)?, 0);
            assert_eq!(principals::remove(tx, stamp, &row), Err(StoreError::StaleVersion));
            Ok(())
        })
        .unwrap();
        assert_eq!(read(&db, move |tx| principals::by_email(tx, &email)), None);
        assert_eq!(changes(&db, person.as_str()), ["created", "updated", "deleted"]);
    });
}

#[test]
fn a_service_account_name_is_unique_in_its_tenant_and_seen_by_its_members() {
    both_engines(|db| {
        let (ours, theirs) = (tenant(&db), tenant(&db));
        let bot = account(&db, &ours, "bot").unwrap();
        let other = account(&db, &theirs, "bot").unwrap();
        assert!(matches!(account(&db, &ours, "bot"), Err(StoreError::UniqueViolation { .. })));
        let person = user(&db);
        member(&db, &person, &ours, None, MemberRole::TenantAdmin);
        let scoped = scope(&person);
        let seen = read(&db, move |tx| {
            principals::list(tx, &scoped, Some(PrincipalKind::ServiceAccount), None, Page::first(10))
        });
        assert_eq!(seen.iter().map(|row| &row.id).collect::<Vec<_>>(), [&bot]);
        let scoped = scope(&person);
        assert_eq!(read(&db, move |tx| principals::get_visible(tx, &scoped, &other)), None);
        let (scoped, own) = (scope(&person), person.clone());
        assert!(read(&db, move |tx| principals::get_visible(tx, &scoped, &own)).is_some());
        let owner = ours.clone();
        assert_eq!(write(&db, move |tx, stamp| principals::remove_in_tenant(tx, stamp, &owner, 10)), Ok(1));
        assert!(account(&db, &ours, "bot").is_ok());
    });
}

#[test]
fn memberships_are_single_bound_and_removable() {
    both_engines(|db| {
        let ours = tenant(&db);
        let work = project(&db, &ours);
        let person = user(&db);
        let in_tenant = member(&db, &person, &ours, None, MemberRole::TenantAdmin);
        let in_project = member(&db, &person, &ours, Some(&work), MemberRole::ProjectMember);
        let insert = |role: MemberRole, project_id: Option<ProjectId>| {
            let (id, ours, person) = (fresh!(MemberId), ours.clone(), person.clone());
            write(&db, move |tx, stamp| {
                let new = members::MemberNew {
                    id: &id,
                    tenant_id: &ours,
                    project_id: project_id.as_ref(),
                    principal_id: &person,
                    role,
                };
                members::insert(tx, stamp, new)
            })
        };
        assert!(matches!(insert(MemberRole::Viewer, None), Err(StoreError::UniqueViolation { .. })));
        assert!(matches!(insert(MemberRole::Viewer, Some(work.clone())), Err(StoreError::UniqueViolation { .. })));
        let foreign = project(&db, &tenant(&db));
        assert_eq!(insert(MemberRole::Viewer, Some(foreign)), Err(StoreError::ForeignKeyViolation));

        let who = person.clone();
        let bindings = read(&db, move |tx| members::bindings_of(tx, &who));
        let expected = [
            Binding { tenant_id: ours.clone(), project_id: None, role: MemberRole::TenantAdmin },
            Binding { tenant_id: ours.clone(), project_id: Some(work.clone()), role: MemberRole::ProjectMember },
        ];
        assert_eq!(bindings, expected);

        let (owner, id) = (ours.clone(), in_tenant.clone());
        write(&db, move |tx, stamp| {
            assert_eq!(members::admins_left(tx, &owner)?, 1);
            let row = members::get(tx, &id)?.unwrap();
            assert_eq!(row.principal_kind, PrincipalKind::User);
            members::set_role(tx, stamp, &row, MemberRole::Viewer)?;
            assert_eq!(members::remove(tx, stamp, &row), Err(StoreError::StaleVersion));
            assert_eq!(members::admins_left(tx, &owner)?, 0);
            let row = members::get(tx, &id)?.unwrap();
            members::remove(tx, stamp, &row)
        })
        .unwrap();
        assert_eq!(changes(&db, in_tenant.as_str()), ["created", "updated", "deleted"]);
        let who = person.clone();
        let left = read(&db, move |tx| members::of_principal(tx, &who));
        assert_eq!(left.iter().map(|row| &row.id).collect::<Vec<_>>(), [&in_project]);
        assert_eq!(insert(MemberRole::Viewer, None), Ok(()), "after a removal the place is free");
    });
}

#[test]
fn a_project_member_sees_the_members_of_that_project_only() {
    both_engines(|db| {
        let (ours, theirs) = (tenant(&db), tenant(&db));
        let (alpha, beta) = (project(&db, &ours), project(&db, &ours));
        let (admin, part, other) = (user(&db), user(&db), user(&db));
        let m_admin = member(&db, &admin, &ours, None, MemberRole::TenantAdmin);
        let m_part = member(&db, &part, &ours, Some(&alpha), MemberRole::ProjectMember);
        let m_beta = member(&db, &other, &ours, Some(&beta), MemberRole::ProjectMember);
        let m_foreign = member(&db, &other, &theirs, None, MemberRole::TenantAdmin);
        let seen = |scope: Scope| -> Vec<MemberId> {
            read(&db, move |tx| members::list(tx, &scope, None, None, Page::first(10)))
                .into_iter()
                .map(|row| row.id)
                .collect()
        };
        assert_eq!(seen(scope(&admin)), [m_admin.clone(), m_part.clone(), m_beta.clone()]);
        assert_eq!(seen(scope(&part)), [m_part.clone()]);
        assert_eq!(seen(narrowed(&admin, &beta)), [m_beta.clone()]);
        assert_eq!(seen(Scope::All).len(), 4);
        let (scoped, id) = (scope(&admin), m_foreign.clone());
        assert_eq!(read(&db, move |tx| members::get_visible(tx, &scoped, &id)), None);
    });
}

#[test]
fn a_token_is_found_by_hash_together_with_its_owner() {
    both_engines(|db| {
        let person = user(&db);
        let id = token(&db, &person, None, None);
        let hash = format!("hash-{id}");
        let (given, now) = (hash.clone(), tick());
        let found = read(&db, move |tx| tokens::find_by_hash(tx, &given)).unwrap();
        assert_eq!((&found.token.id, &found.token.principal_id, found.principal_removed), (&id, &person, None));
        assert!(found.token.is_live(now) && !found.token.is_live(found.token.expires));
        assert_eq!(read(&db, |tx| tokens::find_by_hash(tx, "no such hash")), None);

        let (made, who) = (id.clone(), person.clone());
        write(&db, move |tx, stamp| {
            let row = tokens::get(tx, &made)?.unwrap();
            tokens::revoke(tx, stamp, &row, Some("leaked"))?;
            let revoked = tokens::get(tx, &made)?.unwrap();
            assert_eq!(tokens::revoke(tx, stamp, &revoked, None), Err(StoreError::StaleVersion));
            let owner = principals::get(tx, &who)?.unwrap();
            principals::remove(tx, stamp, &owner)
        })
        .unwrap();
        let found = read(&db, move |tx| tokens::find_by_hash(tx, &hash)).unwrap();
        assert!(found.token.revoked.is_some() && found.principal_removed.is_some() && !found.token.is_live(now));
        assert_eq!(changes(&db, id.as_str()), ["created", "deleted"]);
    });
}

#[test]
fn tokens_are_listed_to_their_owner_and_their_tenant() {
    both_engines(|db| {
        let ours = tenant(&db);
        let work = project(&db, &ours);
        let (admin, person) = (user(&db), user(&db));
        member(&db, &admin, &ours, None, MemberRole::TenantAdmin);
        let bot = account(&db, &ours, &word("bot")).unwrap();
        let own = token(&db, &person, None, None);
        let of_bot = token(&db, &bot, Some(&ours), None);
        let of_project = token(&db, &bot, Some(&ours), Some(&work));
        let seen = |scope: Scope| -> Vec<TokenId> {
            read(&db, move |tx| tokens::list(tx, &scope, TokenFilter::default(), Page::first(10)))
                .into_iter()
                .map(|row| row.id)
                .collect()
        };
        assert_eq!(seen(scope(&person)), [own.clone()]);
        assert_eq!(seen(scope(&admin)), [of_bot.clone(), of_project.clone()]);
        assert_eq!(seen(narrowed(&bot, &work)), [of_project.clone()]);
        assert_eq!(seen(Scope::All), [own.clone(), of_bot.clone(), of_project.clone()]);
        let (scoped, id) = (scope(&admin), own.clone());
        assert_eq!(read(&db, move |tx| tokens::get_visible(tx, &scoped, &id)), None);

        let owner = ours.clone();
        let revoked = write(&db, move |tx, stamp| {
            let filter = TokenFilter { tenant_id: Some(&owner), ..TokenFilter::default() };
            tokens::revoke_matching(tx, stamp, filter, Some("tenant_deleted"), 10)
        });
        assert_eq!(revoked, Ok(2));
        let live = read(&db, |tx| {
            let filter = TokenFilter { unrevoked_only: true, ..TokenFilter::default() };
            tokens::list(tx, &Scope::All, filter, Page::first(10))
        });
        assert_eq!(live.into_iter().map(|row| row.id).collect::<Vec<_>>(), [own]);
    });
}
