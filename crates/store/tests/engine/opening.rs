//! Opening a store: migrations from everywhere, who may open it, and that both engines sort alike.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use store::{
    Db, DbConfig, Dialect, StoreError, incarnation, incarnation_bump,
    migrate::{MIGRATIONS, Migration},
    store_identity,
    testing::{Place, PostgresCluster, both_places},
};

use crate::transactions::put;

/// Everything the engine knows about the schema, as text.
fn schema(db: &Db) -> Vec<String> {
    const SQLITE: &[&str] = &["SELECT type || ' ' || name || ' ' || COALESCE(sql, '') FROM sqlite_schema ORDER BY 1"];
    const POSTGRES: &[&str] = &[
        "SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' '
           || COALESCE(column_default, '-') || ' ' || COALESCE(collation_name, '-') || ' ' || ordinal_position
         FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1",
        "SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
         FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    ];
    let parts = if db.dialect() == Dialect::Sqlite { SQLITE } else { POSTGRES };
    db.read(move |tx| {
        let mut lines = Vec::new();
        for sql in parts {
            for row in tx.query(sql, &[])? {
                lines.push(row.text(0)?.to_owned());
            }
        }
        Ok::<_, StoreError>(lines)
    })
    .unwrap()
}

fn history(db: &Db) -> Vec<(i64, String)> {
    db.read(|tx| {
        let rows = tx.query("SELECT version, checksum FROM schema_migrations ORDER BY version", &[])?;
        rows.iter().map(|row| Ok((row.int(0)?, row.text(1)?.to_owned()))).collect::<Result<Vec<_>, StoreError>>()
    })
    .unwrap()
}

#[test]
fn every_earlier_version_ends_at_the_same_schema_as_a_new_store() {
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        let fresh = Place::new(dialect).open();
        let (wanted, versions) = (schema(&fresh), history(&fresh));
        assert!(wanted.len() > 40, "{wanted:?}");
        assert_eq!(versions.len(), MIGRATIONS.len());
        for earlier in 1..=MIGRATIONS.len() {
            let place = Place::new(dialect);
            let old = Db::open(&DbConfig { migrations: &MIGRATIONS[..earlier], ..place.config() }).unwrap();
            assert_eq!(history(&old).len(), earlier);
            let who = old.write(|tx| put(tx, "kept").and(store_identity(tx))).unwrap();
            drop(old);
            let new = place.open();
            assert_eq!(schema(&new), wanted, "{dialect:?} from version {earlier}");
            assert_eq!(history(&new), versions);
            assert_eq!(new.read(store_identity).unwrap(), who, "an upgrade is no new store");
            assert_eq!(crate::transactions::names(&new), ["kept"]);
        }
    }
}

