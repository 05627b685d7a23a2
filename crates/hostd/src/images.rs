//! Images: an entry is trusted before anything is done with it, its bytes are taken only as long as they are what the entry
//! says, and the file is read again each time before it goes to a disk.

use crate::{failed::Failed, host::Hostd};
use disk::{CachedImage, TrustedImage};
use model::{image::ImageSpec, runtime::WorkStep, task::TaskFailure};
use std::{
    collections::BTreeSet,
    io::Read,
    sync::{MutexGuard, PoisonError},
};

impl Hostd {
    fn image_trusted(&self, image: &ImageSpec) -> Result<TrustedImage, Failed> {
        let trusted = disk::trust(image.clone(), &self.config.images.trusted_keys);
        trusted.map_err(|refusal| Failed::of(TaskFailure::ImageRefused, format!("image: {refusal}")))
    }

    /// The image from the cache, read and verified.
    pub(crate) fn image_cached(&self, image: &ImageSpec) -> Result<CachedImage, Failed> {
        let trusted = self.image_trusted(image)?;
        self.cache.verify_cached(&trusted).map_err(|fault| Failed::disk(WorkStep::Image, &fault))
    }

    /// Whether an image is in the cache with its right length.
    pub fn image_there(&self, image: &ImageSpec) -> Result<bool, Failed> {
        let trusted = self.image_trusted(image)?;
        let entries = self.cache.entries().map_err(|fault| Failed::disk(WorkStep::Image, &fault))?;
        let spec = trusted.spec();
        Ok(entries.iter().any(|entry| entry.sha256 == spec.sha256 && entry.bytes == spec.size_bytes))
    }

    /// Takes an image into the cache. `open` is asked for its bytes only when it is not there.
    pub fn image_admit<R: Read>(
        &self,
        image: &ImageSpec,
        open: impl FnOnce() -> Result<R, Failed>,
    ) -> Result<(), Failed> {
        let trusted = self.image_trusted(image)?;
        let _one = self.images();
        if self.image_there(image)? && self.cache.verify_cached(&trusted).is_ok() {
            return Ok(());
        }
        let pinned = self.images_pinned()?;
        // One byte more than the entry says is enough to know that it is too long.
        let mut source = open()?.take(image.size_bytes.saturating_add(1));
        let fetched = self.cache.fetch(&trusted, &mut source, &pinned);
        fetched.map(drop).map_err(|fault| Failed::disk(WorkStep::Image, &fault))
    }

    pub(crate) fn images(&self) -> MutexGuard<'_, ()> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Images that a guest on its way still needs.
    pub(crate) fn images_pinned(&self) -> Result<BTreeSet<String>, Failed> {
        let records = self.records.list().map_err(Failed::plain)?;
        Ok(records.into_iter().filter(|record| !record.ready).map(|record| record.spec.image.sha256).collect())
    }
}
