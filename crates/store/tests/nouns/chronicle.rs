//! What is written down for good: events in one dense sequence, the audit chain, and the answers kept for retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::identity::MemberRole;
use model::listing::ListOrder;
use model::tenancy::Desired;
use model::{PrincipalId, TenantId, Timestamp};
use store::audit::{AuditFilter, AuditRow, Break, Link};
use store::idempotency::Kept;
use store::testing::both_engines;
use store::{Db, Page, Scope, Stamp, StoreError, audit, events, idempotency, tenants};

use crate::world::{bits, count, fresh, member, project, read, scope, tenant, tick, user, write};

fn number_all(db: &Db, limit: i64) -> u64 {
    let mut numbered = 0;
    loop {
        match write(db, move |tx, _| events::number_batch(tx, limit)).unwrap() {
            0 => return numbered,
            some => numbered += some,
        }
    }
}

// Commits one more version of a tenant, by a clock that shows `now`.
fn wish(db: &Db, id: &TenantId, now: Timestamp) {
    let id = id.clone();
    let run = move |tx: &mut store::Tx<'_>| {
        let row = tenants::hold(tx, &id)?.unwrap();
        tenants::wish(tx, &mut Stamp::new(now, &mut bits), &row, Desired::Suspended, None)
    };
    db.write(run).map_err(|error: StoreError| error).unwrap();
}

#[test]
fn events_are_numbered_without_gaps_and_each_object_in_the_order_of_its_versions() {
    both_engines(|db| {
        let (first, second) = (tenant(&db), tenant(&db));
        let base = tick();
        for step in 1..=6_i64 {
            // Two clocks that disagree by seconds: later versions look older.
            wish(&db, &first, base.plus_seconds(10 - step));
            wish(&db, &second, base.plus_seconds(step));
        }
        assert!(read(&db, events::waiting));
        assert_eq!((read(&db, events::head), read(&db, events::oldest)), (0, 0));
        assert_eq!(number_all(&db, 3), 14);
        assert!(!read(&db, events::waiting));
        assert_eq!((read(&db, events::head), read(&db, events::oldest)), (14, 1));
        let all = read(&db, |tx| events::list(tx, &Scope::All, 0, 100));
        assert_eq!(all.events.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=14).collect::<Vec<_>>());
        for id in [&first, &second] {
            let versions: Vec<i64> = all
                .events
                .iter()
                .filter(|event| event.subject_id == id.as_str())
                .map(|event| event.object_version)
                .collect();
            assert_eq!(versions, (1..=7).collect::<Vec<_>>());
            let id = id.clone();
            let subject = id.clone();
            let timeline = read(&db, move |tx| events::of_subject(tx, subject.as_str(), 2, 3));
            assert_eq!(timeline.iter().map(|event| event.object_version).collect::<Vec<_>>(), [3, 4, 5]);
            let (mut told, mut after) = (Vec::new(), 0);
            while after < 14 {
                let subject = id.clone();
                let page = read(&db, move |tx| events::list_about(tx, &Scope::All, subject.as_str(), after, 3));
                assert!(page.events.len() <= 3 && page.through > after);
                after = page.through;
                told.extend(page.events);
            }
            assert!(all.events.iter().filter(|event| event.subject_id == id.as_str()).eq(&told));
        }
    });
}

#[test]
fn numbering_stays_dense_while_others_write() {
    both_engines(|db| {
        let done = Arc::new(AtomicBool::new(false));
        let ids: Vec<TenantId> = (0..4).map(|_| tenant(&db)).collect();
        std::thread::scope(|threads| {
            let (numberer, over) = (db.clone(), Arc::clone(&done));
            let numbering = threads.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    write(&numberer, |tx, _| events::number_batch(tx, 7)).unwrap();
                }
            });
            let writers: Vec<_> = ids
                .iter()
                .map(|id| {
                    let (db, ids, own) = (db.clone(), ids.clone(), id.clone());
                    threads.spawn(move || {
                        for step in 0..25 {
                            // Mostly its own tenant, sometimes one that another writer is changing too.
                            wish(&db, if step % 5 == 0 { &ids[step % 4] } else { &own }, tick());
                        }
                    })
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            done.store(true, Ordering::SeqCst);
            numbering.join().unwrap();
        });
        number_all(&db, 1000);
        assert_eq!(count(&db, "SELECT COUNT(*) FROM events"), 104);
        assert_eq!(count(&db, "SELECT COUNT(seq) FROM events"), 104);
        assert_eq!((read(&db, events::oldest), read(&db, events::head)), (1, 104));
        let found = read(&db, |tx| store::invariants::check_history(tx, &crate::invariants::rules()));
        assert_eq!(found, []);
    });
}

