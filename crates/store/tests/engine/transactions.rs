//! What a closure may rely on: isolation inside a group commit, bounded retries, one behaviour on both engines.

use std::sync::{
    Arc, Barrier,
    atomic::{AtomicU32, Ordering},
};

use store::{
    Db, DbConfig, Dialect, StoreError, TRIES_MAX, Tx, Value,
    testing::{Place, both_engines},
};

type Outcome<T> = Result<T, StoreError>;
type Call = Box<dyn FnMut(&mut Tx<'_>) -> Outcome<()> + Send>;

pub fn put(tx: &mut Tx<'_>, name: &str) -> Outcome<()> {
    tx.execute_one(
        "INSERT INTO leases (name, holder, epoch, renewals, until_us) VALUES ($1, 'h', 1, 0, 0)",
        &[name.into()],
    )
}

pub fn names(db: &Db) -> Vec<String> {
    db.read(|tx| {
        let rows = tx.query("SELECT name FROM leases ORDER BY name", &[])?;
        rows.iter().map(|row| row.text(0).map(str::to_owned)).collect::<Outcome<Vec<String>>>()
    })
    .unwrap()
}

fn unique(error: &StoreError) -> bool {
    matches!(error, StoreError::UniqueViolation { constraint } if constraint == "leases_pkey")
}

/// Queues all calls before the first can run, so that they share a transaction: a first call blocks the only writer.
fn together(db: &Db, calls: Vec<Call>) -> Vec<Outcome<()>> {
    let gate = Arc::new(Barrier::new(2));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let held = Arc::clone(&gate);
    let first = db.write_async(move |_| {
        held.wait();
        Ok::<_, StoreError>(())
    });
    // The writer holds the first call, or will take it alone once more is in line behind it.
    while db.counts().waiting > 0 {
        std::thread::yield_now();
    }
    let answers: Vec<_> = calls.into_iter().map(|mut call| db.write_async(move |tx| call(tx))).collect();
    gate.wait();
    runtime.block_on(async {
        first.await.unwrap();
        let mut outcomes = Vec::new();
        for answer in answers {
            outcomes.push(answer.await);
        }
        outcomes
    })
}

fn one_writer(place: &Place) -> Db {
    Db::open(&DbConfig { writers: 1, ..place.config() }).unwrap()
}

#[test]
fn a_failing_closure_is_undone_alone_in_a_group_commit() {
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        let place = Place::new(dialect);
        let db = one_writer(&place);
        db.write(|tx| put(tx, "taken")).unwrap();
        let before = db.counts();
        let outcomes = together(
            &db,
            vec![
                Box::new(|tx| put(tx, "a")),
                Box::new(|tx| put(tx, "b").and(put(tx, "taken"))),
                Box::new(|tx| put(tx, "c").and(Err(StoreError::StaleVersion))),
                Box::new(|_| panic!("in the closure")),
                Box::new(|tx| put(tx, "d")),
            ],
        );
        assert_eq!(outcomes[0], Ok(()));
        assert!(unique(outcomes[1].as_ref().unwrap_err()), "{outcomes:?}");
        assert_eq!(outcomes[2], Err(StoreError::StaleVersion));
        assert_eq!(outcomes[3], Err(StoreError::Panicked("in the closure".into())));
        assert_eq!(outcomes[4], Ok(()));
        assert_eq!(names(&db), ["a", "d", "taken"]);
        let after = db.counts();
        // The first call, then one commit for both survivors on SQLite, and one for each on PostgreSQL.
        let commits = if dialect == Dialect::Sqlite { 2 } else { 3 };
        assert_eq!((after.commits - before.commits, after.closures - before.closures), (commits, 3), "{dialect:?}");
    }
}

