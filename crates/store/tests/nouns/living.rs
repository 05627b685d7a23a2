//! Looks, waits, pokes and faults: what moves *when* something is looked at, and never what it is.

use model::lifecycle::Wait;
use model::task::TaskKind;
use model::{TenantId, Timestamp};
use store::living::{self, Living, Seen};
use store::tenants::TenantRow;
use store::testing::both_engines;
use store::{Db, StoreError, tenants};

use crate::world::{changes, ordered, placed, read, site, started, tenant, tick, write};

fn row(db: &Db, id: &TenantId) -> TenantRow {
    let id = id.clone();
    read(db, move |tx| tenants::get(tx, &id)).unwrap()
}

fn wait(db: &Db, seen: &TenantRow, code: &str, now: Timestamp) -> Result<(), StoreError> {
    let (seen, wait) = (seen.clone(), Wait::new(code, "something must end", 60, 5));
    write(db, move |tx, _| living::set_wait(tx, Living::Tenants, seen.seen(), &wait, now))
}

fn poke(db: &Db, id: &TenantId, now: Timestamp) {
    let id = id.clone();
    write(db, move |tx, _| living::poke(tx, Living::Tenants, id.as_str(), now)).unwrap();
}

#[test]
fn what_is_due_comes_longest_waiting_first_and_bounded() {
    both_engines(|db| {
        let ids: Vec<TenantId> = (0..3).map(|_| tenant(&db)).collect();
        let now = tick();
        let due = |limit: i64| -> Vec<String> {
            read(&db, move |tx| living::due(tx, Living::Tenants, now, limit)).into_iter().map(|due| due.id).collect()
        };
        assert_eq!(due(10), [ids[0].as_str(), ids[1].as_str(), ids[2].as_str()]);
        assert_eq!(due(2).len(), 2);
        wait(&db, &row(&db, &ids[0]), "members_left", now).unwrap();
        assert_eq!(due(10), [ids[1].as_str(), ids[2].as_str()]);
        let later = now.plus_seconds(5);
        let back = read(&db, move |tx| living::due(tx, Living::Tenants, later, 10));
        assert_eq!(back.last().map(|due| (due.id.as_str(), due.look)), Some((ids[0].as_str(), later)));
    });
}

#[test]
fn a_wait_is_stored_without_version_or_event_and_its_budget_runs_on() {
    both_engines(|db| {
        let id = tenant(&db);
        let now = tick();
        wait(&db, &row(&db, &id), "members_left", now).unwrap();
        let first = row(&db, &id);
        let stored = first.life.wait.clone().unwrap();
        assert_eq!((stored.code.as_str(), stored.because.as_str()), ("members_left", "something must end"));
        assert!(stored.source.starts_with("store/tests/nouns/living.rs:"), "{}", stored.source);
        assert_eq!((stored.until, first.life.look), (now.plus_seconds(60), Some(now.plus_seconds(5))));
        assert_eq!((first.version, changes(&db, id.as_str()).len()), (1, 1));

        wait(&db, &first, "members_left", now.plus_seconds(5)).unwrap();
        let again = row(&db, &id);
        assert_eq!(again.life.wait.clone().unwrap().until, now.plus_seconds(60));
        assert_eq!(again.life.look, Some(now.plus_seconds(10)));
        wait(&db, &again, "projects_left", now.plus_seconds(10)).unwrap();
        assert_eq!(row(&db, &id).life.wait.unwrap().until, now.plus_seconds(70));

        let over = |at: Timestamp| read(&db, move |tx| living::overdue(tx, Living::Tenants, at, 10));
        assert_eq!(over(now.plus_seconds(70)), []);
        let overdue = over(now.plus_seconds(71));
        assert_eq!((overdue[0].id.as_str(), overdue[0].wait.code.as_str()), (id.as_str(), "projects_left"));
    });
}

#[test]
fn what_is_well_is_looked_at_again_without_a_wait_to_show() {
    both_engines(|db| {
        let id = tenant(&db);
        let now = tick();
        wait(&db, &row(&db, &id), "members_left", now).unwrap();
        let seen = row(&db, &id);
        let look = now.plus_seconds(30);
        let again = seen.clone();
        write(&db, move |tx, _| living::look_again(tx, Living::Tenants, again.seen(), look)).unwrap();
        let well = row(&db, &id);
        assert_eq!((well.life.wait, well.life.look, well.version), (None, Some(look), 1));
        let end_of_time = Timestamp::from_micros(i64::MAX);
        assert_eq!(read(&db, move |tx| living::overdue(tx, Living::Tenants, end_of_time, 10)), []);
        poke(&db, &id, now);
        write(&db, move |tx, _| living::look_again(tx, Living::Tenants, seen.seen(), look)).unwrap();
        assert_eq!(row(&db, &id).life.look, Some(now), "a poke it has not seen is not buried");
    });
}

