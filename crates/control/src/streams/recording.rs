//! What a console prints, kept: one file for each stream, for its owner's eyes only, with a limit of size and a digest of
//! what is in it. A console whose recording cannot be written is ended; there is no console without one.

use std::{
    io,
    path::{Path, PathBuf},
};

use model::StreamId;
use sha2::{Digest as _, Sha256};
use store::streams;
use tokio::{
    fs::{DirBuilder, File, OpenOptions},
    io::AsyncWriteExt as _,
};

use super::RecordingConfig;
use crate::authz::token::hex;

/// Where what was printed is kept.
pub(super) fn printed_path(folder: &Path, id: &StreamId) -> PathBuf {
    folder.join(format!("{id}.log"))
}

/// Where what was typed is kept, when it is.
pub(super) fn typed_path(folder: &Path, id: &StreamId) -> PathBuf {
    folder.join(format!("{id}.typed"))
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct Recording {
    file: File,
    digest: Sha256,
    bytes: u64,
    bytes_max: u64,
    cut: bool,
}

impl Recording {
    /// Begins the file of what is printed.
    pub(super) async fn printed(config: &RecordingConfig, id: &StreamId) -> io::Result<Self> {
        Self::begin(config, &printed_path(&config.folder, id)).await
    }

    /// Begins the file of what is typed, where that is kept.
    pub(super) async fn typed(config: &RecordingConfig, id: &StreamId) -> io::Result<Option<Self>> {
        if !config.keystrokes {
            return Ok(None);
        }
        Self::begin(config, &typed_path(&config.folder, id)).await.map(Some)
    }

    async fn begin(config: &RecordingConfig, path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&config.folder).await?;
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).await?;
        Ok(Self { file, digest: Sha256::new(), bytes: 0, bytes_max: config.bytes_max, cut: false })
    }

    /// Keeps these bytes, as far as there is room.
    pub(super) async fn keep(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.bytes_max - self.bytes).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        self.cut |= kept.len() < bytes.len();
        if kept.is_empty() {
            return Ok(());
        }
        self.file.write_all(kept).await?;
        // Written in the background; whether that worked is known only now.
        self.file.flush().await?;
        self.digest.update(kept);
        self.bytes += kept.len() as u64;
        Ok(())
    }

    /// A file that takes nothing.
    #[cfg(test)]
    pub(super) async fn on_a_full_disk() -> Self {
        let file = OpenOptions::new().write(true).open("/dev/full").await.expect("/dev/full");
        Self { file, digest: Sha256::new(), bytes: 0, bytes_max: 1024, cut: false }
    }

    /// Ends the file; what is in it lasts when this returns.
    pub(super) async fn end(mut self) -> io::Result<streams::Recording> {
        self.file.flush().await?;
        self.file.sync_all().await?;
        let bytes = i64::try_from(self.bytes).unwrap_or(i64::MAX);
        Ok(streams::Recording { bytes, sha256: hex(&self.digest.finalize()), cut: self.cut })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::Timestamp;

    fn id(n: u8) -> StreamId {
        StreamId::from_parts(Timestamp::from_micros(1), [n; 10])
    }

    #[tokio::test]
    async fn what_fits_is_kept_with_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let config = RecordingConfig { bytes_max: 10, ..RecordingConfig::new(folder.path().join("console")) };
        let mut recording = Recording::printed(&config, &id(1)).await.unwrap();
        recording.keep(b"login: ").await.unwrap();
        recording.keep(b"password: ").await.unwrap();
        recording.keep(b"more").await.unwrap();
        let kept = recording.end().await.unwrap();
        let found = std::fs::read(printed_path(&config.folder, &id(1))).unwrap();
        assert_eq!(found, b"login: pas");
        let expected = streams::Recording { bytes: 10, sha256: hex(&Sha256::digest(&found)), cut: true };
        assert_eq!(kept, expected);
        assert!(Recording::printed(&config, &id(1)).await.is_err(), "a recording is never written over");
    }

    #[tokio::test]
    async fn files_are_for_their_owner_only_and_typing_is_not_kept_unless_asked_for() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let config = RecordingConfig::new(folder.path().join("console"));
        Recording::printed(&config, &id(2)).await.unwrap().end().await.unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&config.folder), mode(&printed_path(&config.folder, &id(2)))), (0o700, 0o600));
        assert!(Recording::typed(&config, &id(2)).await.unwrap().is_none());
        let asked = RecordingConfig { keystrokes: true, ..config };
        let mut typed = Recording::typed(&asked, &id(2)).await.unwrap().unwrap();
        typed.keep(b"ls\n").await.unwrap();
        assert_eq!(typed.end().await.unwrap().bytes, 3);
    }
}