#[test]
fn a_closure_that_refuses_before_touching_anything_disturbs_nobody() {
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        let db = one_writer(&Place::new(dialect));
        let before = db.counts();
        let outcomes = together(
            &db,
            vec![
                Box::new(|tx| put(tx, "a")),
                Box::new(|tx| tx.query_one("SELECT 1 FROM leases WHERE name = 'z'", &[]).map(drop)),
                Box::new(|tx| post(tx, "b")),
            ],
        );
        assert_eq!(outcomes, [Ok(()), Err(StoreError::NotFound), Ok(())]);
        let after = db.counts();
        assert_eq!((after.commits - before.commits, after.retries), (2, 0), "{dialect:?}: first call, then one commit");
        assert_eq!(names(&db), ["a", "b"]);
    }
}

fn post(tx: &mut Tx<'_>, name: &str) -> Outcome<()> {
    tx.post("INSERT INTO leases (name, holder, epoch, renewals, until_us) VALUES ($1, 'h', 1, 0, 0)", &[name.into()])
}

#[test]
fn what_was_posted_is_seen_by_the_next_statement_and_fails_the_whole() {
    both_engines(|db| {
        let seen = db.write(|tx| {
            post(tx, "a")?;
            tx.savepoint(|tx| post(tx, "b"))?;
            let undone: Outcome<()> = tx.savepoint(|tx| post(tx, "c").and(Err(StoreError::NotFound)));
            assert_eq!(undone, Err(StoreError::NotFound));
            post(tx, "d")?;
            tx.query_one("SELECT COUNT(*) FROM leases", &[])?.int(0)
        });
        assert_eq!(seen, Ok(3));
        let outcome: Outcome<()> = db.write(|tx| post(tx, "e").and(post(tx, "a")).and(post(tx, "f")));
        assert!(unique(&outcome.unwrap_err()));
        let outcome = db.write(|tx| tx.post("UPDATE leases SET epoch = 2 WHERE name = 'z'", &[]));
        assert_eq!(outcome, Err(StoreError::StaleVersion));
        let outcome: Outcome<()> = db.write(|tx| {
            let part = tx.savepoint(|tx| post(tx, "a"));
            assert!(unique(&part.unwrap_err()));
            post(tx, "g")
        });
        assert_eq!(outcome, Ok(()));
        assert_eq!(names(&db), ["a", "b", "d", "g"]);
    });
}

#[test]
fn a_posted_failure_among_others_fails_its_own_closure_only() {
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        let db = one_writer(&Place::new(dialect));
        db.write(|tx| put(tx, "taken")).unwrap();
        let outcomes = together(
            &db,
            vec![
                Box::new(|tx| post(tx, "a")),
                Box::new(|tx| post(tx, "taken")),
                Box::new(|tx| tx.query("SELECT 1", &[]).and(post(tx, "b"))),
            ],
        );
        assert_eq!((&outcomes[0], &outcomes[2]), (&Ok(()), &Ok(())), "{dialect:?}");
        assert!(unique(outcomes[1].as_ref().unwrap_err()), "{dialect:?}: {outcomes:?}");
        assert_eq!(names(&db), ["a", "b", "taken"]);
    }
}

#[test]
fn a_failed_statement_ends_the_transaction_on_both_engines() {
    both_engines(|db| {
        db.write(|tx| put(tx, "taken")).unwrap();
        let outcome: Outcome<()> = db.write(|tx| {
            put(tx, "lost")?;
            let failed = put(tx, "taken").unwrap_err();
            assert!(unique(&failed));
            // Swallowed on purpose; what follows must not run, and what came before must not stay.
            assert_eq!(tx.query("SELECT 1", &[]).unwrap_err(), failed);
            Ok(())
        });
        assert!(unique(&outcome.unwrap_err()));
        assert_eq!(names(&db), ["taken"]);
    });
}

#[test]
fn a_savepoint_undoes_the_failed_part_alone() {
    both_engines(|db| {
        let outcome: Outcome<()> = db.write(|tx| {
            put(tx, "a")?;
            let part = tx.savepoint(|tx| put(tx, "b").and(put(tx, "a")));
            assert!(unique(&part.unwrap_err()));
            let part: Outcome<()> = tx.savepoint(|tx| put(tx, "c").and(Err(StoreError::StaleVersion)));
            assert_eq!(part, Err(StoreError::StaleVersion));
            tx.savepoint(|tx| {
                put(tx, "d")?;
                tx.savepoint(|tx| put(tx, "d")).unwrap_err();
                put(tx, "e")
            })
        });
        assert_eq!(outcome, Ok(()));
        assert_eq!(names(&db), ["a", "d", "e"]);
    });
}