/// What a store held before hosts could be enrolled is kept: nodes get their numbers in the order in which they came, and
/// may go on being sliced; orders keep everything they had.
#[test]
fn nodes_and_orders_from_before_enrollment_are_taken_along() {
    const BEFORE: usize = 4;
    const OLD: &[&str] = &[
        "INSERT INTO tenants (id, slug, name, desired, observed, state, state_since_us, version, created_us)
         VALUES ('t1', 'one', 'One', '{}', '{}', 'active', 0, 1, 0)",
        "INSERT INTO projects (id, tenant_id, slug, name, gpu_cap, desired, observed, state, state_since_us, version, created_us)
         VALUES ('p1', 't1', 'web', 'Web', 8, '{}', '{}', 'active', 0, 1, 0)",
        "INSERT INTO regions (id, slug, name, enabled, version, created_us) VALUES ('r1', 'north', 'North', 1, 1, 0)",
        "INSERT INTO pools (id, region_id, slug, name, gpu_model, slices_enabled, version, created_us)
         VALUES ('o1', 'r1', 'h200', 'H200', 'h200', 1, 1, 0), ('o2', 'r1', 'a100', 'A100', 'a100', 1, 1, 0)",
        "INSERT INTO skus (id, slug, name, shape, gpu_model, gpu_counts, vcpus_per_gpu, memory_mib_per_gpu, price_micros_per_gpu_hour, enabled, version, created_us)
         VALUES ('q1', 'slice', 'Slice', 'gpu_slice', 'h200', '[1]', 16, 1024, 5, 1, 1, 0)",
        "INSERT INTO nodes (id, pool_id, name, gpu_model, public_key, partitions, state, state_since_us, version, created_us)
         VALUES ('n2', 'o1', 'host2', 'h200', 'key2', '[]', 'online', 0, 1, 20), ('n1', 'o1', 'host1', 'h200', 'key1', '[]', 'online', 0, 1, 10),
                ('n3', 'o2', 'host3', 'a100', 'key3', '[]', 'online', 0, 1, 30)",
        "INSERT INTO node_resource_slots (id, node_id, profile, state, fabric_claim_mode, partition_ids, capacity_metadata, health_state, health_detail, state_since_us, version, created_us)
         VALUES ('l1', 'n1', 'x', 'disabled', 'none', '[]', '{}', 'ok', '', 0, 1, 0)",
        "INSERT INTO allocations (id, tenant_id, project_id, name, sku_id, region_id, shape, gpu_count, desired, observed, state, state_since_us, version, created_us)
         VALUES ('a1', 't1', 'p1', 'x', 'q1', 'r1', 'gpu_slice', 1, '{}', '{}', 'running', 0, 1, 0)",
        "INSERT INTO node_tasks (id, node_id, allocation_id, kind, fence_incarnation, fence_generation, attempt, state, state_since_us, input, progress, output, deadline_us, wait_code, look_us, faults, last_fault, version, created_us)
         VALUES ('w1', 'n1', 'a1', 'slice.vm_provision', 1, 2, 3, 'failed', 4, '{\"slots\":[]}', 'half', '{}', 5, 'w', 6, 7, 'f', 8, 9)",
    ];
    both_places(|place| {
        let old = Db::open(&DbConfig { migrations: &MIGRATIONS[..BEFORE], ..place.config() }).unwrap();
        old.write(|tx| OLD.iter().try_for_each(|sql| tx.execute(sql, &[]).map(drop))).unwrap();
        drop(old);
        let cells = |db: &Db, sql: &'static str| {
            db.read(move |tx| {
                let rows = tx.query(sql, &[])?;
                rows.iter().map(|row| row.text(0).map(str::to_owned)).collect::<Result<Vec<_>, StoreError>>()
            })
            .unwrap()
        };
        let db = place.open();
        let nodes = "SELECT id || ' ' || number || ' ' || pool_number || ' ' || promoted_us || ' ' || desired || ' ' || agent_boot \
                     FROM nodes ORDER BY id";
        assert_eq!(cells(&db, nodes), ["n1 1 1 10 in_service 0", "n2 2 2 20 in_service 0", "n3 3 1 30 in_service 0"]);
        let orders = "SELECT id || ' ' || node_id || ' ' || allocation_id || ' ' || kind || ' ' || fence_incarnation || \
                      fence_generation || attempt || ' ' || state || ' ' || state_since_us || input || progress || output || \
                      deadline_us || wait_code || look_us || faults || last_fault || version || created_us FROM node_tasks";
        assert_eq!(cells(&db, orders), [r#"w1 n1 a1 slice.vm_provision 123 failed 4{"slots":[]}half{}5w67f89"#]);
        let slots = "SELECT id || ' ' || drifted || ' ' || approved_by FROM node_resource_slots";
        assert_eq!(cells(&db, slots), ["l1 0 "]);
    });
}

#[test]
fn proofs_from_before_they_were_named_get_a_name_and_the_key_they_were_taken_with() {
    const BEFORE: usize = 6;
    const OLD: &[&str] = &[
        "INSERT INTO regions (id, slug, name, enabled, version, created_us) VALUES ('r1', 'north', 'North', 1, 1, 0)",
        "INSERT INTO pools (id, region_id, slug, name, gpu_model, slices_enabled, version, created_us)
         VALUES ('o1', 'r1', 'h200', 'H200', 'h200', 1, 1, 0)",
        "INSERT INTO nodes (id, pool_id, name, gpu_model, public_key, partitions, state, state_since_us, version, created_us)
         VALUES ('nod_01jh2n6f4zw8q9r0s1t2v3x4y5', 'o1', 'host1', 'h200', 'key1', '[]', 'online', 0, 1, 10)",
        "INSERT INTO node_resource_slots (id, node_id, profile, state, fabric_claim_mode, partition_ids, capacity_metadata, health_state, health_detail, state_since_us, version, created_us)
         VALUES ('slt_01jh2n6f4zw8q9r0s1t2v3x4y5', 'nod_01jh2n6f4zw8q9r0s1t2v3x4y5', 'x', 'disabled', 'none', '[]', '{}', 'ok', '', 0, 1, 0)",
        "INSERT INTO wipe_proofs (slot_id, use_generation, node_id, nonce, body, at_us)
         SELECT s.id, 12, s.node_id, 'n', '{\"node_id\":\"nod_01jh2n6f4zw8q9r0s1t2v3x4y5\",\"slot_id\":\"slt_01jh2n6f4zw8q9r0s1t2v3x4y5\",\"use_generation\":12,\"nonce\":\"n\",\"steps\":[],\"signature\":\"\"}', 5 FROM node_resource_slots s",
    ];
    both_places(|place| {
        let old = Db::open(&DbConfig { migrations: &MIGRATIONS[..BEFORE], ..place.config() }).unwrap();
        old.write(|tx| OLD.iter().try_for_each(|sql| tx.execute(sql, &[]).map(drop))).unwrap();
        drop(old);
        let slot: model::SlotId = "slt_01jh2n6f4zw8q9r0s1t2v3x4y5".parse().unwrap();
        let kept = place.open().read(move |tx| store::proofs::newest(tx, &slot, None)).unwrap().unwrap();
        assert_eq!(kept.id.as_str(), "prf_0000000012w8q9r0s1t2v3x4y5");
        assert_eq!((kept.public_key.as_str(), kept.disk_identity.as_str(), kept.steps.len()), ("key1", "", 5));
    });
}

#[test]
fn a_store_from_the_future_or_with_another_past_is_refused() {
    const KNOWN: usize = 2;
    both_places(|place| {
        drop(place.open());
        let older = Db::open(&DbConfig { migrations: &MIGRATIONS[..KNOWN], ..place.config() }).unwrap_err();
        assert!(matches!(&older, StoreError::Refused(why) if why.contains("newer than this program")), "{older}");
        let edited: &'static [Migration] = Vec::leak(
            MIGRATIONS.iter().map(|m| if m.version == 2 { Migration { sql: "SELECT 1", ..*m } } else { *m }).collect(),
        );
        let changed = Db::open(&DbConfig { migrations: edited, ..place.config() }).unwrap_err();
        assert!(matches!(&changed, StoreError::Refused(why) if why.contains("another text")), "{changed}");
        drop(place.open());
    });
}

