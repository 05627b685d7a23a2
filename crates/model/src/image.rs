//! Images of the catalogue: what a disk image is, how long, with which digest, and who signed that. The entry is checked by
//! everybody who touches it, from the catalogue to the host that writes it to a disk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest image that is taken: 1 TiB.
pub const IMAGE_BYTES_MAX: u64 = 1 << 40;

/// The largest disk an image may ask for: 64 TiB.
pub const DISK_BYTES_MAX: u64 = 1 << 46;

text_enum! {
    /// How the file is to be read. Never guessed from the file: a guess is the writer's choice, not ours.
    ImageFormat {
        /// Byte for byte what the disk gets.
        Raw = "raw",
        /// QEMU's format.
        Qcow2 = "qcow2",
    }
}

text_enum! {
    /// What is in an image.
    ImageKind {
        /// An operating system.
        Base = "base",
        /// The same with the driver and CUDA.
        Cuda = "cuda",
    }
}

text_enum! {
    /// Where an image stands in the catalogue.
    ImageState {
        /// Its entry is known; its bytes are not there yet.
        Registered = "registered",
        /// It can be launched.
        Available = "available",
        /// It is not launched any more; what runs from it goes on.
        Retired = "retired",
    }
}

/// An entry of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageSpec {
    /// Its name in the catalogue: 1 to 64 of a-z, 0-9, '.', '_' and '-'.
    #[schemars(length(min = 1, max = 64), extend("pattern" = "^[a-z0-9._-]+$"))]
    pub id: String,
    /// The SHA-256 of the file, in lower-case hexadecimal.
    #[schemars(length(min = 64, max = 64), extend("pattern" = "^[0-9a-f]{64}$"))]
    pub sha256: String,
    /// How long the file is.
    #[schemars(range(min = 1, max = IMAGE_BYTES_MAX))]
    pub size_bytes: u64,
    /// How the file is to be read.
    pub format: ImageFormat,
    /// How many bytes it fills on a disk: a multiple of 512, and for a raw file its length.
    #[schemars(range(min = 512, max = DISK_BYTES_MAX), extend("multipleOf" = 512))]
    pub virtual_size_bytes: u64,
    /// The smallest disk it works on.
    #[schemars(range(min = 512, max = DISK_BYTES_MAX))]
    pub minimum_disk_bytes: u64,
    /// What is in it.
    pub kind: ImageKind,
    /// Which key signed the entry.
    #[schemars(length(min = 1, max = 64), extend("pattern" = "^[a-z0-9._-]+$"))]
    pub signer_key_id: String,
    /// Ed25519 over [`ImageSpec::signed_text`], in lower-case hexadecimal.
    #[schemars(length(min = 128, max = 128), extend("pattern" = "^[0-9a-f]{128}$"))]
    pub signature: String,
}

/// A field of an entry that makes no sense, by itself or beside the others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: expected {expected}, found {found}")]
pub struct BadImage {
    /// Which.
    pub field: &'static str,
    /// What would be accepted.
    pub expected: String,
    /// What was given, cut short.
    pub found: String,
}

impl ImageSpec {
    /// What the signature is over: every field but the signature on a line of its own, in this order. No field can hold the
    /// end of a line, so no two entries have the same text.
    pub fn signed_text(&self) -> String {
        format!(
            "gpuaas-image-v1\nid={}\nsha256={}\nsize_bytes={}\nformat={}\nvirtual_size_bytes={}\nminimum_disk_bytes={}\nkind={}\nsigner_key_id={}\n",
            self.id,
            self.sha256,
            self.size_bytes,
            self.format,
            self.virtual_size_bytes,
            self.minimum_disk_bytes,
            self.kind,
            self.signer_key_id
        )
    }

    /// Whether every field makes sense by itself and beside the others.
    pub fn validate(&self) -> Result<(), BadImage> {
        let field = |name: &'static str, holds: bool, expected: String, found: &dyn std::fmt::Debug| {
            let found = format!("{found:?}").chars().take(100).collect();
            if holds { Ok(()) } else { Err(BadImage { field: name, expected, found }) }
        };
        let name = "1 to 64 of a-z, 0-9, '.', '_' and '-'";
        field("id", is_name(&self.id), name.to_owned(), &self.id)?;
        field("signer_key_id", is_name(&self.signer_key_id), name.to_owned(), &self.signer_key_id)?;
        field("sha256", is_hex(&self.sha256, 32), "64 lower-case hexadecimal digits".to_owned(), &self.sha256)?;
        let signed = is_hex(&self.signature, 64);
        field("signature", signed, "128 lower-case hexadecimal digits".to_owned(), &self.signature)?;
        let (size, filled, disk) = (self.size_bytes, self.virtual_size_bytes, self.minimum_disk_bytes);
        field("size_bytes", (1..=IMAGE_BYTES_MAX).contains(&size), format!("1 to {IMAGE_BYTES_MAX}"), &size)?;
        let whole = filled > 0 && filled.is_multiple_of(512) && filled <= DISK_BYTES_MAX;
        field("virtual_size_bytes", whole, format!("a multiple of 512 up to {DISK_BYTES_MAX}"), &filled)?;
        let fits = (filled..=DISK_BYTES_MAX).contains(&disk);
        field("minimum_disk_bytes", fits, format!("{filled} to {DISK_BYTES_MAX}"), &disk)?;
        let same = self.format != ImageFormat::Raw || size == filled;
        field("virtual_size_bytes", same, format!("{size}, the length of the raw file,"), &filled)
    }
}

/// Whether a text can name an image, or a key that signs images.
pub(crate) fn is_name(text: &str) -> bool {
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    (1..=64).contains(&text.len()) && text.chars().all(known)
}

fn is_hex(text: &str, bytes: usize) -> bool {
    text.len() == 2 * bytes && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}
