//! An image of the catalogue: what it is, how long, with which digest, and who says so. Nothing of an image is used before
//! its entry was checked and its signature fits a trusted key; the type [`TrustedImage`] can be had in no other way.

use crate::{bulk, fault::ImageRefusal};
use ed25519_dalek::{Signature, VerifyingKey};
pub use model::image::{DISK_BYTES_MAX, IMAGE_BYTES_MAX, ImageFormat, ImageKind, ImageSpec};
use std::collections::BTreeMap;

/// The keys that may sign images: Ed25519, by their id, in lower-case hexadecimal.
pub type TrustedKeys = BTreeMap<String, String>;

/// An image whose entry is valid and signed with a trusted key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedImage(ImageSpec);

impl TrustedImage {
    /// Its entry.
    pub fn spec(&self) -> &ImageSpec {
        &self.0
    }
}

/// Checks an entry and its signature.
pub fn trust(spec: ImageSpec, keys: &TrustedKeys) -> Result<TrustedImage, ImageRefusal> {
    spec.validate().map_err(|bad| ImageRefusal::Field {
        field: bad.field.to_owned(),
        expected: bad.expected,
        found: bad.found,
    })?;
    let key_id = spec.signer_key_id.clone();
    let key = keys.get(&key_id).and_then(|key| <[u8; 32]>::try_from(bulk::unhex(key)?).ok());
    let key = key.and_then(|key| VerifyingKey::from_bytes(&key).ok());
    let key = key.ok_or_else(|| ImageRefusal::UnknownSigner { key_id: key_id.clone() })?;
    let signature = bulk::unhex(&spec.signature).and_then(|bytes| <[u8; 64]>::try_from(bytes).ok());
    let fits = signature.is_some_and(|signature| {
        key.verify_strict(spec.signed_text().as_bytes(), &Signature::from_bytes(&signature)).is_ok()
    });
    if fits { Ok(TrustedImage(spec)) } else { Err(ImageRefusal::BadSignature { key_id }) }
}
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};
    use proptest::prelude::*;

    fn key() -> SigningKey {
        SigningKey::from_bytes(&[7; 32])
    }

    fn keys() -> TrustedKeys {
        TrustedKeys::from([("release-1".to_owned(), bulk::hex(key().verifying_key().as_bytes()))])
    }

    fn signed(mut spec: ImageSpec) -> ImageSpec {
        spec.signature = bulk::hex(&key().sign(spec.signed_text().as_bytes()).to_bytes());
        spec
    }

    fn spec() -> ImageSpec {
        signed(ImageSpec {
            id: "debian-12".into(),
            sha256: "ab".repeat(32),
            size_bytes: 1000,
            format: ImageFormat::Qcow2,
            virtual_size_bytes: 1 << 20,
            minimum_disk_bytes: 1 << 21,
            kind: ImageKind::Base,
            signer_key_id: "release-1".into(),
            signature: String::new(),
        })
    }

    #[test]
    fn a_signed_entry_is_trusted() {
        assert_eq!(trust(spec(), &keys()).unwrap().spec().id, "debian-12");
    }

    #[test]
    fn every_field_is_under_the_signature() {
        let changes: [fn(&mut ImageSpec); 7] = [
            |s| s.id = "debian-13".into(),
            |s| s.sha256 = "ac".repeat(32),
            |s| s.size_bytes += 1,
            |s| s.virtual_size_bytes += 512,
            |s| s.minimum_disk_bytes += 1,
            |s| s.kind = ImageKind::Cuda,
            |s| (s.format, s.size_bytes) = (ImageFormat::Raw, s.virtual_size_bytes),
        ];
        for change in changes {
            let mut changed = spec();
            change(&mut changed);
            assert!(matches!(trust(changed, &keys()), Err(ImageRefusal::BadSignature { .. })));
        }
    }

    #[test]
    fn another_key_is_not_trusted() {
        let unknown = signed(ImageSpec { signer_key_id: "mallory".into(), ..spec() });
        assert_eq!(trust(unknown, &keys()), Err(ImageRefusal::UnknownSigner { key_id: "mallory".into() }));
        assert!(matches!(trust(spec(), &TrustedKeys::new()), Err(ImageRefusal::UnknownSigner { .. })));
    }

    #[test]
    fn what_makes_no_sense_is_refused_even_when_signed() {
        type Change = fn(&mut ImageSpec);
        let changes: [(&str, Change); 9] = [
            ("id", |s| s.id = "../../etc/passwd".into()),
            ("id", |s| s.id = "a\nsha256=b".into()),
            ("sha256", |s| s.sha256 = "AB".repeat(32)),
            ("sha256", |s| s.sha256 = "ab".into()),
            ("size_bytes", |s| s.size_bytes = 0),
            ("virtual_size_bytes", |s| s.virtual_size_bytes = 513),
            ("minimum_disk_bytes", |s| s.minimum_disk_bytes = 512),
            ("virtual_size_bytes", |s| s.format = ImageFormat::Raw),
            ("minimum_disk_bytes", |s| s.minimum_disk_bytes = u64::MAX),
        ];
        for (name, change) in changes {
            let mut changed = spec();
            change(&mut changed);
            let refused = trust(signed(changed), &keys());
            assert!(matches!(&refused, Err(ImageRefusal::Field { field, .. }) if field == name), "{name}: {refused:?}");
        }
    }

    proptest! {
        #[test]
        fn no_two_valid_entries_have_the_same_text(id in "[a-z0-9._-]{1,8}", other in "[a-z0-9._-]{1,8}", size in 1u64..5, bytes in 1u64..5) {
            let one = ImageSpec { id: id.clone(), size_bytes: size, ..spec() };
            let two = ImageSpec { id: other.clone(), size_bytes: bytes, ..spec() };
            prop_assert_eq!(one.signed_text() == two.signed_text(), (id, size) == (other, bytes));
        }
    }
}