#[test]
fn a_migration_that_fails_leaves_nothing_behind() {
    both_places(|place| {
        let broken: &'static [Migration] = Vec::leak(vec![
            MIGRATIONS[0],
            Migration { version: 2, name: "broken", sql: "CREATE TABLE half (id TEXT); CREATE TABLE half (id TEXT);" },
        ]);
        let error = Db::open(&DbConfig { migrations: broken, ..place.config() }).unwrap_err();
        assert!(matches!(&error, StoreError::Refused(why) if why.contains("broken")), "{error}");
        assert_eq!(history(&place.open()).len(), MIGRATIONS.len());
    });
}

#[test]
fn replicas_that_start_together_migrate_once() {
    let place = Place::new(Dialect::Postgres);
    let replicas: Vec<_> = (0..4)
        .map(|_| {
            let config = place.config();
            std::thread::spawn(move || Db::open(&config).unwrap())
        })
        .collect();
    let replicas: Vec<Db> = replicas.into_iter().map(|replica| replica.join().unwrap()).collect();
    assert_eq!(history(&replicas[0]).len(), MIGRATIONS.len());
    let ids: Vec<_> = replicas.iter().map(|replica| replica.read(store_identity).unwrap()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
}

#[test]
fn the_identity_is_given_once_and_the_incarnation_rises() {
    both_places(|place| {
        let named = DbConfig { store_id: Some("first".into()), ..place.config() };
        drop(Db::open(&named).unwrap());
        let db = Db::open(&DbConfig { store_id: Some("second".into()), ..place.config() }).unwrap();
        let identity = db.read(store_identity).unwrap();
        assert_eq!((identity.store_id.as_str(), identity.incarnation), ("first", 1));
        assert_eq!(db.write(incarnation_bump), Ok(2));
        drop(db);
        assert_eq!(place.open().read(incarnation), Ok(2));
    });
    let ids: Vec<String> =
        (0..2).map(|_| Place::new(Dialect::Sqlite).open().read(store_identity).unwrap().store_id).collect();
    assert_ne!(ids[0], ids[1], "unnamed stores are told apart");
}

#[test]
fn both_engines_sort_ids_alike() {
    // Letters of both cases, digits, marks and other scripts: where locales disagree with bytes.
    let words =
        ["alc_0z", "alc_0Z", "ALC_0z", "alc-0z", "alc_a", "alc_1", "Ä", "a", "z", "é", "_", "~", "10", "9", "日"];
    let mut sorted = BTreeMap::new();
    both_places(|place| {
        let db = place.open();
        db.write(move |tx| words.iter().try_for_each(|word| put(tx, word))).unwrap();
        let found = crate::transactions::names(&db);
        let mut by_bytes = words.map(str::to_owned).to_vec();
        by_bytes.sort();
        assert_eq!(found, by_bytes, "{:?}", db.dialect());
        let after = db.read(|tx| {
            let rows = tx.query(
                "SELECT name FROM leases WHERE name > $1 ORDER BY name LIMIT $2",
                &["alc_0z".into(), 3.into()],
            )?;
            rows.iter().map(|row| row.text(0).map(str::to_owned)).collect::<Result<Vec<_>, StoreError>>()
        });
        sorted.insert(format!("{:?}", db.dialect()), after.unwrap());
    });
    let pages: Vec<_> = sorted.values().collect();
    assert_eq!(pages[0], pages[1]);
    assert_eq!(pages[0], &["alc_1", "alc_a", "z"]);
}

#[test]
fn an_embedded_file_serves_one_handle_at_a_time() {
    let place = Place::new(Dialect::Sqlite);
    let db = place.open();
    let second = Db::open(&place.config()).unwrap_err();
    let pid = std::process::id().to_string();
    assert!(matches!(&second, StoreError::Refused(why) if why.contains("in use") && why.contains(&pid)), "{second}");
    drop(db);
    drop(place.open());
}

const SECOND_PROCESS: &str = "STORE_TEST_SECOND_PROCESS";

/// The body of the second process below; alone it does nothing.
#[test]
fn second_process() {
    if let Ok(url) = std::env::var(SECOND_PROCESS) {
        let error = Db::open(&DbConfig::new(url)).unwrap_err();
        assert!(error.to_string().contains("one process at a time"), "{error}");
    }
}

#[test]
fn an_embedded_file_is_refused_to_a_second_process() {
    let place = Place::new(Dialect::Sqlite);
    let open_second = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "opening::second_process"]).env(SECOND_PROCESS, place.url());
        command.output().unwrap().status.success()
    };
    let db = place.open();
    assert!(open_second(), "refused while this process has it");
    drop(db);
    assert!(!open_second(), "and accepted afterwards, so that the refusal above meant something");
}