#[test]
fn a_scope_is_told_about_its_own_and_its_cursor_still_moves() {
    both_engines(|db| {
        let (ours, theirs) = (tenant(&db), tenant(&db));
        let work = project(&db, &ours);
        let (whole, part) = (user(&db), user(&db));
        member(&db, &whole, &ours, None, MemberRole::Viewer);
        member(&db, &part, &ours, Some(&work), MemberRole::ProjectMember);
        wish(&db, &theirs, tick());
        number_all(&db, 100);
        let head = read(&db, events::head);
        let told = |scope: Scope, after: i64, limit: i64| read(&db, move |tx| events::list(tx, &scope, after, limit));
        let all = told(scope(&whole), 0, 100);
        assert!(!all.events.is_empty());
        assert!(all.events.iter().all(|event| event.tenant_id.as_ref() == Some(&ours)));
        assert_eq!(all.through, head, "past what it may not see");
        let narrow = told(scope(&part), 0, 100);
        assert!(!narrow.events.is_empty());
        assert!(narrow.events.iter().all(|event| event.project_id.as_ref() == Some(&work)));
        let one = told(scope(&whole), 0, 1);
        assert_eq!((one.events.len(), one.through), (1, one.events[0].seq));
        let rest = told(scope(&whole), one.through, 100);
        assert_eq!([one.events, rest.events].concat(), all.events);
        assert_eq!(told(scope(&whole), head, 10).through, head);
        assert_eq!(told(scope(&user(&db)), 0, 10).events, []);
    });
}

fn audited(db: &Db, actions: usize, tenant_id: Option<&TenantId>) -> Vec<AuditRow> {
    let made: Vec<AuditRow> = (0..actions)
        .map(|step| AuditRow {
            id: fresh!(AuditId),
            actor: "prn_x".into(),
            token_id: (step % 2 == 0).then(|| fresh!(TokenId)),
            action: format!("tenant.step{step}"),
            subject: "tnt_x".into(),
            tenant_id: tenant_id.cloned(),
            request_id: "req".into(),
            body: "{}".into(),
            at: tick(),
        })
        .collect();
    let rows = made.clone();
    write(db, move |tx, _| rows.iter().try_for_each(|row| audit::append(tx, row))).unwrap();
    made
}

fn chain_all(db: &Db, limit: i64) {
    while write(db, move |tx, _| audit::chain_batch(tx, limit)).unwrap() > 0 {}
}

#[test]
fn the_audit_chain_holds_over_batches() {
    both_engines(|db| {
        assert_eq!(read(&db, |tx| audit::verify_chain(tx, None)), Ok(None));
        let made = audited(&db, 7, None);
        chain_all(&db, 3);
        let head = read(&db, audit::head).unwrap();
        assert_eq!(head.seq, 7);
        assert_eq!(read(&db, |tx| audit::verify_chain(tx, None)), Ok(Some(head.clone())));
        let more = audited(&db, 2, None);
        let listed = read(&db, |tx| audit::list(tx, &Scope::All, AuditFilter::default(), Page::first(50)));
        assert_eq!(
            listed.iter().map(|chained| &chained.row).collect::<Vec<_>>(),
            made.iter().chain(&more).collect::<Vec<_>>()
        );
        assert_eq!(listed.iter().filter_map(|chained| chained.link.as_ref()).count(), 7);
        chain_all(&db, 100);
        let known = head.clone();
        let end = read(&db, move |tx| audit::verify_chain(tx, Some(&known))).unwrap().unwrap();
        assert_eq!(end.seq, 9);
    });
}

