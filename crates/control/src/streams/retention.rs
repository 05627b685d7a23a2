//! How long recordings are kept. Each replica goes through its own folder now and then and removes the files of streams that
//! ended long ago; the audit trail says so first, so that nothing is gone of which nobody was told. The row of a stream stays,
//! with the digest of what was recorded: who was in which guest, and when, is not forgotten. A file of which the store knows
//! nothing is left alone.

use std::{collections::BTreeSet, io, path::Path, time::Duration};

use model::{AuditId, StreamId, Timestamp};
use serde_json::json;
use store::{
    Db, StoreError, Tx,
    audit::{self, AuditRow},
    streams::{self, StreamRow},
};

use super::{
    Gateway, RecordingConfig, plus,
    recording::{printed_path, typed_path},
};
use crate::Ports;

/// Streams that are looked up in one transaction.
const AT_ONCE: usize = 100;

/// Whether what was recorded of a stream that ended then is not kept any more.
pub(crate) fn is_over(ended: Timestamp, keep: Duration, now: Timestamp) -> bool {
    plus(ended, keep) <= now
}

impl Gateway {
    /// Removes what is not kept any more from this replica's folder.
    pub(super) async fn purge(&self, db: &Db, ports: &Ports) {
        let Some(config) = &self.config().recordings else { return };
        let ids = match recorded(&config.folder).await {
            Ok(ids) => ids,
            Err(error) => {
                tracing::warn!(%error, folder = %config.folder.display(), "recordings could not be listed");
                return;
            }
        };
        let ids: Vec<StreamId> = ids.into_iter().collect();
        for some in ids.chunks(AT_ONCE) {
            match purge_some(db, ports, config, some).await {
                Ok(0) => {}
                Ok(gone) => tracing::info!(gone, "recordings were kept for as long as they are to be, and removed"),
                Err(error) => tracing::warn!(%error, "old recordings could not be removed; tried again later"),
            }
        }
    }
}

/// The streams of which there is a file, oldest first.
async fn recorded(folder: &Path) -> io::Result<BTreeSet<StreamId>> {
    let mut found = BTreeSet::new();
    let mut files = match tokio::fs::read_dir(folder).await {
        Ok(files) => files,
        // Nothing was recorded yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error),
    };
    while let Some(file) = files.next_entry().await? {
        let name = file.file_name();
        let stem = name.to_str().and_then(|name| name.strip_suffix(".log").or_else(|| name.strip_suffix(".typed")));
        found.extend(stem.and_then(|stem| stem.parse::<StreamId>().ok()));
    }
    Ok(found)
}

async fn purge_some(db: &Db, ports: &Ports, config: &RecordingConfig, ids: &[StreamId]) -> Result<usize, StoreError> {
    let (ids, keep, ports) = (ids.to_vec(), config.keep, ports.clone());
    let due = move |tx: &mut Tx<'_>| {
        let now = ports.now();
        let mut due = Vec::new();
        for id in &ids {
            due.extend(streams::get(tx, id)?.filter(|row| row.ended.is_some_and(|(at, _)| is_over(at, keep, now))));
        }
        for row in &due {
            audit::append(tx, &told(&ports, row, keep, now))?;
        }
        Ok::<_, StoreError>(due)
    };
    let due = db.write_async(due).await?;
    for row in &due {
        for path in [printed_path(&config.folder, &row.id), typed_path(&config.folder, &row.id)] {
            match tokio::fs::remove_file(&path).await {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(%error, path = %path.display(), "an old recording could not be removed");
                }
                _ => {}
            }
        }
    }
    Ok(due.len())
}

fn told(ports: &Ports, row: &StreamRow, keep: Duration, now: Timestamp) -> AuditRow {
    let id = AuditId::from_parts(now, ports.id_bits());
    let sha256 = row.recording.as_ref().map(|kept| &kept.sha256);
    AuditRow {
        request_id: id.to_string(),
        id,
        actor: "system:streams".to_owned(),
        token_id: None,
        action: "stream_recording_purge".to_owned(),
        subject: row.allocation_id.to_string(),
        tenant_id: Some(row.tenant_id.clone()),
        body: json!({ "stream_id": row.id, "replica": row.replica, "kept_s": keep.as_secs(), "sha256": sha256 })
            .to_string(),
        at: now,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_recording_is_kept_from_its_end_on() {
        let ended = Timestamp::from_micros(1_000_000);
        let keep = Duration::from_secs(60);
        assert!(!is_over(ended, keep, ended));
        assert!(!is_over(ended, keep, ended.plus_micros(59_999_999)));
        assert!(is_over(ended, keep, ended.plus_seconds(60)));
        assert!(is_over(ended, Duration::ZERO, ended));
    }

    #[tokio::test]
    async fn only_files_of_streams_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        assert!(recorded(&folder.path().join("none")).await.unwrap().is_empty());
        let id = StreamId::from_parts(Timestamp::from_micros(1), [1; 10]);
        for name in [format!("{id}.log"), format!("{id}.typed"), "notes.log".to_owned(), format!("{id}.log.gz")] {
            tokio::fs::write(folder.path().join(name), "x").await.unwrap();
        }
        assert_eq!(recorded(folder.path()).await.unwrap(), BTreeSet::from([id]));
    }
}
