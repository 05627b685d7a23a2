//! Thousands of rows a commit through catalogue entries, with the same counts and the same refusals on both engines.

use store::{Batch, BulkInsert, BulkUpdate, Kind, StoreError, Tx, testing::both_engines};

static INSERT: BulkInsert = BulkInsert {
    table: "decisions",
    columns: &[
        ("id", Kind::Text),
        ("subject_id", Kind::Text),
        ("outcome", Kind::Text),
        ("body", Kind::Text),
        ("snapshot_version", Kind::Int),
        ("at_us", Kind::Int),
    ],
};

static JUDGE: BulkUpdate = BulkUpdate {
    table: "decisions",
    matches: &[("id", Kind::Text), ("snapshot_version", Kind::Int)],
    sets: &[("outcome", Kind::Text)],
    also: "snapshot_version = snapshot_version + 1",
};

fn rows(from: i64, to: i64) -> Batch {
    let mut batch = Batch::insert(&INSERT);
    for n in from..to {
        batch.push([
            format!("d{n:05}").into(),
            "s".into(),
            "new".into(),
            "{\"quote\":\"'\\\"é\"}".into(),
            i64::from(n % 2 == 0).into(),
            (i64::MAX - n).into(),
        ]);
    }
    batch
}

fn count(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.query_one("SELECT COUNT(*) FROM decisions", &[])?.int(0)
}

#[test]
fn inserts_and_guarded_updates_count_what_they_changed() {
    both_engines(|db| {
        assert_eq!(db.write(|tx| tx.execute_bulk(&rows(0, 5_000))), Ok(5_000));
        assert_eq!(db.write(|tx| tx.execute_bulk(&Batch::insert(&INSERT))), Ok(0));
        let changed = db.write(|tx| {
            let mut batch = Batch::update(&JUDGE);
            for n in 0..1_000 {
                // Every second row has another version and must stay as it is.
                batch.push([format!("d{n:05}").into(), 1.into(), "judged".into()]);
            }
            assert_eq!(batch.len(), 1_000);
            tx.execute_bulk(&batch)
        });
        assert_eq!(changed, Ok(500));
        let row = db.read(|tx| {
            tx.query_one(
                "SELECT outcome, snapshot_version, body, at_us FROM decisions WHERE id = $1",
                &["d00002".into()],
            )
        });
        let row = row.unwrap();
        assert_eq!((row.text(0), row.int(1), row.int(3)), (Ok("judged"), Ok(2), Ok(i64::MAX - 2)));
        assert_eq!(row.text(2), Ok("{\"quote\":\"'\\\"é\"}"));
        let judged = "SELECT COUNT(*) FROM decisions WHERE outcome = 'judged'";
        assert_eq!(db.read(move |tx| tx.query_one(judged, &[])?.int(0)), Ok(500));
    });
}

#[test]
fn one_bad_row_undoes_the_batch_and_a_savepoint_contains_it() {
    both_engines(|db| {
        db.write(|tx| tx.execute_bulk(&rows(10, 11))).unwrap();
        let refused = db.write(|tx| tx.execute_bulk(&rows(0, 20))).unwrap_err();
        assert!(
            matches!(&refused, StoreError::UniqueViolation { constraint } if constraint == "decisions_pkey"),
            "{refused}"
        );
        assert_eq!(db.read(count), Ok(1));
        let halves = db.write(|tx| {
            tx.savepoint(|tx| tx.execute_bulk(&rows(0, 20))).unwrap_err();
            Ok::<_, StoreError>((tx.execute_bulk(&rows(0, 10))?, tx.execute_bulk(&rows(11, 20))?))
        });
        assert_eq!(halves, Ok((10, 9)));
        assert_eq!(db.read(count), Ok(20));
    });
}
