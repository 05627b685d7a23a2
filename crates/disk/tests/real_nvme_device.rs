//! The NVMe methods on the kernel's NVMe driver with disks that QEMU makes up, in a guest that is thrown away:
//! `scripts/real/run-in-node-guest` runs this. Anywhere else there is no disk called `throwaway-…`, and nothing is touched.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod support;

use disk::{
    DiskIdentity, ExclusiveDisk, Fault, HostView, NvmeIdentity, Refusal, Tools, WipeEvidence, WipeMethod, WipePolicy,
    nvme::SanitizeAction,
    wipe::{self, SecureErase},
};
use std::{
    fs::{self, File, OpenOptions},
    io::Read,
    os::unix::fs::{FileExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use support::{MIB, NONCE, SECRET, Undo, clock, identity_of, run};

const FORMAT: WipeMethod = WipeMethod::NvmeFormat { erase: SecureErase::UserData };
const SANITIZE: WipeMethod = WipeMethod::NvmeSanitize { action: SanitizeAction::Block };
const SIZE: u64 = 32 * MIB;

// Two disks are all there are, so one test at a time has them.
static DISKS: Mutex<()> = Mutex::new(());

struct NvmeDisk {
    path: PathBuf,
    serial: String,
    identity: DiskIdentity,
}

fn says(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_default().trim().to_owned()
}

// The device of the disk with this serial number, if there is one. A disk that could be reached in several ways is one device,
// and each way another without a node.
fn find(serial: &str) -> Option<PathBuf> {
    let all = fs::read_dir("/sys/block").ok()?.flatten();
    let mut own =
        all.filter(|entry| says(&entry.path(), "device/serial") == serial && entry.path().join("nsid").exists());
    own.find_map(|entry| Some(Path::new("/dev").join(entry.file_name())).filter(|node| node.exists()))
}

fn disks(test: &str) -> Option<(MutexGuard<'static, ()>, [NvmeDisk; 2])> {
    let turn = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    let found = ["throwaway-1", "throwaway-2"].map(|serial| find(serial).map(|path| (path, serial.to_owned())));
    if let [Some(first), Some(second)] = found {
        let disks =
            [first, second].map(|(path, serial)| NvmeDisk { identity: identity_of(&path), path: path.clone(), serial });
        return Some((turn, disks));
    }
    let reason = "there are no NVMe disks called throwaway-1 and throwaway-2";
    assert!(std::env::var("GPUAAS_REAL").as_deref() != Ok("require"), "{test} cannot run: {reason}");
    println!("SKIPPED {test}: {reason}");
    None
}

impl NvmeDisk {
    fn plant(&self) {
        let device = OpenOptions::new().write(true).open(&self.path).unwrap();
        let piece: Vec<u8> = (0..MIB).map(|at| u8::try_from(at % 251).unwrap()).collect();
        for at in (0..SIZE).step_by(1 << 20) {
            device.write_all_at(&piece, at).unwrap();
        }
        for at in [0, 4096, SIZE / 2 + 17, SIZE - SECRET.len() as u64] {
            device.write_all_at(SECRET, at).unwrap();
        }
        device.sync_all().unwrap();
    }

    // All that is on it, read by other means than the crate's and not from memory.
    fn bytes(&self) -> Vec<u8> {
        run("blockdev", &["--flushbufs", self.path.to_str().unwrap()]);
        let mut bytes = vec![];
        File::open(&self.path).unwrap().read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, SIZE);
        bytes
    }

    fn holds_secret(&self) -> bool {
        self.bytes().windows(SECRET.len()).any(|window| window == SECRET)
    }

    fn open(&self) -> Result<ExclusiveDisk, Refusal> {
        ExclusiveDisk::open(&HostView::default(), &self.path, &self.identity)
    }

    fn wipe(&self, policy: &WipePolicy, tools: &Tools) -> Result<WipeEvidence, Fault> {
        wipe::wipe(&self.open()?, policy, NONCE, tools, &clock(), &mut |_, _| ())
    }
}

fn by(methods: &[WipeMethod]) -> WipePolicy {
    WipePolicy { methods: methods.to_vec(), ..WipePolicy::default() }
}

#[test]
fn a_disk_is_known_by_what_it_says_and_not_by_its_path() {
    let Some((_turn, [first, second])) = disks("a_disk_is_known_by_what_it_says_and_not_by_its_path") else { return };
    let DiskIdentity::Nvme(NvmeIdentity { model, serial, wwid, namespace, size_bytes, .. }) = &first.identity else {
        panic!("{:?}", first.identity)
    };
    assert_eq!((model.as_str(), serial), ("QEMU NVMe Ctrl", &first.serial));
    assert_eq!((*namespace, *size_bytes), (1, SIZE));
    assert!(wwid.starts_with("nvme.1b36-"), "{wwid}");

    let swapped = ExclusiveDisk::open(&HostView::default(), &first.path, &second.identity);
    let Err(Refusal::WrongDisk { differences }) = swapped else { panic!("{swapped:?}") };
    let serial = differences.iter().find(|difference| difference.field == "serial").unwrap();
    assert_eq!((&serial.approved, &serial.seen), (&second.serial, &first.serial));

    let held = first.open().unwrap();
    let again = first.open();
    assert!(matches!(again, Err(Refusal::Busy { .. } | Refusal::OpenElsewhere { .. })), "{again:?}");
    assert_eq!(held.recheck().unwrap(), first.identity);
    second.open().unwrap();
}

#[test]
fn a_mounted_disk_is_refused() {
    let Some((_turn, [first, _])) = disks("a_mounted_disk_is_refused") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (path, place) = (first.path.to_str().unwrap(), folder.path().to_str().unwrap());
    run("mkfs.ext4", &["-q", "-F", path]);
    let mut undo = Undo::default();
    run("mount", &["-t", "ext4", path, place]);
    undo.later(&["umount", place]);
    let refused = first.wipe(&WipePolicy::default(), &Tools::default());
    assert!(matches!(refused, Err(Fault::Refused { .. })), "{refused:?}");
    fs::write(folder.path().join("alive"), SECRET).unwrap();
    drop(undo);
    first.wipe(&WipePolicy::default(), &Tools::default()).unwrap();
}

#[test]
fn a_format_with_erase_leaves_nothing() {
    let Some((_turn, [first, second])) = disks("a_format_with_erase_leaves_nothing") else { return };
    first.plant();
    second.plant();
    assert!(first.holds_secret() && second.holds_secret());
    let evidence = first.wipe(&WipePolicy::default(), &Tools::default()).unwrap();
    assert_eq!((evidence.erased.choice.method, evidence.erased.bytes), (FORMAT, SIZE));
    assert_eq!(evidence.erased.choice.passed_over, [""; 0]);
    assert_eq!((&evidence.erased.before, &evidence.identity_after), (&first.identity, &first.identity));
    assert!(first.bytes().iter().all(|byte| *byte == 0));
    assert!(second.holds_secret(), "the other disk was reached");
}

#[test]
fn a_discard_leaves_nothing() {
    let Some((_turn, [_, second])) = disks("a_discard_leaves_nothing") else { return };
    second.plant();
    let evidence = second.wipe(&by(&[WipeMethod::Discard]), &Tools::default()).unwrap();
    assert_eq!(evidence.erased.choice.method, WipeMethod::Discard);
    assert!(second.bytes().iter().all(|byte| *byte == 0));
}

#[test]
fn a_disk_without_sanitize_is_not_wiped_when_only_that_will_do() {
    let Some((_turn, [first, _])) = disks("a_disk_without_sanitize_is_not_wiped_when_only_that_will_do") else {
        return;
    };
    first.plant();
    let ended = first.wipe(&by(&[SANITIZE]), &Tools::default());
    assert!(matches!(ended, Err(Fault::Refused { .. })), "{ended:?}");
    assert!(ended.unwrap_err().to_string().contains("the disk has no such sanitize"));
    assert!(first.holds_secret());
    // Where the policy has more, what was passed over is told.
    let evidence = first.wipe(&by(&[SANITIZE, FORMAT]), &Tools::default()).unwrap();
    assert_eq!(evidence.erased.choice.passed_over, ["nvme_sanitize(2): the disk has no such sanitize"]);
}

#[test]
fn a_sanitize_that_the_disk_refuses_is_a_fault_and_nothing_weaker_follows() {
    let Some((_turn, [first, _])) = disks("a_sanitize_that_the_disk_refuses_is_a_fault_and_nothing_weaker_follows")
    else {
        return;
    };
    first.plant();
    // The disk says truly that it has no sanitize. This says that it has, so that the command is sent and the disk refuses it.
    let folder = tempfile::tempdir().unwrap();
    let promises = folder.path().join("nvme");
    let real = Tools::default().nvme;
    let log = folder.path().join("log");
    let text = format!(
        "#!/bin/sh\necho \"$1\" >>{}\nif [ \"$1\" = id-ctrl ]; then {real} \"$@\" | sed 's/\"sanicap\" *: *0/\"sanicap\":2/'\nelse exec {real} \"$@\"; fi\n",
        log.display(),
        real = real.display()
    );
    fs::write(&promises, text).unwrap();
    fs::set_permissions(&promises, fs::Permissions::from_mode(0o700)).unwrap();
    let tools = Tools { nvme: promises, ..Tools::default() };
    let ended = first.wipe(&by(&[SANITIZE, FORMAT, WipeMethod::Discard, WipeMethod::Overwrite]), &tools);
    let Err(Fault::MethodFailed { method, why }) = &ended else { panic!("{ended:?}") };
    assert_eq!(*method, SANITIZE.to_string());
    assert!(why.to_lowercase().contains("invalid") && why.to_lowercase().contains("opcode"), "{why}");
    let asked = fs::read_to_string(log).unwrap();
    assert_eq!(asked.lines().last(), Some("sanitize"), "{asked}");
    assert!(first.holds_secret());
}

#[test]
fn a_disk_that_goes_while_it_is_held_is_gone() {
    let Some((_turn, [first, _])) = disks("a_disk_that_goes_while_it_is_held_is_gone") else { return };
    let all = fs::read_dir("/sys/class/nvme").unwrap().flatten();
    let controller = all.map(|entry| entry.path()).find(|path| says(path, "serial") == first.serial).unwrap();
    let address = says(&controller, "address");
    let held = first.open().unwrap();
    fs::write("/sys/bus/pci/drivers/nvme/unbind", &address).unwrap();
    let gone = held.recheck();
    let ended = wipe::wipe(&held, &WipePolicy::default(), NONCE, &Tools::default(), &clock(), &mut |_, _| ());
    drop(held);
    fs::write("/sys/bus/pci/drivers/nvme/bind", &address).unwrap();
    let late = Instant::now() + Duration::from_secs(60);
    while find(&first.serial).is_none() {
        assert!(Instant::now() < late, "the disk did not come back");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(matches!(gone, Err(Fault::DiskGone { .. })), "{gone:?}");
    assert!(ended.is_err(), "{ended:?}");
}
