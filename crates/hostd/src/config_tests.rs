//! Settings: what is left out has its usual value, what decides is never guessed, and a bad field is named.

use super::*;

pub(crate) const GOOD: &str = r#"
agent_user = "root"
accelerator = "tcg"
cpu_model = "qemu64"
lab = true
firmware = { kind = "bios" }

[network]
bridge = "br-gpu"
datapath = "netdev"
subnet = "10.77.0.0/24"
gateway_ip = "10.77.0.1"
gateway_mac = "02:00:00:00:00:01"
uplink = "up0"

[images]
bytes_max = 1000000000
trusted_keys = { main = "0101010101010101010101010101010101010101010101010101010101010101" }
"#;

fn without(field: &str) -> String {
    GOOD.lines().filter(|line| !line.starts_with(field)).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_left_out_has_its_usual_value() {
    let config = Config::parse(GOOD).unwrap();
    assert_eq!(config.socket, Path::new(SOCKET));
    assert_eq!(config.network.dhcp_dir, Path::new("/var/lib/gpuaas-hostd/dhcp"));
    assert_eq!(config.wipe, WipePolicy::default());
    assert!(config.lab && config.host_cpus.is_empty() && config.disks.is_none());
    let named = Config::parse(&GOOD.replace("lab = true", "lab = true\ndisks = [\"eui.1\"]")).unwrap();
    assert_eq!(named.disks.as_deref(), Some(&["eui.1".to_owned()][..]));
    assert!(config.network.policy.denied.len() > 5);
}

#[test]
fn what_decides_about_guests_is_never_guessed() {
    for field in ["accelerator", "cpu_model", "firmware", "agent_user", "bytes_max", "trusted_keys", "bridge"] {
        let fault = Config::parse(&without(field)).unwrap_err();
        assert!(matches!(&fault, ConfigFault::Shape(why) if why.contains(field)), "{field}: {fault}");
    }
    let fault = Config::parse(&without("lab")).map(|config| config.lab);
    assert_eq!(fault, Ok(false), "a laboratory only where that is said");
}

#[test]
fn every_bad_field_is_named() {
    for (from, to, field) in [
        ("\"tcg\"", "\"auto\"", "accelerator"),
        ("\"qemu64\"", "\"host-passthrough\"", "cpu_model must be"),
        ("\"qemu64\"", "\"a b\"", "cpu_model must be"),
        ("\"root\"", "\"\"", "agent_user must be"),
        ("\"root\"", "\"-x y\"", "agent_user must be"),
        ("lab = true", "lab = true\nsocket = \"run/x\"", "socket must be an absolute path"),
        ("lab = true", "lab = true\nstate_dir = \"/a b\"", "state_dir must be"),
        ("lab = true", "lab = true\nemulator = \"/a/../b\"", "emulator must be"),
        ("lab = true", "lab = true\ndisks = [\"eui.1\", \"\"]", "disks must be the identities of disks"),
        ("lab = true", "lab = true\nshell = \"/bin/sh\"", "shell"),
        ("lab = true", "lab = true\nlibvirt_uri = \"xen:///\"", "libvirt_uri must be"),
        ("lab = true", "lab = true\nready = { lease_s = 0 }", "ready.lease_s must be 1 to 86400"),
        ("1000000000", "0", "images.bytes_max must be"),
        ("\"0101", "\"01", "images.trusted_keys.main must be"),
        ("10.77.0.1", "10.78.0.1", "gateway_ip must be"),
        ("br-gpu", "br gpu", "bridge must be"),
        ("netdev", "magic", "datapath"),
        ("[images]", "[devices]\nfmpm = \"none\"\n[images]", "gpus"),
        (
            "[images]",
            "[devices]\nfmpm = \"fmpm\"\ngpus = { h200-sxm = [\"10de:2335\"] }\nfabric_functions = []\n[images]",
            "devices.fmpm must be the path of fmpm, or none, found \"fmpm\"",
        ),
    ] {
        let fault = Config::parse(&GOOD.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(fault.contains(field), "{to}: {fault}");
    }
}

#[test]
fn the_command_line_and_the_file_must_agree_about_a_laboratory() {
    let config = Config::parse(GOOD).unwrap();
    assert_eq!(config.lab_check(true), Ok(()));
    assert_eq!(
        config.lab_check(false).unwrap_err().to_string(),
        "lab must be false, as on the command line, found true"
    );
}

#[test]
fn users_are_found_by_name_and_by_number() {
    let passwd = "root:x:0:0:root:/root:/bin/sh\nagent:x:997:996::/:/x\nbroken\nworse:x:y:1\n";
    assert_eq!(users(passwd).get("agent"), Some(&(997, 996)));
    assert_eq!(users(passwd).len(), 2);
    let mut config = Config::parse(GOOD).unwrap();
    assert_eq!(config.agent_uid(), Ok(0));
    config.agent_user = "1234".into();
    assert_eq!(config.agent_uid(), Ok(1234));
    config.agent_user = "nobody-of-that-name".into();
    assert!(config.agent_uid().unwrap_err().to_string().starts_with("agent_user must be a user of this host"));
}

#[test]
fn settings_that_others_can_write_are_not_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hostd.toml");
    fs::write(&path, GOOD).unwrap();
    for (mode, good) in [(0o600, true), (0o644, true), (0o664, false), (0o646, false)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        match Config::read(&path) {
            Ok(_) => assert!(good, "{mode:o}"),
            Err(fault) => assert!(!good && fault.to_string().contains("only root may write it"), "{mode:o}: {fault}"),
        }
    }
}
