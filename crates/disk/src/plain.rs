//! Whether an image is plain: one file, whole, that points nowhere else. A qcow2 file can name a backing file or a data file
//! anywhere on the host, and whoever opens it reads those; so its header is read here first, and `qemu-img` looks second.

use crate::{
    fault::ImageRefusal,
    image::{ImageFormat, ImageSpec},
};
use serde_json::Value;

/// How much of the file the header check needs.
pub const HEADER_BYTES: usize = 104;

// The features that change nothing about where data is: another compression, and finer tables.
const FEATURES_KNOWN: u64 = 1 << 3 | 1 << 4;

/// Checks the first bytes of an image file.
pub fn check_header(header: &[u8], spec: &ImageSpec) -> Result<(), ImageRefusal> {
    if spec.format == ImageFormat::Raw {
        return Ok(());
    }
    let refused = |found: String| Err(ImageRefusal::NotPlain { format: spec.format.to_string(), found });
    let number = |at: usize, bytes: usize| {
        let field = header.get(at..at + bytes)?;
        Some(field.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte)))
    };
    let fields = || {
        let version = number(4, 4)?;
        // Version 2 ends before the features; it has none.
        let features = if version == 3 { number(72, 8)? } else { number(64, 8).map(|_| 0)? };
        Some([
            number(0, 4)?,
            version,
            number(8, 8)?,
            number(20, 4)?,
            number(24, 8)?,
            number(32, 4)?,
            number(60, 4)?,
            features,
        ])
    };
    let Some([magic, version, backing, cluster_bits, size, crypt, snapshots, features]) = fields() else {
        return refused("it ends within its header".to_owned());
    };
    if magic != 0x5146_49fb || !matches!(version, 2 | 3) {
        return refused("it does not begin like one".to_owned());
    }
    if backing != 0 {
        return refused("it has a backing file".to_owned());
    }
    if features & 1 << 2 != 0 {
        return refused("it keeps its data in another file".to_owned());
    }
    if features & !FEATURES_KNOWN != 0 {
        return refused(format!("it is damaged or was not closed, or has features that are not known ({features:#x})"));
    }
    if crypt != 0 {
        return refused("it is encrypted".to_owned());
    }
    if snapshots != 0 {
        return refused(format!("it holds {snapshots} snapshots"));
    }
    if !(9..=21).contains(&cluster_bits) {
        return refused(format!("its clusters are 2^{cluster_bits} bytes"));
    }
    if size != spec.virtual_size_bytes {
        return refused(format!("it is a disk of {size} bytes where its entry says {}", spec.virtual_size_bytes));
    }
    Ok(())
}

/// Checks what `qemu-img info --output=json` says.
pub fn check_info(said: &str, spec: &ImageSpec) -> Result<(), ImageRefusal> {
    let refused = |found: String| Err(ImageRefusal::NotPlain { format: spec.format.to_string(), found });
    let Ok(Value::Object(info)) = serde_json::from_str::<Value>(said) else {
        return refused("what qemu-img says about it was not understood".to_owned());
    };
    let format = info.get("format").and_then(Value::as_str).unwrap_or_default();
    if format != spec.format.to_string() {
        return refused(format!("qemu-img reads it as {format:?}"));
    }
    let size = info.get("virtual-size").and_then(Value::as_u64);
    if size != Some(spec.virtual_size_bytes) {
        return refused(format!("it is a disk of {size:?} bytes where its entry says {}", spec.virtual_size_bytes));
    }
    if let Some(name) = info.keys().find(|name| name.contains("backing")) {
        return refused(format!("it has a {name}"));
    }
    let specific = info.get("format-specific").and_then(|specific| specific.get("data"));
    if specific.is_some_and(|data| data.get("data-file").is_some() || data.get("encrypt").is_some()) {
        return refused("it keeps its data in another file, or encrypted".to_owned());
    }
    let is_true = |value: Option<&Value>| value.is_some_and(|value| value != &Value::Bool(false));
    if is_true(info.get("encrypted")) || is_true(specific.and_then(|data| data.get("corrupt"))) {
        return refused("it is encrypted or marked as damaged".to_owned());
    }
    if is_true(info.get("dirty-flag")) || info.contains_key("snapshots") {
        return refused("it was not closed, or holds snapshots".to_owned());
    }
    let children = info.get("children").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let names = children.iter().map(|child| child.get("name").and_then(Value::as_str).unwrap_or_default());
    match names.collect::<Vec<_>>().as_slice() {
        [] | ["file"] => Ok(()),
        names => refused(format!("it consists of {names:?}")),
    }
}

/// Checks what `qemu-img check --output=json` says of a qcow2 file: no damage, and nothing beyond the end of the file.
pub fn check_tables(said: &str, spec: &ImageSpec) -> Result<(), ImageRefusal> {
    let refused = |found: String| Err(ImageRefusal::NotPlain { format: spec.format.to_string(), found });
    let Ok(Value::Object(check)) = serde_json::from_str::<Value>(said) else {
        return refused("what qemu-img found in its tables was not understood".to_owned());
    };
    let count = |name: &str| check.get(name).map_or(Some(0), Value::as_u64);
    let (errors, damage) = (check.get("check-errors").and_then(Value::as_u64), count("corruptions"));
    if errors != Some(0) || damage != Some(0) {
        return refused(format!("its tables are damaged ({damage:?} places, {errors:?} errors)"));
    }
    // The last cluster need not be whole.
    const CLUSTER_BYTES_MAX: u64 = 1 << 21;
    match check.get("image-end-offset").and_then(Value::as_u64) {
        Some(end) if end <= spec.size_bytes.next_multiple_of(CLUSTER_BYTES_MAX) => Ok(()),
        end => refused(format!("its data ends at byte {end:?} where the file has {}", spec.size_bytes)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "plain_tests.rs"]
mod tests;