#[test]
fn a_panic_is_an_answer_and_the_store_goes_on() {
    both_engines(|db| {
        let outcome: Outcome<()> = db.write(|tx| {
            put(tx, "a")?;
            panic!("no {}", "luck")
        });
        assert_eq!(outcome, Err(StoreError::Panicked("no luck".into())));
        db.write(|tx| put(tx, "b")).unwrap();
        assert_eq!(names(&db), ["b"]);
    });
}

#[test]
fn text_with_nul_is_refused_before_the_engine_sees_it() {
    both_engines(|db| {
        assert_eq!(db.write(|tx| put(tx, "a\0b")), Err(StoreError::NulCharacter));
        assert!(names(&db).is_empty());
    });
}

#[test]
fn a_read_cannot_change_anything() {
    both_engines(|db| {
        db.read(|tx| put(tx, "a")).unwrap_err();
        let sneaky =
            "INSERT INTO leases (name, holder, epoch, renewals, until_us) VALUES ('b', 'h', 1, 0, 0) RETURNING name";
        let _: Outcome<()> = db.read(move |tx| tx.query(sneaky, &[]).map(drop));
        assert!(names(&db).is_empty());
    });
    let memory = Db::open(&DbConfig::new("sqlite::memory:")).unwrap();
    memory.read(|tx| put(tx, "a")).unwrap_err();
    assert!(names(&memory).is_empty());
}

#[test]
fn parameters_are_found_by_number_wherever_they_stand() {
    both_engines(|db| {
        let row = db.read(|tx| {
            let sql = "SELECT CAST($2 AS BIGINT) AS n, CAST($1 AS TEXT) AS t, CAST($3 AS TEXT), $2 + 1";
            tx.query_one(sql, &["one".into(), Value::Int(i64::MAX - 1), Value::Null])
        });
        let row = row.unwrap();
        assert_eq!((row.int(0), row.text(1), row.opt_text(2)), (Ok(i64::MAX - 1), Ok("one"), Ok(None)));
        assert_eq!(row.int(3), Ok(i64::MAX));
        let error = row.parse::<model::TenantId>(1).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { column, .. } if column == "t"));
        let outcome: Outcome<_> = db.read(|tx| tx.query("SELECT $1", &[]));
        assert!(matches!(outcome, Err(StoreError::Other(_))), "a missing parameter is an error: {outcome:?}");
    });
}

#[test]
fn a_guarded_change_that_misses_is_stale() {
    both_engines(|db| {
        db.write(|tx| put(tx, "a")).unwrap();
        let change = |epoch: i64| {
            move |tx: &mut Tx<'_>| {
                tx.execute_one("UPDATE leases SET epoch = epoch + 1 WHERE name = 'a' AND epoch = $1", &[epoch.into()])
            }
        };
        assert_eq!(db.write(change(1)), Ok(()));
        assert_eq!(db.write(change(1)), Err(StoreError::StaleVersion));
        assert_eq!(db.read(|tx| tx.query_one("SELECT 1 FROM leases WHERE name = 'z'", &[])), Err(StoreError::NotFound));
    });
}

