//! The NVMe methods, with a loop device that a captured sysfs calls an NVMe disk and a program that answers as `nvme` does.
//! What is real: the exclusive open, the descriptor that the program is given, the reading back.
#![allow(clippy::unwrap_used)]

mod support;

use disk::{
    DeviceNumber, DiskIdentity, ExclusiveDisk, Fault, HostView, Tools, WipeEvidence, WipeMethod, WipePolicy, identity,
    nvme::{SanitizeAction, SanitizeLimits},
    wipe::{self, SecureErase},
};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};
use support::{LoopDisk, MIB, NONCE, can_run, clock};

const FORMAT: WipeMethod = WipeMethod::NvmeFormat { erase: SecureErase::UserData };
const SANITIZE: WipeMethod = WipeMethod::NvmeSanitize { action: SanitizeAction::Block };
const ID_CTRL: &str =
    r#"id-ctrl) echo '{"mn":"QEMU NVMe Ctrl","sn":"lab-1","oacs":10,"fna":0,"sanicap":2,"nn":256}' ;;"#;
const LIST_NS: &str = r#"list-ns) echo '{"nsid_list":[{"nsid":1}]}' ;;"#;
const ERASE: &str = "dd if=/dev/zero of=$2 bs=1M oflag=direct conv=notrunc count=80 status=none";

struct Lab {
    folder: tempfile::TempDir,
    disk: LoopDisk,
    host: HostView,
    identity: DiskIdentity,
    tools: Tools,
}

