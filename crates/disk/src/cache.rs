//! The images a node keeps. A file is named by its digest and comes into being only whole and verified: it is written beside,
//! checked while it is written, flushed, and renamed. What was not used for longest goes first when room is needed; what is
//! pinned never goes.

use crate::{
    bulk::{self, Range},
    fault::{Fault, ImageRefusal},
    image::{ImageFormat, ImageSpec, TrustedImage},
};
use rustix::fs::{FlockOperation, Timespec, Timestamps, UTIME_NOW};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The folder of images, and how much it may hold.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    bytes_max: u64,
    // Files that this process has read and found right, as they were then.
    found_right: Arc<Mutex<BTreeMap<String, Stamp>>>,
}

/// An image in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its digest, which is its name.
    pub sha256: String,
    /// How long its file is.
    pub bytes: u64,
    /// When it was last used, in nanoseconds; only the order matters.
    pub used_ns: i128,
}

/// An image in the cache whose content was verified, held open. While its file stays as it was then, it is that content.
#[derive(Debug)]
pub struct CachedImage {
    image: TrustedImage,
    file: File,
    stamp: Stamp,
    known_by: KnownBy,
}

/// How the content of an image in the cache is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownBy {
    /// It was read just now.
    Reading,
    /// It was read before by this process, and nobody wrote to its file since. Only where what is written to a disk is held
    /// against the digest itself: a raw image.
    EarlierReading,
}

// A file that was written to since has another change time, which no program can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

fn stamp(file: &File) -> io::Result<Stamp> {
    let seen = file.metadata()?;
    Ok(Stamp {
        device: seen.dev(),
        inode: seen.ino(),
        bytes: seen.len(),
        written: (seen.mtime(), seen.mtime_nsec()),
        changed: (seen.ctime(), seen.ctime_nsec()),
    })
}

impl CachedImage {
    /// Its entry in the catalogue.
    pub fn spec(&self) -> &ImageSpec {
        self.image.spec()
    }

    /// How its content is known.
    pub fn known_by(&self) -> KnownBy {
        self.known_by
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether the file is still the one that was verified.
    pub fn unchanged(&self) -> Result<(), Fault> {
        let now = stamp(&self.file).map_err(|error| Fault::io("looking at the image", 0, &error))?;
        let digest = self.spec().sha256.clone();
        if now == self.stamp { Ok(()) } else { Err(ImageRefusal::Changed { digest }.into()) }
    }
}

/// Which images go so that there is room for another one, the one not used for longest first.
pub fn make_room(
    entries: &[Entry],
    needed: u64,
    bytes_max: u64,
    pinned: &BTreeSet<String>,
) -> Result<Vec<String>, ImageRefusal> {
    let held: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let mut over = held.saturating_add(needed).saturating_sub(bytes_max);
    let mut free: Vec<&Entry> = entries.iter().filter(|entry| !pinned.contains(&entry.sha256)).collect();
    let kept = held - free.iter().map(|entry| entry.bytes).sum::<u64>();
    if kept.saturating_add(needed) > bytes_max {
        return Err(ImageRefusal::CacheFull { needed, free: bytes_max.saturating_sub(kept) });
    }
    free.sort_by(|one, other| (one.used_ns, &one.sha256).cmp(&(other.used_ns, &other.sha256)));
    let mut going = vec![];
    for entry in free {
        if over == 0 {
            break;
        }
        over = over.saturating_sub(entry.bytes);
        going.push(entry.sha256.clone());
    }
    Ok(going)
}

impl Cache {
    /// A cache in a folder, which is made if it is not there.
    pub fn open(folder: &Path, bytes_max: u64) -> Result<Self, Fault> {
        fs::create_dir_all(folder).map_err(|error| fault(folder, "making the cache", &error))?;
        Ok(Self { folder: folder.to_owned(), bytes_max, found_right: Arc::default() })
    }

    /// Every image it holds. Files with other names are not ours and are left alone.
    pub fn entries(&self) -> Result<Vec<Entry>, Fault> {
        let unreadable = |error: io::Error| fault(&self.folder, "listing the cache", &error);
        let mut entries = vec![];
        for found in fs::read_dir(&self.folder).map_err(unreadable)? {
            let found = found.map_err(unreadable)?;
            let Ok(sha256) = found.file_name().into_string() else { continue };
            if bulk::unhex(&sha256).is_none_or(|bytes| bytes.len() != 32) {
                continue;
            }
            let bytes = found.metadata().map_err(unreadable)?.len();
            let seen = fs::metadata(self.used_mark(&sha256)).or_else(|_| found.metadata()).map_err(unreadable)?;
            let used_ns = i128::from(seen.mtime()) * 1_000_000_000 + i128::from(seen.mtime_nsec());
            entries.push(Entry { sha256, bytes, used_ns });
        }
        entries.sort_by(|one, other| one.sha256.cmp(&other.sha256));
        Ok(entries)
    }