#[test]
fn a_wait_decided_on_an_old_version_is_refused() {
    both_engines(|db| {
        let id = tenant(&db);
        let old = row(&db, &id);
        let seen = old.clone();
        write(&db, move |tx, stamp| tenants::wish(tx, stamp, &seen, model::tenancy::Desired::Deleted, None)).unwrap();
        assert_eq!(wait(&db, &old, "members_left", tick()), Err(StoreError::StaleVersion));
        let seen = old.clone();
        let rest = write(&db, move |tx, _| living::rest(tx, Living::Tenants, seen.seen()));
        assert_eq!(rest, Err(StoreError::StaleVersion));
        assert_eq!(row(&db, &id).life.wait, None);
    });
}

#[test]
fn a_poke_is_never_buried_by_a_wait_that_did_not_see_it() {
    both_engines(|db| {
        let id = tenant(&db);
        let now = tick();
        poke(&db, &id, now);
        let seen = row(&db, &id);
        poke(&db, &id, now);
        wait(&db, &seen, "members_left", now).unwrap();
        assert!(row(&db, &id).life.look.unwrap() <= now, "still due");
        let seen = row(&db, &id);
        poke(&db, &id, now);
        write(&db, move |tx, _| living::rest(tx, Living::Tenants, seen.seen())).unwrap();
        assert!(row(&db, &id).life.look.unwrap() <= now, "still due");
        let seen = row(&db, &id);
        write(&db, move |tx, _| living::rest(tx, Living::Tenants, seen.seen())).unwrap();
        assert_eq!(row(&db, &id).life.look, None, "nobody poked, so it rests");
        poke(&db, &id, now);
        assert_eq!(row(&db, &id).life.look, Some(now));
    });
}

#[test]
fn a_fault_sets_a_row_aside_for_longer_each_time_and_a_state_forgives() {
    both_engines(|db| {
        let id = tenant(&db);
        let now = tick();
        let mut pauses = Vec::new();
        for _ in 0..11 {
            let before = row(&db, &id).life.faults;
            let (made, detail) = (id.clone(), "ü".repeat(400));
            write(&db, move |tx, _| living::fault(tx, Living::Tenants, made.as_str(), before, &detail, now)).unwrap();
            pauses.push(row(&db, &id).life.look.unwrap().micros_since(now) / 1_000_000);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        let faulted = row(&db, &id);
        assert_eq!((faulted.life.faults, faulted.version), (11, 1));
        assert_eq!(faulted.life.last_fault.as_ref().map(String::len), Some(500));
        write(&db, move |tx, stamp| tenants::enter(tx, stamp, &faulted, model::tenancy::State::Active, "{}", None))
            .unwrap();
        let entered = row(&db, &id);
        assert_eq!((entered.life.faults, entered.life.last_fault), (0, None));
        assert_eq!(entered.life.look, Some(entered.life.state_since));
    });
}

#[test]
fn every_living_table_waits_rests_faults_and_is_counted() {
    both_engines(|db| {
        let site = site(&db, 1);
        crate::governance::governed(&db, &site);
        crate::workloads::submitted(&db, &site, 1, 0);
        let allocation_id = placed(&db, &site, &site.slot_ids);
        started(&db, &allocation_id);
        crate::world::releasing(&db, &allocation_id);
        ordered(&db, &allocation_id, TaskKind::SliceVmRelease);
        for living in Living::ALL.iter().copied() {
            let now = tick().plus_seconds(3600);
            let due = read(&db, move |tx| living::due(tx, living, now, 10));
            let first = due.first().unwrap_or_else(|| panic!("nothing due in {living:?}")).clone();
            write(&db, move |tx, _| {
                let version = version_of(tx, living, &first.id)?;
                let seen = Seen { id: &first.id, version, look: Some(first.look) };
                living::set_wait(tx, living, seen, &Wait::new("held", "a test", 1, 1), now)?;
                living::fault(tx, living, &first.id, 0, "it broke", now)?;
                let seen = Seen { look: Some(now.plus_seconds(1)), ..seen };
                living::rest(tx, living, seen)?;
                living::poke(tx, living, &first.id, now)?;
                assert_eq!(living::overdue(tx, living, now.plus_seconds(10), 10)?, []);
                assert!(living::due(tx, living, now, 10)?.iter().any(|due| due.id == first.id));
                assert!(living::census(tx, living)?.iter().map(|(_, count)| count).sum::<i64>() >= 1);
                Ok(())
            })
            .unwrap();
        }
    });
}

fn version_of(tx: &mut store::Tx<'_>, living: Living, id: &str) -> Result<i64, StoreError> {
    let sql = match living {
        Living::Tenants => "SELECT version FROM tenants WHERE id = $1",
        Living::Projects => "SELECT version FROM projects WHERE id = $1",
        Living::Nodes => "SELECT version FROM nodes WHERE id = $1",
        Living::Slots => "SELECT version FROM node_resource_slots WHERE id = $1",
        Living::Workloads => "SELECT version FROM workloads WHERE id = $1",
        Living::Allocations => "SELECT version FROM allocations WHERE id = $1",
        Living::Tasks => "SELECT version FROM node_tasks WHERE id = $1",
    };
    tx.query_one(sql, &[id.into()])?.int(0)
}
