//! Entries of images, made where the image is: measured, hashed and signed without a server. The private key never leaves this
//! machine, and the file that holds it is for its owner only.

use ed25519_dalek::{Signer as _, SigningKey};
use model::{
    image::{ImageFormat, ImageKind, ImageSpec},
    text::ImageName,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    fs::File,
    io::{Read as _, Seek as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use crate::failure::Failure;

/// A private key as it stands in its file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    key_id: ImageName,
    /// The seed of the key, in hexadecimal.
    secret_key: String,
}

/// What an entry is made of.
#[derive(Debug)]
pub struct Signing<'a> {
    /// The image.
    pub file: &'a Path,
    /// Its name.
    pub id: ImageName,
    /// What is in it.
    pub kind: ImageKind,
    /// How it is to be read.
    pub format: ImageFormat,
    /// The smallest disk it works on.
    pub minimum_disk_bytes: Option<u64>,
    /// The file with the private key.
    pub key: &'a Path,
}

fn cannot(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("cannot use {}: {why}", path.display()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    let mut bytes = [0u8; 32];
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Makes a key, writes the private half into a new file, and answers the public half.
pub fn keygen(path: &Path, key_id: &ImageName) -> Result<String, Failure> {
    let mut seed = [0u8; 32];
    getrandom::fill(&mut seed)
        .map_err(|error| Failure::Local(format!("the operating system gives no random bytes: {error}")))?;
    let key = SigningKey::from_bytes(&seed);
    let held = KeyFile { key_id: key_id.clone(), secret_key: hex(&seed) };
    let text = serde_json::to_string(&held).map_err(|error| Failure::Local(error.to_string()))?;
    // Never over something that is there: it may be the only copy of a key.
    let created = File::options().write(true).create_new(true).mode(0o600).open(path);
    let mut file = created.map_err(|error| cannot(path, error))?;
    writeln!(file, "{text}").and_then(|()| file.sync_all()).map_err(|error| cannot(path, error))?;
    Ok(hex(key.verifying_key().as_bytes()))
}

/// A file with a key is one short line.
const SMALL_FILE_BYTES_MAX: u64 = 64 * 1024;

fn small_file(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| cannot(path, error))?;
    file.take(SMALL_FILE_BYTES_MAX).read_to_string(&mut text).map_err(|error| cannot(path, error))?;
    Ok(text)
}

fn read_key(path: &Path) -> Result<(ImageName, SigningKey), Failure> {
    let held: KeyFile = serde_json::from_str(&small_file(path)?)
        .map_err(|_| cannot(path, "it is no key that `gpuaas image keygen` wrote"))?;
    let seed = unhex(&held.secret_key).ok_or_else(|| cannot(path, "its key is not 64 hexadecimal digits"))?;
    Ok((held.key_id, SigningKey::from_bytes(&seed)))
}

/// An entry as it stands in a file.
pub fn read_entry(path: &Path) -> Result<ImageSpec, Failure> {
    let entry: ImageSpec = serde_json::from_str(&small_file(path)?).map_err(|error| cannot(path, error))?;
    entry.validate().map_err(|bad| cannot(path, bad))?;
    Ok(entry)
}

/// An entry as text.
pub fn text(entry: &ImageSpec) -> Result<String, Failure> {
    serde_json::to_string_pretty(entry).map_err(|error| Failure::Local(error.to_string()))
}

/// Measures, hashes and signs an image.
pub fn sign(signing: &Signing<'_>) -> Result<ImageSpec, Failure> {
    let (signer_key_id, key) = read_key(signing.key)?;
    let path = signing.file;
    let mut file = File::open(path).map_err(|error| cannot(path, error))?;
    let virtual_size_bytes = virtual_size(signing.format, &mut file).map_err(|why| cannot(path, why))?;
    let (sha256, size_bytes) = digest(&mut file).map_err(|error| cannot(path, error))?;
    let virtual_size_bytes = virtual_size_bytes.unwrap_or(size_bytes);
    let mut entry = ImageSpec {
        id: signing.id.to_string(),
        sha256,
        size_bytes,
        format: signing.format,
        virtual_size_bytes,
        minimum_disk_bytes: signing.minimum_disk_bytes.unwrap_or(virtual_size_bytes),
        kind: signing.kind,
        signer_key_id: signer_key_id.to_string(),
        signature: "0".repeat(128),
    };
    entry.signature = hex(&key.sign(entry.signed_text().as_bytes()).to_bytes());
    entry.validate().map_err(|bad| cannot(path, bad))?;
    Ok(entry)
}

fn digest(file: &mut File) -> std::io::Result<(String, u64)> {
    file.rewind()?;
    let (mut digest, mut length) = (Sha256::new(), 0u64);
    let mut room = vec![0u8; 1024 * 1024];
    loop {
        let count = file.read(&mut room)?;
        if count == 0 {
            return Ok((hex(&digest.finalize()), length));
        }
        digest.update(&room[..count]);
        length += count as u64;
    }
}

const QCOW2_HEADER_BYTES: usize = 32;

/// How many bytes an image fills on a disk; none where that is the length of its file.
fn virtual_size(format: ImageFormat, file: &mut File) -> Result<Option<u64>, String> {
    if format == ImageFormat::Raw {
        return Ok(None);
    }
    let mut header = [0u8; QCOW2_HEADER_BYTES];
    file.read_exact(&mut header).map_err(|_| "it is too short for a qcow2 image".to_owned())?;
    qcow2_virtual_size(&header).map(Some)
}

/// Reads the header: the magic, the version, no other file that it builds on, and the size of the disk.
fn qcow2_virtual_size(header: &[u8; QCOW2_HEADER_BYTES]) -> Result<u64, String> {
    let number = |at: usize| {
        let mut bytes = [0u8; 8];
        bytes.copy_from_slice(&header[at..at + 8]);
        u64::from_be_bytes(bytes)
    };
    if header[..4] != *b"QFI\xfb" {
        return Err("it is no qcow2 image; give --format raw if it is one of those".to_owned());
    }
    if number(8) != 0 {
        return Err("it builds on another file; an image must be whole in itself".to_owned());
    }
    Ok(number(24))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signature, VerifyingKey};

    fn header(magic: &[u8; 4], backing: u64, size: u64) -> [u8; 32] {
        let mut header = [0u8; 32];
        header[..4].copy_from_slice(magic);
        header[4..8].copy_from_slice(&3u32.to_be_bytes());
        header[8..16].copy_from_slice(&backing.to_be_bytes());
        header[24..32].copy_from_slice(&size.to_be_bytes());
        header
    }

    #[test]
    fn a_qcow2_image_says_how_much_it_fills() {
        assert_eq!(qcow2_virtual_size(&header(b"QFI\xfb", 0, 10 << 30)), Ok(10 << 30));
        assert!(qcow2_virtual_size(&header(b"QFI\xfa", 0, 1)).is_err());
        assert!(qcow2_virtual_size(&header(b"QFI\xfb", 104, 1)).is_err());
    }

    #[test]
    fn what_is_signed_can_be_checked_with_the_public_half() {
        let folder = tempfile::tempdir().unwrap();
        let (key, file) = (folder.path().join("images.key"), folder.path().join("disk.raw"));
        let public = keygen(&key, &"test".parse().unwrap()).unwrap();
        assert!(keygen(&key, &"test".parse().unwrap()).is_err(), "a key is never written over");
        std::fs::write(&file, vec![7u8; 4096]).unwrap();
        let signing = Signing {
            file: &file,
            id: "debian-12".parse().unwrap(),
            kind: ImageKind::Base,
            format: ImageFormat::Raw,
            minimum_disk_bytes: Some(8192),
            key: &key,
        };
        let entry = sign(&signing).unwrap();
        assert_eq!((entry.size_bytes, entry.virtual_size_bytes, entry.minimum_disk_bytes), (4096, 4096, 8192));
        let verifying = VerifyingKey::from_bytes(&unhex(&public).unwrap()).unwrap();
        let mut signature = [0u8; 64];
        signature[..32].copy_from_slice(&unhex(&entry.signature[..64]).unwrap());
        signature[32..].copy_from_slice(&unhex(&entry.signature[64..]).unwrap());
        verifying.verify_strict(entry.signed_text().as_bytes(), &Signature::from_bytes(&signature)).unwrap();
        let written = folder.path().join("entry.json");
        std::fs::write(&written, text(&entry).unwrap()).unwrap();
        assert_eq!(read_entry(&written).unwrap(), entry);
        // A file that is no whole number of sectors is no disk.
        std::fs::write(&file, [0u8; 100]).unwrap();
        assert!(sign(&signing).is_err());
    }
}
