//! The simulator's store: crashes at a commit leave exactly one of two worlds.

use std::sync::{Arc, Mutex};

use store::{CommitFault, CommitFaults, Db, NoFaults, StoreError};

use crate::transactions::{names, put};

#[derive(Clone, Default)]
struct Next(Arc<Mutex<Option<CommitFault>>>);

impl CommitFaults for Next {
    fn at_commit(&mut self) -> CommitFault {
        self.0.lock().unwrap().take().unwrap_or(CommitFault::Proceed)
    }
}

#[test]
fn a_crash_before_loses_the_change_and_a_crash_after_keeps_it() {
    let next = Next::default();
    let db = Db::open_inline(Box::new(next.clone())).unwrap();
    db.write(|tx| put(tx, "a")).unwrap();
    *next.0.lock().unwrap() = Some(CommitFault::CrashBefore);
    assert_eq!(db.write(|tx| put(tx, "b")), Err(StoreError::Crashed));
    assert_eq!(names(&db), ["a"]);
    *next.0.lock().unwrap() = Some(CommitFault::CrashAfter);
    assert_eq!(db.write(|tx| put(tx, "c")), Err(StoreError::Crashed));
    assert_eq!(names(&db), ["a", "c"]);
    db.write(|tx| put(tx, "d")).unwrap();
    assert_eq!(names(&db), ["a", "c", "d"]);
}

#[test]
fn only_commits_ask_the_hook() {
    let next = Next::default();
    let db = Db::open_inline(Box::new(next.clone())).unwrap();
    *next.0.lock().unwrap() = Some(CommitFault::CrashBefore);
    assert!(names(&db).is_empty());
    assert_eq!(db.write(|tx| put(tx, "a").and(Err::<(), _>(StoreError::StaleVersion))), Err(StoreError::StaleVersion));
    let outcome: Result<(), StoreError> = db.write(|_| panic!("x"));
    assert_eq!(outcome, Err(StoreError::Panicked("x".into())));
    assert_eq!(db.write(|tx| put(tx, "b")), Err(StoreError::Crashed));
}

#[test]
fn it_runs_on_the_callers_thread_and_answers_at_once() {
    let db = Db::open_inline(Box::new(NoFaults)).unwrap();
    let here = std::thread::current().id();
    let there = db.write(|tx| put(tx, "a").map(|()| std::thread::current().id())).unwrap();
    assert_eq!(here, there);
    let answer = db.write_async(|tx| put(tx, "b"));
    assert_eq!(names(&db), ["a", "b"], "done before the future is polled");
    drop(answer);
}
