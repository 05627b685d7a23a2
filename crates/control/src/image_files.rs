//! The bytes of images on this replica's disk: one file for each digest, in one folder. A file has its name only once it is
//! whole, was found to be what its entry says, and is on the disk for good; until then it is a part that the next start may
//! throw away. Replicas that serve the same store share the folder.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use model::image::ImageSpec;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Semaphore, mpsc};

use crate::authz::token::hex;

/// Bytes that arrived whole, by what was counted on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Their SHA-256, in hexadecimal.
    pub sha256: String,
    /// How many.
    pub size_bytes: u64,
}

/// Why bytes were not kept.
#[derive(Debug, thiserror::Error)]
pub enum ContentFault {
    /// There are more than the entry says.
    #[error("size_bytes: expected {expected}, found more")]
    TooLong {
        /// What the entry says.
        expected: u64,
    },
    /// There are fewer.
    #[error("size_bytes: expected {expected}, found {found}")]
    Short {
        /// What the entry says.
        expected: u64,
        /// How many came.
        found: u64,
    },
    /// They are others.
    #[error("sha256: expected {expected}, found {found}")]
    OtherDigest {
        /// What the entry says.
        expected: String,
        /// What came.
        found: String,
    },
    /// They could not be written.
    #[error("the image folder: {0}")]
    Disk(#[from] io::Error),
}

/// The folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ImageFiles {
    folder: Arc<Path>,
    uploads: Arc<Semaphore>,
}

/// Uploads that are taken at the same time; each is bound by the disk.
const UPLOADS_AT_ONCE: usize = 2;
/// How a part is called.
const PART: &str = ".part";

impl ImageFiles {
    /// Opens a folder, which is made if it is not there. Parts that a crash left behind go: nobody will finish them.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        fs::create_dir_all(&folder)?;
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "part") {
                fs::remove_file(path)?;
            }
        }
        Ok(Self { folder: folder.into(), uploads: Arc::new(Semaphore::new(UPLOADS_AT_ONCE)) })
    }

    /// A place among those who upload, if one is free.
    pub(crate) fn place(&self) -> Option<tokio::sync::OwnedSemaphorePermit> {
        Arc::clone(&self.uploads).try_acquire_owned().ok()
    }

    fn path(&self, sha256: &str) -> PathBuf {
        self.folder.join(sha256)
    }

    /// Writes bytes down as they come, and keeps them if they are what the entry says; otherwise nothing is left of them.
    /// Blocks. `name` tells this part from others that are being written.
    pub(crate) fn receive(
        &self,
        entry: &ImageSpec,
        name: &str,
        mut chunks: mpsc::Receiver<Bytes>,
    ) -> Result<Received, ContentFault> {
        let mut part = Part::create(self.folder.join(format!("{}.{name}{PART}", entry.sha256)))?;
        let (mut digest, mut size_bytes) = (Sha256::new(), 0u64);
        while let Some(chunk) = chunks.blocking_recv() {
            size_bytes = size_bytes.saturating_add(chunk.len() as u64);
            if size_bytes > entry.size_bytes {
                return Err(ContentFault::TooLong { expected: entry.size_bytes });
            }
            digest.update(&chunk);
            part.file.write_all(&chunk)?;
        }
        let received = Received { sha256: hex(&digest.finalize()), size_bytes };
        judge(entry, &received)?;
        part.file.sync_all()?;
        fs::rename(&part.path, self.path(&entry.sha256))?;
        part.kept = true;
        // The name is on the disk only when the folder is.
        File::open(&self.folder)?.sync_all()?;
        Ok(received)
    }

    /// The bytes with a digest, and how many there are; none when they are not here.
    pub(crate) fn read(&self, sha256: &str) -> io::Result<Option<(File, u64)>> {
        match File::open(self.path(sha256)) {
            Ok(file) => {
                let length = file.metadata()?.len();
                Ok(Some((file, length)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether what came is what the entry says.
pub(crate) fn judge(entry: &ImageSpec, received: &Received) -> Result<(), ContentFault> {
    let (expected, found) = (entry.size_bytes, received.size_bytes);
    if found > expected {
        return Err(ContentFault::TooLong { expected });
    }
    if found < expected {
        return Err(ContentFault::Short { expected, found });
    }
    if received.sha256 != entry.sha256 {
        let (expected, found) = (entry.sha256.clone(), received.sha256.clone());
        return Err(ContentFault::OtherDigest { expected, found });
    }
    Ok(())
}

/// A file that is gone again unless it was kept.
struct Part {
    path: PathBuf,
    file: File,
    kept: bool,
}

impl Part {
    fn create(path: PathBuf) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).open(&path)?;
        Ok(Self { path, file, kept: false })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(%error, "a part of an image could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::image::{ImageFormat, ImageKind};
    use std::io::Read as _;

    fn entry(bytes: &[u8]) -> ImageSpec {
        ImageSpec {
            id: "debian".into(),
            sha256: hex(&Sha256::digest(bytes)),
            size_bytes: bytes.len() as u64,
            format: ImageFormat::Raw,
            virtual_size_bytes: bytes.len() as u64,
            minimum_disk_bytes: bytes.len() as u64,
            kind: ImageKind::Base,
            signer_key_id: "key".into(),
            signature: "0".repeat(128),
        }
    }

    fn bring(files: &ImageFiles, entry: &ImageSpec, bytes: &[u8]) -> Result<Received, ContentFault> {
        let (send, chunks) = mpsc::channel(64);
        for chunk in bytes.chunks(100) {
            send.try_send(Bytes::copy_from_slice(chunk)).unwrap();
        }
        drop(send);
        files.receive(entry, "one", chunks)
    }

    #[test]
    fn only_what_the_entry_says_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let files = ImageFiles::open(folder.path()).unwrap();
        let bytes = vec![7u8; 1024];
        let entry = entry(&bytes);
        let left = || fs::read_dir(folder.path()).unwrap().count();
        assert!(matches!(bring(&files, &entry, &bytes[..1000]), Err(ContentFault::Short { found: 1000, .. })));
        assert!(matches!(bring(&files, &entry, &[7u8; 2048]), Err(ContentFault::TooLong { expected: 1024 })));
        assert!(matches!(bring(&files, &entry, &[8u8; 1024]), Err(ContentFault::OtherDigest { .. })));
        assert_eq!(left(), 0, "nothing of it stays");
        assert!(files.read(&entry.sha256).unwrap().is_none());
        for _ in 0..2 {
            let received = bring(&files, &entry, &bytes).unwrap();
            assert_eq!((received.sha256.as_str(), received.size_bytes), (entry.sha256.as_str(), 1024));
        }
        assert_eq!(left(), 1);
        let (mut file, length) = files.read(&entry.sha256).unwrap().unwrap();
        let mut found = Vec::new();
        file.read_to_end(&mut found).unwrap();
        assert_eq!((found, length), (bytes, 1024));
    }

    #[test]
    fn parts_of_a_crash_are_thrown_away_and_images_are_not() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("aa.x.part"), b"half").unwrap();
        fs::write(folder.path().join("bb"), b"whole").unwrap();
        let files = ImageFiles::open(folder.path()).unwrap();
        assert!(!folder.path().join("aa.x.part").exists());
        assert_eq!(files.read("bb").unwrap().unwrap().1, 5);
    }

    #[test]
    fn so_many_upload_at_once_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let files = ImageFiles::open(folder.path()).unwrap();
        let held: Vec<_> = (0..UPLOADS_AT_ONCE).map(|_| files.place().unwrap()).collect();
        assert!(files.place().is_none());
        drop(held);
        assert!(files.place().is_some());
    }
}