#[test]
fn every_meddling_with_the_audit_trail_is_found() {
    let meddlings: &[(&str, i64, &[&'static str])] = &[
        ("an edited field", 3, &["UPDATE audit SET body = '{\"x\":1}' WHERE seq = 3"]),
        ("an edited actor", 3, &["UPDATE audit SET actor = 'prn_y' WHERE seq = 3"]),
        ("an edited time", 4, &["UPDATE audit SET at_us = at_us + 1 WHERE seq = 4"]),
        ("a field that became NULL", 3, &["UPDATE audit SET token_id = NULL WHERE seq = 3"]),
        ("text moved between fields", 2, &["UPDATE audit SET action = action || 't', subject = 'nt_x' WHERE seq = 2"]),
        ("a removed row", 2, &["DELETE FROM audit WHERE seq = 2"]),
        ("a removed first row", 1, &["DELETE FROM audit WHERE seq = 1"]),
        (
            "two rows in another order",
            2,
            &[
                "UPDATE audit SET seq = 99 WHERE seq = 2",
                "UPDATE audit SET seq = 2 WHERE seq = 3",
                "UPDATE audit SET seq = 3 WHERE seq = 99",
            ],
        ),
        ("a rewritten hash", 5, &["UPDATE audit SET hash = 'x' WHERE seq = 5"]),
        ("a cut tail", 6, &["DELETE FROM audit WHERE seq = 6"]),
    ];
    both_engines(|db| {
        audited(&db, 6, None);
        chain_all(&db, 100);
        let head = read(&db, audit::head).unwrap();
        for (what, at, statements) in meddlings {
            let (statements, head): (&'static [&'static str], Link) = (statements, head.clone());
            // Looked at inside the transaction and rolled back, so that every meddling starts from the whole chain.
            let found: Result<(), Found> = db.write(move |tx| {
                for statement in statements {
                    assert_eq!(tx.execute(statement, &[])?, 1);
                }
                Err(Found::Broken(audit::verify_chain(tx, Some(&head))?.err()))
            });
            let Err(Found::Broken(Some(Break { seq, .. }))) = found else { panic!("{what}: {found:?}") };
            assert_eq!(seq, *at, "{what}");
        }
        assert!(read(&db, |tx| audit::verify_chain(tx, None)).is_ok());
    });
}

#[derive(Debug)]
enum Found {
    Broken(Option<Break>),
    Store(#[allow(dead_code, reason = "shown when a test fails")] StoreError),
}
impl From<StoreError> for Found {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

#[test]
fn a_forked_head_that_was_known_elsewhere_is_found() {
    both_engines(|db| {
        audited(&db, 2, None);
        chain_all(&db, 100);
        let forged = Link { seq: 2, hash: "0".repeat(64) };
        let found = read(&db, move |tx| audit::verify_chain(tx, Some(&forged)));
        assert_eq!(found.map_err(|broken| broken.seq), Err(2));
    });
}

#[test]
fn a_tenant_sees_its_own_audit_rows() {
    both_engines(|db| {
        let (ours, theirs) = (tenant(&db), tenant(&db));
        let work = project(&db, &ours);
        let (admin, part) = (user(&db), user(&db));
        member(&db, &admin, &ours, None, MemberRole::TenantAdmin);
        member(&db, &part, &ours, Some(&work), MemberRole::ProjectMember);
        let own = audited(&db, 2, Some(&ours));
        audited(&db, 2, Some(&theirs));
        audited(&db, 1, None);
        let seen = |scope: Scope, tenant_id: Option<TenantId>| -> Vec<AuditRow> {
            let within = move |tx: &mut store::Tx<'_>| {
                let filter = AuditFilter { tenant_id: tenant_id.as_ref(), ..AuditFilter::default() };
                audit::list(tx, &scope, filter, Page::first(50))
            };
            read(&db, within).into_iter().map(|chained| chained.row).collect()
        };
        assert_eq!(seen(scope(&admin), None), own);
        assert_eq!(seen(scope(&admin), Some(theirs.clone())), []);
        assert_eq!(seen(scope(&part), None), []);
        assert_eq!(seen(Scope::All, None).len(), 5);
        assert_eq!(seen(Scope::All, Some(theirs)).len(), 2);
    });
}

#[test]
fn actions_are_found_by_every_filter_in_both_orders() {
    // Whether a row is one that the filter means, said a second time.
    fn meant(row: &AuditRow, filter: &AuditFilter<'_>) -> bool {
        filter.tenant_id.is_none_or(|it| row.tenant_id.as_ref() == Some(it))
            && filter.actor.is_none_or(|it| row.actor == it)
            && filter.action.is_none_or(|it| row.action == it)
            && filter.subject.is_none_or(|it| row.subject == it)
            && filter.from.is_none_or(|it| row.at >= it)
            && filter.to.is_none_or(|it| row.at < it)
    }
    both_engines(|db| {
        let tenant_id = tenant(&db);
        let made: Vec<AuditRow> = (0..48_usize)
            .map(|step| {
                // Several within one thousandth of a second, as ids count, and at moments between two.
                let at = Timestamp::from_micros(1_700_000_000_000_000 + i64::try_from(step / 3).unwrap() * 700);
                AuditRow {
                    id: model::AuditId::from_parts(at, bits()),
                    actor: ["prn_a", "prn_b", "system:x"][step % 3].into(),
                    token_id: None,
                    action: ["made", "ended"][step / 3 % 2].into(),
                    subject: ["tnt_x", "tnt_y", "alc_z", "alc_w"][step / 6 % 4].into(),
                    tenant_id: (step % 2 == 0).then(|| tenant_id.clone()),
                    request_id: "req".into(),
                    body: "{}".into(),
                    at,
                }
            })
            .collect();
        let rows = made.clone();
        write(&db, move |tx, _| audit::append_all(tx, &rows)).unwrap();
        let mut known = made.clone();
        known.sort_by(|one, other| one.id.cmp(&other.id));
        let times = [None, Some(made[0].at), Some(made[20].at), Some(made[47].at.plus_seconds(1))];
        for case in 0..256_usize {
            let (tenant_id, known) = (tenant_id.clone(), known.clone());
            read(&db, move |tx| {
                let filter = AuditFilter {
                    tenant_id: (case & 1 > 0).then_some(&tenant_id),
                    actor: (case & 2 > 0).then_some("prn_b"),
                    action: (case & 4 > 0).then_some("made"),
                    subject: (case & 8 > 0).then_some("alc_z"),
                    from: times[case / 16 % 4],
                    to: times[case / 64],
                    order: ListOrder::Oldest,
                };
                let mut wanted: Vec<&AuditRow> = known.iter().filter(|row| meant(row, &filter)).collect();
                for order in [ListOrder::Oldest, ListOrder::Newest] {
                    let (mut found, mut after) = (Vec::new(), String::new());
                    loop {
                        let page =
                            audit::list(tx, &Scope::All, AuditFilter { order, ..filter }, Page::after(&after, 7))?;
                        let Some(last) = page.last() else { break };
                        after = last.row.id.to_string();
                        found.extend(page.into_iter().map(|chained| chained.row));
                    }
                    assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{filter:?} {order}");
                    wanted.reverse();
                }
                Ok(())
            });
        }
    });
}

#[test]
fn an_answer_is_kept_once_and_purged_by_age() {
    both_engines(|db| {
        let who: PrincipalId = fresh!(PrincipalId);
        let kept = |body: &str| Kept {
            fingerprint: "f".into(),
            status: 201,
            answer: body.into(),
            etag: Some("\"1\"".into()),
            location: None,
            at: tick(),
        };
        let keep = |key: &'static str, kept: &Kept| {
            let (who, kept) = (who.clone(), kept.clone());
            write(&db, move |tx, _| idempotency::insert(tx, &who, key, &kept))
        };
        let found = |key: &'static str| {
            let who = who.clone();
            read(&db, move |tx| idempotency::find(tx, &who, key))
        };
        let (first, second) = (kept("one"), kept("two"));
        keep("a", &first).unwrap();
        keep("b", &second).unwrap();
        assert!(matches!(keep("a", &second), Err(StoreError::UniqueViolation { .. })));
        assert_eq!((found("a"), found("b"), found("c")), (Some(first), Some(second.clone()), None));
        let stranger = fresh!(PrincipalId);
        assert_eq!(read(&db, move |tx| idempotency::find(tx, &stranger, "a")), None);
        let before = second.at;
        assert_eq!(write(&db, move |tx, _| idempotency::purge(tx, before, 10)), Ok(1));
        assert_eq!((found("a"), found("b")), (None, Some(second)));
        let later = tick();
        assert_eq!(write(&db, move |tx, _| idempotency::purge(tx, later, 0)), Ok(0));
    });
}
