//! One leader at a time, and what an overtaken leader can still do: nothing.

use model::Timestamp;
use store::{
    Db, Dialect, LEADER, LeaderGuard, Lease, StoreError,
    lease::{lease_acquire, lease_read, lease_release, lease_renew},
    testing::{Place, both_engines},
};

const TTL_US: i64 = 5_000_000;

fn now() -> Timestamp {
    Timestamp::from_micros(1_000_000)
}

fn read(db: &Db) -> Option<Lease> {
    db.read(|tx| lease_read(tx, LEADER)).unwrap()
}

fn acquire(db: &Db, holder: &'static str, seen: Option<Lease>) -> Option<LeaderGuard> {
    db.write(move |tx| lease_acquire(tx, LEADER, holder, seen.as_ref(), now(), TTL_US)).unwrap()
}

fn check(db: &Db, guard: &LeaderGuard) -> Result<(), StoreError> {
    let guard = guard.clone();
    db.write(move |tx| guard.check(tx))
}

fn renew(db: &Db, guard: &LeaderGuard) -> Result<(), StoreError> {
    let guard = guard.clone();
    db.write(move |tx| lease_renew(tx, &guard, now(), TTL_US))
}

#[test]
fn a_take_over_raises_the_epoch_and_fences_the_old_leader() {
    both_engines(|db| {
        let first = acquire(&db, "a", None).expect("nobody leads");
        assert_eq!(first.epoch, 1);
        assert_eq!(acquire(&db, "b", None), None, "there is a row now");
        let seen = read(&db);
        renew(&db, &first).unwrap();
        assert_eq!(acquire(&db, "b", seen), None, "the holder moved since it was seen");
        let second = acquire(&db, "b", read(&db)).expect("unchanged since it was seen");
        assert_eq!(second.epoch, 2);
        assert_eq!(check(&db, &first), Err(StoreError::LostLeadership));
        assert_eq!(renew(&db, &first), Err(StoreError::LostLeadership));
        assert_eq!((check(&db, &second), renew(&db, &second)), (Ok(()), Ok(())));
        let stale = first.clone();
        assert_eq!(db.write(move |tx| lease_release(tx, &stale, now())), Ok(false), "not his to give back");
        assert_eq!(check(&db, &second), Ok(()));
    });
}

#[test]
fn a_released_lease_is_free_at_once_and_keeps_its_epoch() {
    both_engines(|db| {
        let first = acquire(&db, "a", None).unwrap();
        let leaving = first.clone();
        assert_eq!(db.write(move |tx| lease_release(tx, &leaving, now())), Ok(true));
        let row = read(&db).unwrap();
        assert!(row.is_released());
        assert_eq!(row.epoch, 1);
        assert_eq!(check(&db, &first), Err(StoreError::LostLeadership));
        assert_eq!(acquire(&db, "a", Some(row)).unwrap().epoch, 2);
    });
}

#[test]
fn of_many_who_saw_the_same_row_one_wins() {
    both_engines(|db| {
        acquire(&db, "old", None).unwrap();
        let seen = read(&db);
        let contenders: Vec<_> = ["a", "b", "c", "d", "e", "f"]
            .map(|name| {
                let (db, seen) = (db.clone(), seen.clone());
                std::thread::spawn(move || acquire(&db, name, seen))
            })
            .into_iter()
            .filter_map(|contender| contender.join().unwrap())
            .collect();
        assert_eq!(contenders.len(), 1);
        assert_eq!(contenders[0].epoch, 2);
        assert_eq!(check(&db, &contenders[0]), Ok(()));
    });
}

/// The race that matters: the old leader has checked its epoch and is about to commit when another takes over.
#[test]
fn a_take_over_waits_for_a_checked_commit_and_a_renewal_does_not() {
    let place = Place::new(Dialect::Postgres);
    let db = place.open();
    let old = acquire(&db, "old", None).unwrap();
    let seen = read(&db);
    let (checked_sender, checked) = std::sync::mpsc::channel();
    let (go_sender, go) = std::sync::mpsc::channel::<()>();
    let committing = {
        let (db, old) = (db.clone(), old.clone());
        std::thread::spawn(move || {
            db.write(move |tx| {
                old.check(tx)?;
                checked_sender.send(()).unwrap();
                go.recv().unwrap();
                tx.execute(
                    "INSERT INTO leases (name, holder, epoch, renewals, until_us) VALUES ('work', 'old', 1, 0, 0)",
                    &[],
                )
            })
        })
    };
    checked.recv().unwrap();
    renew(&db, &old).expect("a renewal does not wait for commits in flight");
    let seen_again = read(&db);
    assert_ne!(seen, seen_again);
    let taking = {
        let db = db.clone();
        std::thread::spawn(move || acquire(&db, "new", seen_again))
    };
    // The take-over is waiting for the lock when the server says so; no guess about time.
    let waiting =
        "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    while db.read(move |tx| tx.query_one(waiting, &[])?.int(0)).unwrap_or(0) == 0 {
        std::thread::yield_now();
    }
    assert!(!taking.is_finished());
    go_sender.send(()).unwrap();
    assert_eq!(committing.join().unwrap(), Ok(1), "committed under its own epoch");
    let new = taking.join().unwrap().expect("then the other leads");
    assert_eq!(new.epoch, 2);
    assert_eq!(check(&db, &old), Err(StoreError::LostLeadership));
}
