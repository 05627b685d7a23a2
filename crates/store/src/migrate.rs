//! Brings a store to the schema this program was built with. All pending files run in one transaction under a lock, so
//! several replicas may start at once and a half-migrated store cannot exist. Every applied file is recorded with its
//! checksum.
//!
//! Refuses: a store that a newer program migrated, and a store whose recorded history differs from the embedded files
//! (somebody edited a migration that had already run).

use std::fmt::Write as _;

use model::Timestamp;
use sha2::{Digest, Sha256};

use crate::{
    Dialect, StoreError, Value, sql_text,
    tx::{Control, Session, Tx},
};

/// One embedded schema file.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Its place in the order, from 1 without gaps.
    pub version: i64,
    /// Its file name without number and ending.
    pub name: &'static str,
    /// Its text.
    pub sql: &'static str,
}

/// All schema files, in order. A released file never changes; a new one is added instead.
pub const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "foundation", sql: include_str!("../migrations/0001_foundation.sql") },
    Migration { version: 2, name: "tenancy", sql: include_str!("../migrations/0002_tenancy.sql") },
    Migration { version: 3, name: "supply", sql: include_str!("../migrations/0003_supply.sql") },
    Migration { version: 4, name: "allocations", sql: include_str!("../migrations/0004_allocations.sql") },
    Migration { version: 5, name: "enrollment", sql: include_str!("../migrations/0005_enrollment.sql") },
    Migration { version: 6, name: "placement", sql: include_str!("../migrations/0006_placement.sql") },
    Migration { version: 7, name: "runtime", sql: include_str!("../migrations/0007_runtime.sql") },
    Migration { version: 8, name: "streams", sql: include_str!("../migrations/0008_streams.sql") },
    Migration {
        version: 9,
        name: "proofs_and_ingress",
        sql: include_str!("../migrations/0009_proofs_and_ingress.sql"),
    },
    Migration { version: 10, name: "machines", sql: include_str!("../migrations/0010_machines.sql") },
    Migration { version: 11, name: "governance", sql: include_str!("../migrations/0011_governance.sql") },
    Migration { version: 12, name: "workloads", sql: include_str!("../migrations/0012_workloads.sql") },
    Migration { version: 13, name: "governor", sql: include_str!("../migrations/0013_governor.sql") },
    Migration { version: 14, name: "sessions", sql: include_str!("../migrations/0014_sessions.sql") },
    Migration { version: 15, name: "webhooks", sql: include_str!("../migrations/0015_webhooks.sql") },
    Migration { version: 16, name: "audit_lists", sql: include_str!("../migrations/0016_audit_lists.sql") },
];

const HISTORY: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
  version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, at_us BIGINT NOT NULL)";

impl Migration {
    /// SHA-256 of the text, in hex.
    pub fn checksum(&self) -> String {
        let mut hex = String::with_capacity(64);
        for byte in Sha256::digest(self.sql.as_bytes()) {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }
}

/// What a store is opened with: who it will be if it is new, and when this is.
pub(crate) struct Opening<'a> {
    pub(crate) store_id: &'a str,
    pub(crate) at: Timestamp,
    /// The migrations this program knows; fewer than all only in tests of upgrades.
    pub(crate) known: &'a [Migration],
}

/// Brings the store up to date and gives a new one its identity. Nothing has happened when this fails.
pub(crate) fn migrate(session: &mut dyn Session, opening: &Opening<'_>) -> Result<(), StoreError> {
    session.control(Control::BeginWrite).map_err(|fault| fault.error)?;
    let done = migrate_inside(session, opening);
    let end = if done.is_ok() { Control::Commit } else { Control::Rollback };
    let ended = session.control(end).map_err(|fault| fault.error);
    done.and(ended)
}

fn migrate_inside(session: &mut dyn Session, opening: &Opening<'_>) -> Result<(), StoreError> {
    let dialect = session.dialect();
    if dialect == Dialect::Postgres {
        // Wait for another replica's migration rather than give up after the usual lock timeout.
        session.script("SET LOCAL lock_timeout = '120s'").map_err(|fault| fault.error)?;
        session.query("SELECT pg_advisory_xact_lock(7165126630412)", &[]).map_err(|fault| fault.error)?;
    }
    session.script(&dialect.ddl(HISTORY)).map_err(|fault| fault.error)?;
    let mut tx = Tx::new(session, true);
    let applied = tx.query("SELECT version, name, checksum FROM schema_migrations ORDER BY version", &[])?;
    for (at, row) in applied.iter().enumerate() {
        compare(opening.known.get(at), row.int(0)?, row.text(1)?, row.text(2)?)?;
    }
    for migration in &opening.known[applied.len()..] {
        apply(session, migration, opening.at)?;
    }
    if opening.known.is_empty() {
        Ok(())
    } else {
        crate::incarnation::ensure(&mut Tx::new(session, true), opening.store_id)
    }
}

/// Refuses a store that has not exactly the schema of this program. Changes nothing.
pub(crate) fn compare_all(tx: &mut Tx<'_>, known: &[Migration]) -> Result<(), StoreError> {
    let applied = tx
        .query("SELECT version, name, checksum FROM schema_migrations ORDER BY version", &[])
        .map_err(|error| StoreError::Refused(format!("it does not look like a store of this program: {error}")))?;
    for (at, row) in applied.iter().enumerate() {
        compare(known.get(at), row.int(0)?, row.text(1)?, row.text(2)?)?;
    }
    if applied.len() < known.len() {
        return Err(StoreError::Refused("its schema is older than this program; serve it once to migrate it".into()));
    }
    Ok(())
}

fn compare(known: Option<&Migration>, version: i64, name: &str, checksum: &str) -> Result<(), StoreError> {
    let refused = |why: String| Err(StoreError::Refused(why));
    match known {
        None => {
            refused(format!("its schema has version {version} ({name}), newer than this program knows; upgrade it"))
        }
        Some(known) if known.version != version || known.name != name => refused(format!(
            "its schema history has {version} ({name}) where {} ({}) belongs",
            known.version, known.name
        )),
        Some(known) if known.checksum() != checksum => {
            refused(format!("migration {version} ({name}) ran with another text than this program has"))
        }
        Some(_) => Ok(()),
    }
}

fn apply(session: &mut dyn Session, migration: &Migration, at: Timestamp) -> Result<(), StoreError> {
    let dialect = session.dialect();
    for statement in sql_text::statements(migration.sql) {
        session.script(&dialect.ddl(&statement)).map_err(|fault| {
            let Migration { version, name, .. } = migration;
            StoreError::Refused(format!("migration {version} ({name}) failed: {}: {statement}", fault.error))
        })?;
    }
    let record: [Value; 4] = [migration.version.into(), migration.name.into(), migration.checksum().into(), at.into()];
    let recorded = Tx::new(session, true)
        .execute_one("INSERT INTO schema_migrations (version, name, checksum, at_us) VALUES ($1, $2, $3, $4)", &record);
    tracing::info!(version = migration.version, name = migration.name, "schema migrated");
    recorded
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_directory_is_embedded_in_order() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
        let mut files: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let embedded: Vec<String> = MIGRATIONS.iter().map(|m| format!("{:04}_{}.sql", m.version, m.name)).collect();
        assert_eq!(files, embedded);
        assert!(MIGRATIONS.iter().zip(1..).all(|(migration, number)| migration.version == number));
    }
}