fn page(progress: u32, status: &str) -> String {
    format!(r#"{{"nvme0":{{"sprog":{progress},"sstat":{{"status":"{status}"}},"cdw10_info":2}}}}"#)
}

impl Lab {
    // `script` holds the branches of a `case` over the verb.
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = LoopDisk::new(folder.path(), 80 * MIB);
        disk.plant();
        let sys = folder.path().join("sys");
        let device = sys.join("devices/nvme0n1");
        let sectors = (80 * MIB / 512).to_string();
        for (file, text) in [
            ("size", sectors.as_str()),
            ("ro", "0"),
            ("nsid", "1"),
            ("wwid", "nvme.1b36-6c61622d31"),
            ("device/model", "QEMU NVMe Ctrl"),
            ("device/serial", "lab-1"),
            ("queue/logical_block_size", "512"),
            ("queue/discard_max_bytes", "1048576"),
            ("queue/write_zeroes_max_bytes", "1048576"),
        ] {
            fs::create_dir_all(device.join(file).parent().unwrap()).unwrap();
            fs::write(device.join(file), text).unwrap();
        }
        fs::create_dir_all(device.join("holders")).unwrap();
        fs::create_dir_all(sys.join("dev/block")).unwrap();
        fs::create_dir_all(sys.join("block")).unwrap();
        let number = DeviceNumber::from_raw(fs::metadata(&disk.path).unwrap().rdev());
        symlink(&device, sys.join("dev/block").join(number.to_string())).unwrap();
        let host = HostView { sys, ..HostView::default() };
        let identity = identity::read(&host, number).unwrap();
        let program = folder.path().join("nvme");
        let log = folder.path().join("log");
        let text = format!("#!/bin/sh\necho \"$@\" >> {}\ncase $1 in\n{script}\n*) exit 9 ;;\nesac\n", log.display());
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        Self { folder, disk, host, identity, tools: Tools { nvme: program, ..Tools::default() } }
    }

    fn wipe(&self, methods: &[WipeMethod]) -> Result<WipeEvidence, Fault> {
        let held = ExclusiveDisk::open(&self.host, &self.disk.path, &self.identity)?;
        let sanitize = SanitizeLimits { look_every_ms: 100, still_s_max: 2, ..SanitizeLimits::default() };
        let policy = WipePolicy { methods: methods.to_vec(), sanitize, ..WipePolicy::default() };
        wipe::wipe(&held, &policy, NONCE, &self.tools, &clock(), &mut |_, _| ())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

#[test]
fn a_format_goes_to_the_disk_that_is_held() {
    if !can_run("a_format_goes_to_the_disk_that_is_held", &["losetup", "dd"]) {
        return;
    }
    let lab = Lab::new(&format!("{ID_CTRL}\n{LIST_NS}\nformat) {ERASE} ;;"));
    let evidence = lab.wipe(&[FORMAT]).unwrap();
    assert_eq!((evidence.erased.choice.method, &evidence.identity_after), (FORMAT, &lab.identity));
    assert!(lab.disk.is_zero() && !lab.disk.holds_secret());
    let format = lab.log().lines().last().unwrap().to_owned();
    assert!(format.starts_with(&format!("format /proc/{}/fd/", std::process::id())), "{format}");
    assert!(format.ends_with("--namespace-id=1 --ses=1 --timeout=1800000 --force"), "{format}");
}

#[test]
fn a_disk_that_only_says_it_formatted_is_found_out() {
    if !can_run("a_disk_that_only_says_it_formatted_is_found_out", &["losetup"]) {
        return;
    }
    let lab = Lab::new(&format!("{ID_CTRL}\n{LIST_NS}\nformat) echo Success ;;"));
    assert!(matches!(lab.wipe(&[FORMAT]), Err(Fault::NotClean { .. })));
}

#[test]
fn a_method_that_fails_is_not_replaced_by_a_weaker_one() {
    if !can_run("a_method_that_fails_is_not_replaced_by_a_weaker_one", &["losetup"]) {
        return;
    }
    let refuses = "format|sanitize) echo 'NVMe status: INVALID_OPCODE' >&2; exit 1 ;;";
    for method in [FORMAT, SANITIZE] {
        let lab = Lab::new(&format!("{ID_CTRL}\n{LIST_NS}\n{refuses}"));
        let ended = lab.wipe(&[method, WipeMethod::Discard, WipeMethod::Overwrite]);
        let Err(Fault::MethodFailed { method: named, why }) = ended else { panic!("{ended:?}") };
        assert!(named == method.to_string() && why.contains("INVALID_OPCODE"), "{named}: {why}");
        assert!(lab.disk.holds_secret());
    }
}

#[test]
fn a_sanitize_is_watched_to_its_end() {
    if !can_run("a_sanitize_is_watched_to_its_end", &["losetup", "dd"]) {
        return;
    }
    let (running, done) = (page(30000, "(2) Sanitize in Progress."), page(65535, "(1) Completed."));
    let again = "$(dirname $0)/again";
    let watched =
        format!("sanitize-log) if [ -e {again} ]; then echo '{done}'; else touch {again}; echo '{running}'; fi ;;");
    let lab = Lab::new(&format!("{ID_CTRL}\n{LIST_NS}\nsanitize) {ERASE} ;;\n{watched}"));
    assert_eq!(lab.wipe(&[SANITIZE]).unwrap().erased.choice.method, SANITIZE);
    assert_eq!(lab.log().matches("sanitize-log").count(), 2);
    for (log, why) in [
        (page(65535, "(3) Most Recent Sanitize Command Failed."), "the disk says it failed"),
        (page(5, "(2) Sanitize in Progress."), "stood still"),
        ("no page".to_owned(), "not understood"),
    ] {
        let lab = Lab::new(&format!("{ID_CTRL}\n{LIST_NS}\nsanitize) ;;\nsanitize-log) echo '{log}' ;;"));
        let ended = lab.wipe(&[SANITIZE]);
        assert!(matches!(&ended, Err(Fault::MethodFailed { why: said, .. }) if said.contains(why)), "{ended:?}");
    }
}

#[test]
fn a_disk_with_more_namespaces_or_another_serial_is_not_touched() {
    if !can_run("a_disk_with_more_namespaces_or_another_serial_is_not_touched", &["losetup"]) {
        return;
    }
    let more = r#"list-ns) echo '{"nsid_list":[{"nsid":1},{"nsid":2}]}' ;;"#;
    let lab = Lab::new(&format!("{ID_CTRL}\n{more}"));
    assert!(matches!(lab.wipe(&[SANITIZE]), Err(Fault::Refused { .. })));
    assert!(lab.log().contains("list-ns") && lab.log().contains("--all"), "{}", lab.log());
    let lab = Lab::new(&format!("{}\n{LIST_NS}", ID_CTRL.replace("lab-1", "lab-2")));
    assert!(matches!(lab.wipe(&[FORMAT]), Err(Fault::DiskGone { .. })));
    // Another serial number appears in sysfs while the disk is held.
    let serial = "$(dirname $0)/sys/devices/nvme0n1/device/serial";
    let lab = Lab::new(&format!("{ID_CTRL}\n{LIST_NS}\nformat) echo other > {serial} ;;"));
    let ended = lab.wipe(&[FORMAT]);
    assert!(matches!(ended, Err(Fault::DiskChanged { .. })), "{ended:?}");
}
