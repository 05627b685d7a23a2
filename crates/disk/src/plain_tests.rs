//! Images that point elsewhere, or are damaged, or are something else.

use super::*;
use crate::image::ImageKind;
use proptest::prelude::*;
use serde_json::json;

fn spec(format: ImageFormat) -> ImageSpec {
    ImageSpec {
        id: "i".into(),
        sha256: String::new(),
        size_bytes: 1 << 20,
        format,
        virtual_size_bytes: 8 << 20,
        minimum_disk_bytes: 8 << 20,
        kind: ImageKind::Base,
        signer_key_id: String::new(),
        signature: String::new(),
    }
}

fn header(version: u32) -> Vec<u8> {
    let mut header = vec![0; HEADER_BYTES];
    header[..4].copy_from_slice(b"QFI\xfb");
    header[4..8].copy_from_slice(&version.to_be_bytes());
    header[20..24].copy_from_slice(&16_u32.to_be_bytes());
    header[24..32].copy_from_slice(&(8_u64 << 20).to_be_bytes());
    header
}

fn info() -> Value {
    json!({
        "children": [{"name": "file", "info": {"format": "file"}}],
        "virtual-size": 8 << 20,
        "format": "qcow2",
        "dirty-flag": false,
        "format-specific": {"type": "qcow2", "data": {"compat": "1.1", "corrupt": false}},
    })
}

#[test]
fn a_plain_image_passes() {
    check_header(&header(3), &spec(ImageFormat::Qcow2)).unwrap();
    check_header(&header(2)[..72], &spec(ImageFormat::Qcow2)).unwrap();
    check_header(b"anything", &spec(ImageFormat::Raw)).unwrap();
    check_info(&info().to_string(), &spec(ImageFormat::Qcow2)).unwrap();
    let tables = r#"{"image-end-offset": 1048576, "total-clusters": 16, "check-errors": 0}"#;
    check_tables(tables, &spec(ImageFormat::Qcow2)).unwrap();
}

#[test]
fn each_odd_header_is_named() {
    for (at, value, why) in [
        (0, 0, "begin"),
        (7, 4, "begin"),
        (15, 1, "backing file"),
        (23, 40, "clusters"),
        (31, 1, "disk of"),
        (35, 1, "encrypted"),
        (63, 2, "snapshots"),
        (79, 4, "another file"),
        (79, 1, "damaged"),
        (79, 2, "damaged"),
        (72, 128, "damaged"),
    ] {
        let mut odd = header(3);
        odd[at] = value;
        let refused = check_header(&odd, &spec(ImageFormat::Qcow2)).unwrap_err().to_string();
        assert!(refused.contains(why), "{at}: {refused}");
    }
    for length in 0..80 {
        assert!(check_header(&header(3)[..length], &spec(ImageFormat::Qcow2)).is_err(), "{length}");
    }
}

#[test]
fn each_odd_answer_of_qemu_img_is_refused() {
    let odd: [(&str, Value); 9] = [
        ("format", json!("raw")),
        ("virtual-size", json!(1)),
        ("virtual-size", json!("8388608")),
        ("backing-filename", json!("/etc/shadow")),
        ("full-backing-filename", json!("/etc/shadow")),
        ("encrypted", json!(true)),
        ("dirty-flag", json!(true)),
        ("children", json!([{"name": "file"}, {"name": "data-file"}])),
        ("format-specific", json!({"data": {"data-file": "/dev/sda"}})),
    ];
    for (name, value) in odd {
        let mut said = info();
        said[name] = value;
        assert!(check_info(&said.to_string(), &spec(ImageFormat::Qcow2)).is_err(), "{name}");
    }
    let mut said = info();
    said["format-specific"]["data"]["corrupt"] = json!(true);
    assert!(check_info(&said.to_string(), &spec(ImageFormat::Qcow2)).is_err());
    for said in ["", "[]", "{}", r#"{"check-errors": 1}"#, r#"{"check-errors": 0}"#] {
        assert!(check_info(said, &spec(ImageFormat::Qcow2)).is_err());
        assert!(check_tables(said, &spec(ImageFormat::Qcow2)).is_err());
    }
    for said in [
        r#"{"check-errors": 0, "corruptions": 1, "image-end-offset": 1}"#,
        r#"{"check-errors": 0, "image-end-offset": 99999999}"#,
    ] {
        assert!(check_tables(said, &spec(ImageFormat::Qcow2)).is_err());
    }
}

proptest! {
    #[test]
    fn no_file_breaks_the_check(bytes in proptest::collection::vec(any::<u8>(), 0..120), text in ".{0,60}") {
        let spec = spec(ImageFormat::Qcow2);
        let _ = (check_header(&bytes, &spec), check_info(&text, &spec), check_tables(&text, &spec));
    }

    #[test]
    fn a_header_with_a_backing_file_never_passes(offset in 1u64.., noise in proptest::collection::vec(any::<u8>(), HEADER_BYTES - 32)) {
        let mut odd = header(3);
        odd[32..].copy_from_slice(&noise);
        odd[8..16].copy_from_slice(&offset.to_be_bytes());
        prop_assert!(check_header(&odd, &spec(ImageFormat::Qcow2)).is_err());
    }
}