    /// The image from the cache, once its content was read and has the right digest. A file that has another is removed. A raw
    /// image that was read before is not read again while its file is as it was: its clone is read back against the digest.
    pub fn verify_cached(&self, image: &TrustedImage) -> Result<CachedImage, Fault> {
        let spec = image.spec();
        let path = self.folder.join(&spec.sha256);
        let absent = || ImageRefusal::NotCached { digest: spec.sha256.clone() };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(absent().into()),
            Err(error) => return Err(fault(&path, "opening the image", &error)),
        };
        self.mark_used(&spec.sha256)?;
        let stamp = stamp(&file).map_err(|error| fault(&path, "looking at the image", &error))?;
        let before = spec.format == ImageFormat::Raw && self.right().get(&spec.sha256) == Some(&stamp);
        let known_by = if before { KnownBy::EarlierReading } else { KnownBy::Reading };
        let refusal = if before {
            None
        } else if stamp.bytes == spec.size_bytes {
            let found = bulk::sha256(&file, Range { offset: 0, bytes: stamp.bytes }, 1, &mut |_| ())?;
            let (expected, found) = (spec.sha256.clone(), bulk::hex(&found));
            (expected != found).then_some(ImageRefusal::Digest { expected, found })
        } else {
            Some(ImageRefusal::Length { expected: spec.size_bytes, found: stamp.bytes })
        };
        if let Some(refusal) = refusal {
            self.forget(&spec.sha256)?;
            return Err(refusal.into());
        }
        let cached = CachedImage { image: image.clone(), file, stamp, known_by };
        cached.unchanged()?;
        self.right().insert(spec.sha256.clone(), stamp);
        Ok(cached)
    }

    /// What was written from this image was not what it should be: it is read again before it is used again.
    pub fn doubt(&self, sha256: &str) {
        self.right().remove(sha256);
    }