#[test]
fn addresses_that_lead_nowhere_are_refused_clearly() {
    for url in ["", "sqlite:", "mysql://x", "store.db", "sqlite:/nonexistent/dir/store.db", "postgres://x:notaport/y"] {
        let error = Db::open(&DbConfig::new(url)).unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{url}: {error:?}");
    }
    let tls = format!("{}?sslmode=require", PostgresCluster::shared().tcp_url("postgres"));
    assert!(Db::open(&DbConfig::new(tls)).unwrap_err().to_string().contains("TLS"));
    let nobody = Db::open(&DbConfig::new("postgres://postgres@127.0.0.1:1/x")).unwrap_err();
    assert!(matches!(nobody, StoreError::Unavailable(_)), "{nobody:?}");
}

#[test]
fn loopback_tcp_works_like_the_socket() {
    let place = Place::new(Dialect::Postgres);
    let name = place.url().rsplit('/').next().unwrap().to_owned();
    let db = Db::open(&DbConfig { writers: 1, readers: 1, ..DbConfig::new(PostgresCluster::shared().tcp_url(&name)) });
    assert_eq!(db.unwrap().write(|tx| put(tx, "a")), Ok(()));
}

#[test]
fn the_file_is_private_in_wal_mode_with_full_durability() {
    let place = Place::new(Dialect::Sqlite);
    let db = place.open();
    let wal = format!("{}-wal", place.url().trim_start_matches("sqlite:"));
    db.write(|tx| put(tx, "a")).unwrap();
    for file in [wal.as_str(), wal.trim_end_matches("-wal"), &wal.replace("-wal", ".lock")] {
        let mode = std::fs::metadata(Path::new(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file} is for its owner only");
    }
    let (synchronous, foreign_keys) = db
        .write(|tx| {
            let synchronous = tx.query_one("PRAGMA synchronous", &[])?.int(0)?;
            Ok::<_, StoreError>((synchronous, tx.query_one("PRAGMA foreign_keys", &[])?.int(0)?))
        })
        .unwrap();
    assert_eq!((synchronous, foreign_keys), (2, 1));
}