#[test]
fn a_lost_race_is_tried_again_but_not_for_ever() {
    let place = Place::new(Dialect::Postgres);
    let db = Db::open(&DbConfig { batch_postgres: 1, ..place.config() }).unwrap();
    let tries = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&tries);
    // The server says what a lost race looks like; a function raises it at will.
    let outcome: Outcome<()> = db.write(move |tx| {
        counted.fetch_add(1, Ordering::SeqCst);
        tx.execute("DO $$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = '40001'; END $$", &[]).map(drop)
    });
    assert_eq!((outcome, tries.load(Ordering::SeqCst)), (Err(StoreError::Busy), TRIES_MAX));

    let tries = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&tries);
    let outcome: Outcome<()> = db.write(move |tx| {
        put(tx, "won")?;
        if counted.fetch_add(1, Ordering::SeqCst) < 3 {
            tx.execute("DO $$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = '40P01'; END $$", &[])?;
        }
        Ok(())
    });
    assert_eq!((outcome, tries.load(Ordering::SeqCst)), (Ok(()), 4));
    assert_eq!(names(&db), ["won"]);
}

#[test]
fn a_locked_file_is_tried_again_but_not_for_ever() {
    let place = Place::new(Dialect::Sqlite);
    let db = Db::open(&DbConfig { patience: std::time::Duration::from_millis(1), ..place.config() }).unwrap();
    let stranger = rusqlite::Connection::open(place.url().trim_start_matches("sqlite:")).unwrap();
    stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(db.write(|tx| put(tx, "a")), Err(StoreError::Busy));
    assert_eq!(db.counts().retries, u64::from(TRIES_MAX) - 1);
    stranger.execute_batch("ROLLBACK").unwrap();
    assert_eq!(db.write(|tx| put(tx, "a")), Ok(()));
    assert!(!db.poisoned());
}

#[test]
fn real_deadlocks_end_with_both_sides_done() {
    let place = Place::new(Dialect::Postgres);
    let db = place.open();
    db.write(|tx| put(tx, "a").and(put(tx, "b"))).unwrap();
    let meet = Arc::new(Barrier::new(2));
    let crosswise = |first: &'static str, second: &'static str| {
        let (db, meet, tried) = (db.clone(), Arc::clone(&meet), AtomicU32::new(0));
        std::thread::spawn(move || {
            db.write(move |tx| {
                let sql = "UPDATE leases SET renewals = renewals + 1 WHERE name = $1";
                tx.execute_one(sql, &[first.into()])?;
                if tried.fetch_add(1, Ordering::SeqCst) == 0 {
                    meet.wait();
                }
                tx.execute_one(sql, &[second.into()])
            })
        })
    };
    let (left, right) = (crosswise("a", "b"), crosswise("b", "a"));
    assert_eq!((left.join().unwrap(), right.join().unwrap()), (Ok(()), Ok(())));
    let sum = db.read(|tx| tx.query_one("SELECT CAST(SUM(renewals) AS BIGINT) FROM leases", &[])).unwrap();
    assert_eq!(sum.int(0), Ok(4));
}

#[test]
fn a_full_line_answers_busy_and_commits_nothing_of_it() {
    let place = Place::new(Dialect::Sqlite);
    let config = DbConfig { queue: 1, patience: std::time::Duration::ZERO, ..place.config() };
    let db = Db::open(&config).unwrap();
    let gate = Arc::new(Barrier::new(2));
    let held = Arc::clone(&gate);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let first = db.write_async(move |_| {
        held.wait();
        Ok::<_, StoreError>(())
    });
    while db.counts().waiting > 0 {
        std::thread::yield_now();
    }
    let second = db.write_async(|tx| put(tx, "second"));
    let third = db.write_async(|tx| put(tx, "third"));
    assert_eq!(runtime.block_on(third), Err(StoreError::Busy));
    gate.wait();
    assert_eq!((runtime.block_on(first), runtime.block_on(second)), (Ok(()), Ok(())));
    assert_eq!(names(&db), ["second"]);
}

#[test]
fn many_writers_share_commits() {
    both_engines(|db| {
        let writers: Vec<_> = (0..16)
            .map(|writer| {
                let db = db.clone();
                std::thread::spawn(move || {
                    for call in 0..20 {
                        let name = format!("{writer}-{call}");
                        db.write(move |tx| put(tx, &name)).unwrap();
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(names(&db).len(), 320);
        let counts = db.counts();
        assert_eq!(counts.closures, 320);
        assert!(counts.commits < 320, "{counts:?}");
    });
}