    // Nothing panics while the lock is held.
    fn right(&self) -> MutexGuard<'_, BTreeMap<String, Stamp>> {
        self.found_right.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings an image into the cache, unless it is there. Never leaves a part of one.
    pub fn fetch(
        &self,
        image: &TrustedImage,
        source: &mut dyn Read,
        pinned: &BTreeSet<String>,
    ) -> Result<CachedImage, Fault> {
        match self.verify_cached(image) {
            Err(Fault::Refused { .. }) => (),
            known => return known,
        }
        let _lock = self.lock()?;
        self.sweep()?;
        let (spec, path) = (image.spec(), self.folder.join(&image.spec().sha256));
        for sha256 in make_room(&self.entries()?, spec.size_bytes, self.bytes_max, pinned)? {
            tracing::info!(%sha256, "image removed from the cache to make room");
            self.forget(&sha256)?;
        }
        let part = Part(self.folder.join(format!("{}.part", spec.sha256)));
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o400).open(&part.0);
        let file = file.map_err(|error| fault(&part.0, "making the image's file", &error))?;
        // Better to fail at once than after an hour.
        let room = rustix::fs::fstatvfs(&file).map_err(|error| fault(&part.0, "asking for room", &error.into()))?;
        if room.f_bavail.saturating_mul(room.f_frsize) < spec.size_bytes {
            return Err(Fault::NoRoom { path: self.folder.display().to_string() });
        }
        copy(spec, source, &file, &part.0)?;
        file.sync_all().map_err(|error| fault(&part.0, "flushing the image", &error))?;
        fs::rename(&part.0, &path).map_err(|error| fault(&path, "naming the image", &error))?;
        let folder = File::open(&self.folder).and_then(|folder| folder.sync_all());
        folder.map_err(|error| fault(&self.folder, "flushing the cache", &error))?;
        let file = File::open(&path).map_err(|error| fault(&path, "opening the image", &error))?;
        let stamp = stamp(&file).map_err(|error| fault(&path, "looking at the image", &error))?;
        self.mark_used(&spec.sha256)?;
        Ok(CachedImage { image: image.clone(), file, stamp, known_by: KnownBy::Reading })
    }

    /// What should not be there: how many bytes it holds beyond its limit, and parts that no fetch will finish.
    pub fn clutter(&self) -> Result<(u64, Vec<String>), Fault> {
        let held: u64 = self.entries()?.iter().map(|entry| entry.bytes).sum();
        // While a fetch is under way its part is its own.
        let parts = match self.lock() {
            Ok(_lock) => self.parts()?,
            Err(Fault::Refused { .. }) => vec![],
            Err(other) => return Err(other),
        };
        let names = parts.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
        Ok((held.saturating_sub(self.bytes_max), names.collect()))
    }

    /// Removes what should not be there. What is pinned stays, even beyond the limit.
    pub fn tidy(&self, pinned: &BTreeSet<String>) -> Result<(), Fault> {
        let _lock = self.lock()?;
        self.sweep()?;
        let entries = self.entries()?;
        let kept: u64 = entries.iter().filter(|entry| pinned.contains(&entry.sha256)).map(|entry| entry.bytes).sum();
        for sha256 in make_room(&entries, 0, self.bytes_max.max(kept), pinned)? {
            tracing::info!(%sha256, "image removed from the cache, which is over its limit");
            self.forget(&sha256)?;
        }
        Ok(())
    }

    fn used_mark(&self, sha256: &str) -> PathBuf {
        self.folder.join(format!("{sha256}.used"))
    }

    // On a file beside it: a new time on the image itself would look like a change to whoever holds it.
    fn mark_used(&self, sha256: &str) -> Result<(), Fault> {
        let path = self.used_mark(sha256);
        let mark = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let mark = mark.map_err(|error| fault(&path, "marking the image", &error))?;
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let used = Timestamps { last_access: now, last_modification: now };
        rustix::fs::futimens(&mark, &used).map_err(|error| fault(&path, "marking the image", &error.into()))
    }

    fn forget(&self, sha256: &str) -> Result<(), Fault> {
        self.doubt(sha256);
        remove(&self.folder.join(sha256))?;
        remove(&self.used_mark(sha256))
    }

    // One fetch at a time; the kernel lets go of the lock when its holder ends, however it ends.
    fn lock(&self) -> Result<File, Fault> {
        let path = self.folder.join("lock");
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(|error| fault(&path, "locking the cache", &error))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(lock),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(ImageRefusal::CacheBusy.into()),
            Err(error) => Err(fault(&path, "locking the cache", &error.into())),
        }
    }

    // What a fetch left that was killed.
    fn sweep(&self) -> Result<(), Fault> {
        self.parts()?.iter().try_for_each(|path| remove(path))
    }

    fn parts(&self) -> Result<Vec<PathBuf>, Fault> {
        let unreadable = |error: io::Error| fault(&self.folder, "listing the cache", &error);
        let mut parts = vec![];
        for found in fs::read_dir(&self.folder).map_err(unreadable)? {
            let path = found.map_err(unreadable)?.path();
            if path.extension().is_some_and(|ending| ending == "part") {
                parts.push(path);
            }
        }
        Ok(parts)
    }
}

// A file that goes away unless it was renamed.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn remove(path: &Path) -> Result<(), Fault> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault(path, "removing an image", &error)),
        _ => Ok(()),
    }
}

fn fault(path: &Path, what: &str, error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Fault::NoRoom { path: path.display().to_string() },
        _ => Fault::io(&format!("{what} at {}", path.display()), 0, error),
    }
}

// Blocks of zeros become holes, which a clone then need not read.
fn copy(spec: &ImageSpec, source: &mut dyn Read, file: &File, path: &Path) -> Result<(), Fault> {
    const BLOCK_BYTES: usize = 65536;
    let (mut digest, mut length) = (Sha256::new(), 0_u64);
    let mut buffer = vec![0; 16 * BLOCK_BYTES];
    let writing = |error: io::Error| fault(path, "writing the image", &error);
    loop {
        let count = fill(source, &mut buffer).map_err(|error| Fault::io("fetching the image", length, &error))?;
        // A source without an end must not fill the disk.
        if length + count as u64 > spec.size_bytes {
            return Err(ImageRefusal::Length { expected: spec.size_bytes, found: spec.size_bytes + 1 }.into());
        }
        digest.update(&buffer[..count]);
        for block in buffer[..count].chunks(BLOCK_BYTES) {
            if bulk::first_nonzero(block).is_some() {
                file.write_all_at(block, length).map_err(writing)?;
            }
            length += block.len() as u64;
        }
        if count < buffer.len() {
            break;
        }
    }
    file.set_len(length).map_err(writing)?;
    if length != spec.size_bytes {
        return Err(ImageRefusal::Length { expected: spec.size_bytes, found: length }.into());
    }
    let found = bulk::hex(&digest.finalize());
    if found == spec.sha256 {
        Ok(())
    } else {
        Err(ImageRefusal::Digest { expected: spec.sha256.clone(), found }.into())
    }
}

// As much as the buffer holds; less only at the end.
fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "cache_tests.rs"]
mod tests;
