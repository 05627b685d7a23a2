//! The guest images that the scripts make, as a catalogue would name them: with digest, sizes and a signature. The key is for
//! tests alone, the same every time; whoever trusts it is in a box.

use ed25519_dalek::{Signer, SigningKey};
use model::image::{ImageFormat, ImageKind, ImageSpec};
use sha2::{Digest as _, Sha256};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// The name under which a host trusts [`key`].
pub const KEY_ID: &str = "tests";

/// Where the images are: the folder that `GPUAAS_REAL_IMAGES` names, and the workspace's own without it.
pub fn folder() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/real");
    std::env::var_os("GPUAAS_REAL_IMAGES").map_or(own, PathBuf::from)
}

/// The small guest, which boots in seconds.
pub fn tiny_image() -> PathBuf {
    folder().join("tiny.raw")
}

/// A full Debian with cloud-init.
pub fn debian_image() -> PathBuf {
    folder().join("debian.qcow2")
}

/// The key that signs.
pub fn key() -> SigningKey {
    SigningKey::from_bytes(&[9; 32])
}

/// What a host must trust, in the spelling of its settings.
pub fn key_hex() -> String {
    hex(key().verifying_key().as_bytes())
}

/// The signed entry of the small guest.
pub fn image() -> ImageSpec {
    image_of(&tiny_image())
}

/// The signed entry of a raw image.
pub fn image_of(file: &Path) -> ImageSpec {
    let bytes = file.metadata().unwrap().len();
    image_with("tiny", file, ImageFormat::Raw, bytes)
}

/// The signed entry of an image that becomes this large on a disk.
pub fn image_with(id: &str, file: &Path, format: ImageFormat, virtual_size_bytes: u64) -> ImageSpec {
    let (sha256, size_bytes) = digest(file);
    let mut spec = ImageSpec {
        id: id.into(),
        sha256,
        size_bytes,
        format,
        virtual_size_bytes,
        minimum_disk_bytes: virtual_size_bytes,
        kind: ImageKind::Base,
        signer_key_id: KEY_ID.into(),
        signature: String::new(),
    };
    spec.signature = hex(&key().sign(spec.signed_text().as_bytes()).to_bytes());
    spec
}

fn digest(file: &Path) -> (String, u64) {
    let (mut file, mut hash, mut piece, mut total) = (File::open(file).unwrap(), Sha256::new(), vec![0; 1 << 20], 0);
    loop {
        let count = file.read(&mut piece).unwrap();
        if count == 0 {
            return (hex(&hash.finalize()), total);
        }
        hash.update(&piece[..count]);
        total += u64::try_from(count).unwrap();
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::Verifier;

    #[test]
    fn an_entry_is_signed_and_says_what_the_file_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("image");
        std::fs::write(&file, "abc").unwrap();
        let spec = image_of(&file);
        assert_eq!((spec.size_bytes, spec.virtual_size_bytes), (3, 3));
        assert_eq!(spec.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let digits: Vec<u8> =
            (0..64).map(|at| u8::from_str_radix(&spec.signature[2 * at..2 * at + 2], 16).unwrap()).collect();
        let signature = ed25519_dalek::Signature::from_slice(&digits).unwrap();
        key().verifying_key().verify(spec.signed_text().as_bytes(), &signature).unwrap();
    }
}
