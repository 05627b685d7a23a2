//! A failed COMMIT is unknown, and what follows from that on each engine.

use std::sync::{Arc, mpsc};

use store::{
    Db, Dialect, StoreError,
    testing::{CommitFailure, Place, PostgresCluster},
};

use crate::transactions::{names, put};

fn poisoned_after(how: CommitFailure) -> (Place, Vec<String>) {
    let place = Place::new(Dialect::Sqlite);
    let db = place.open();
    db.write(|tx| put(tx, "before")).unwrap();
    let (sender, heard) = mpsc::channel();
    db.on_poison(move || sender.send(()).unwrap());
    db.sabotage().unwrap().fail_next_commit(how);
    assert_eq!(db.write(|tx| put(tx, "doubtful")), Err(StoreError::OutcomeUnknown));
    assert!(db.poisoned());
    heard.recv().expect("the callback runs");
    assert_eq!(db.write(|tx| put(tx, "after")), Err(StoreError::Poisoned));
    assert_eq!(db.read(|tx| tx.query("SELECT 1", &[])), Err(StoreError::Poisoned));
    let (sender, heard) = mpsc::channel();
    db.on_poison(move || sender.send(()).unwrap());
    heard.recv().expect("a late callback runs at once");
    drop(db);
    let found = names(&place.open());
    (place, found)
}

#[test]
fn sqlite_is_poisoned_by_a_commit_that_failed() {
    assert_eq!(poisoned_after(CommitFailure::Refused).1, ["before"]);
}

#[test]
fn sqlite_is_poisoned_by_a_commit_whose_answer_was_lost() {
    assert_eq!(poisoned_after(CommitFailure::AnswerLost).1, ["before", "doubtful"]);
}

#[test]
fn everybody_in_a_failed_group_commit_hears_unknown() {
    let place = Place::new(Dialect::Sqlite);
    let db = place.open();
    db.sabotage().unwrap().fail_next_commit(CommitFailure::Refused);
    let callers: Vec<_> = (0..8)
        .map(|caller| {
            let db = db.clone();
            std::thread::spawn(move || db.write(move |tx| put(tx, &caller.to_string())))
        })
        .collect();
    let outcomes: Vec<_> = callers.into_iter().map(|caller| caller.join().unwrap().unwrap_err()).collect();
    assert!(outcomes.contains(&StoreError::OutcomeUnknown), "{outcomes:?}");
    assert!(
        outcomes.iter().all(|error| matches!(error, StoreError::OutcomeUnknown | StoreError::Poisoned)),
        "{outcomes:?}"
    );
    drop(db);
    assert!(names(&place.open()).is_empty());
}

/// A trigger that runs at COMMIT and ends the server's side of the connection.
const DIE_AT_COMMIT: &str = "
  CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.name = 'doubtful' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
    RETURN NULL;
  END $$;
  CREATE CONSTRAINT TRIGGER die AFTER INSERT ON leases DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die()";

#[test]
fn postgres_drops_the_connection_and_goes_on() {
    let place = Place::new(Dialect::Postgres);
    let db = place.open();
    PostgresCluster::shared().admin_in(place.url(), DIE_AT_COMMIT);
    assert_eq!(db.write(|tx| put(tx, "doubtful")), Err(StoreError::OutcomeUnknown));
    assert!(!db.poisoned());
    for name in ["a", "b", "c", "d", "e"] {
        db.write(move |tx| put(tx, name)).unwrap();
    }
    assert_eq!(names(&db), ["a", "b", "c", "d", "e"]);
}

#[test]
fn a_connection_lost_before_commit_is_made_again_and_the_closure_runs_again() {
    let place = Place::new(Dialect::Postgres);
    let db = place.open();
    let mut lost = false;
    let outcome: Result<bool, StoreError> = db.write(move |tx| {
        put(tx, "a")?;
        if !std::mem::replace(&mut lost, true) {
            tx.query("SELECT pg_terminate_backend(pg_backend_pid())", &[])?;
        }
        Ok(lost)
    });
    assert_eq!(outcome, Ok(true));
    assert_eq!(names(&db), ["a"]);
    // Idle connections that the server closed meanwhile are noticed and replaced.
    PostgresCluster::shared().admin_in(
        &PostgresCluster::shared().url("postgres"),
        &format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'",
            place.url().rsplit('/').next().unwrap()
        ),
    );
    db.write(|tx| put(tx, "b")).unwrap();
    assert_eq!(names(&db), ["a", "b"]);
}

#[test]
fn a_server_that_is_gone_is_unavailable_and_one_that_is_back_is_used() {
    let cluster = PostgresCluster::start();
    let url = cluster.fresh_database();
    let db = Db::open(&store::DbConfig { writers: 2, readers: 1, ..store::DbConfig::new(url) }).unwrap();
    db.write(|tx| put(tx, "a")).unwrap();
    cluster.crash();
    let outcome = db.write(|tx| put(tx, "b"));
    assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
    cluster.revive();
    assert_eq!(db.write(|tx| put(tx, "c")), Ok(()));
    assert_eq!(names(&db), ["a", "c"]);
}

#[test]
fn acknowledged_writes_outlive_the_handle() {
    store::testing::both_places(|place| {
        let db = Arc::new(place.open());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(async {
            let calls: Vec<_> =
                (0..50).map(|call| tokio::spawn(db.write_async(move |tx| put(tx, &format!("{call:02}"))))).collect();
            for call in calls {
                call.await.unwrap().unwrap();
            }
        });
        drop(db);
        assert_eq!(names(&place.open()).len(), 50);
    });
}
