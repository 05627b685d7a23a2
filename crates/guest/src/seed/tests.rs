//! Seeds: what they say, what they refuse, and that no text leaves its field.

use super::{documents::user_data, *};
use crate::identity::tests::guest;
use proptest::prelude::*;
use serde_json::Value;

pub(crate) const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ";
const PRIVATE: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE=\n-----END OPENSSH PRIVATE KEY-----\n";

fn spec() -> SeedSpec {
    SeedSpec {
        guest: guest(3),
        host_name: "trainer-1".into(),
        user_name: "ada".into(),
        ssh_keys: vec![format!("{KEY} ada@laptop").parse().unwrap()],
        network: SeedNetwork {
            mac: "02:00:00:00:2a:05".parse().unwrap(),
            ip: [10, 77, 0, 9].into(),
            prefix: 24,
            gateway: [10, 77, 0, 1].into(),
            dns: vec![[10, 77, 0, 1].into()],
            addressing: Addressing::Dhcp,
        },
        host_key: HostKey { private_openssh: PRIVATE.into(), public: KEY.parse().unwrap() },
        tenant_data: None,
    }
}

fn file(spec: &SeedSpec, name: &str) -> String {
    let files = documents(spec).unwrap();
    String::from_utf8(files.into_iter().find(|file| file.name == name).unwrap().bytes).unwrap()
}

fn read(text: &str) -> Value {
    let as_json: Value = serde_json::from_str(text.strip_prefix("#cloud-config\n").unwrap_or(text)).unwrap();
    let as_yaml: Value = serde_saphyr::from_str(text).unwrap();
    assert_eq!(as_json, as_yaml);
    as_json
}

#[test]
fn a_guest_is_told_who_it_is() {
    let user_data = read(&file(&spec(), "user-data"));
    assert!(file(&spec(), "user-data").starts_with("#cloud-config\n"));
    assert_eq!(user_data["users"][0]["ssh_authorized_keys"][0], format!("{KEY} ada@laptop"));
    assert_eq!(user_data["ssh_keys"]["ed25519_private"], PRIVATE);
    assert_eq!((&user_data["ssh_pwauth"], &user_data["disable_root"]), (&Value::Bool(false), &Value::Bool(true)));
    let meta_data = read(&file(&spec(), "meta-data"));
    assert_eq!(meta_data["instance-id"], guest(3).name());
    assert_eq!(meta_data["local-hostname"], "trainer-1");
    assert_eq!(read(&file(&spec(), "vendor-data")), serde_json::json!({}));
}

#[test]
fn the_network_is_asked_for_or_told() {
    let asked = read(&file(&spec(), "network-config"));
    let primary = &asked["ethernets"]["primary"];
    assert_eq!((&primary["match"]["macaddress"], &primary["dhcp4"]), (&"02:00:00:00:2a:05".into(), &true.into()));
    assert_eq!(primary.get("addresses"), None);
    let mut told = spec();
    told.network.addressing = Addressing::Static;
    let told = read(&file(&told, "network-config"));
    let primary = &told["ethernets"]["primary"];
    assert_eq!(primary["addresses"][0], "10.77.0.9/24");
    assert_eq!(primary["routes"][0], serde_json::json!({ "to": "0.0.0.0/0", "via": "10.77.0.1" }));
    assert_eq!(primary["dhcp4"], false);
}

#[test]
fn what_the_tenant_wrote_is_a_file_of_its_own() {
    let mut with = spec();
    with.tenant_data = Some("#!/bin/sh\n--BOUNDARY\n#cloud-config\nssh_keys: {}\n".into());
    assert_eq!(file(&with, "vendor-data"), with.tenant_data.clone().unwrap());
    for name in ["user-data", "meta-data", "network-config"] {
        assert_eq!(file(&with, name), file(&spec(), name), "{name}");
    }
}

#[test]
fn fields_that_break_their_rule_are_refused_by_name() {
    let refused = |change: &dyn Fn(&mut SeedSpec)| {
        let mut spec = spec();
        change(&mut spec);
        documents(&spec).unwrap_err().field
    };
    for bad in ["", "a\nb", "-a", "A", "a.b", "a\u{202e}", &"a".repeat(64)] {
        assert_eq!(refused(&|spec| spec.host_name = bad.into()), "host_name", "{bad}");
    }
    for bad in ["", "root", "a b", "ada:x", "ada\nroot", &"a".repeat(33)] {
        assert_eq!(refused(&|spec| spec.user_name = bad.into()), "user_name", "{bad}");
    }
    for bad in [
        format!("command=\"id\" {KEY}"),
        "ssh-ed25519 AAAA".into(),
        KEY.replace("ssh-ed25519", "ssh-rsa"),
        "x y".into(),
    ] {
        assert_eq!(refused(&|spec| spec.ssh_keys = vec![bad.parse().unwrap()]), "ssh_keys", "{bad}");
    }
    let many = |spec: &mut SeedSpec| spec.ssh_keys = vec![spec.ssh_keys[0].clone(); KEYS_MAX + 1];
    assert_eq!(refused(&many), "ssh_keys");
    assert_eq!(refused(&|spec| spec.host_key.private_openssh = "x".into()), "host_key.private_openssh");
    assert_eq!(refused(&|spec| spec.network.prefix = 31), "network.prefix");
    assert_eq!(refused(&|spec| spec.network.ip = [10, 77, 0, 255].into()), "network.ip");
    assert_eq!(refused(&|spec| spec.network.gateway = [10, 78, 0, 1].into()), "network.gateway");
    assert_eq!(refused(&|spec| spec.tenant_data = Some("x".repeat(TENANT_DATA_BYTES_MAX + 1))), "tenant_data");
}

#[test]
fn the_private_key_is_not_shown() {
    let shown = format!("{:?} {:?}", spec(), documents(&spec()).unwrap());
    assert!(!shown.contains("b3BlbnNzaC1rZXktdjE"), "{shown}");
}

fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        any::<String>(),
        Just("\n#cloud-config\nusers: []\n".to_owned()),
        Just("\"}, \"x\": {\"".to_owned()),
        Just("&a *a <<: *a !!python/object:x ---\n...\n".to_owned()),
        Just("--===============0123==\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n".to_owned()),
        Just("\0\u{7f}\u{85}\u{2028}\u{2029}\u{feff}\u{202e}\u{ffff}\u{1fffe}😀\t\r\n ".to_owned()),
        Just("# ' \" \\ \\u0000 ${x} {{ y }} %z".to_owned()),
        Just("x".repeat(64 * 1024)),
    ];
    proptest::collection::vec(pieces, 0..4).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_leaves_its_field(host in hostile(), user in hostile(), keys in proptest::collection::vec(hostile(), 0..3), private in hostile(), public in hostile()) {
        let text = user_data(&host, &user, &keys, &private, &public).unwrap();
        let said = read(&text);
        let expected = serde_json::json!({
            "hostname": host, "preserve_hostname": false, "ssh_pwauth": false, "disable_root": true, "ssh_deletekeys": true,
            "ssh_keys": { "ed25519_private": private, "ed25519_public": public },
            "users": [{ "name": user, "lock_passwd": true, "shell": "/bin/bash", "sudo": "ALL=(ALL) NOPASSWD:ALL", "ssh_authorized_keys": keys }],
            "vendor_data": { "enabled": true },
        });
        prop_assert_eq!(said, expected);
        let readable = |c: char| matches!(c, '\n' | ' '..='~' | '\u{10000}'..);
        prop_assert!(text.chars().all(readable), "a character that YAML may take otherwise");
    }
}
