//! The box from outside: made, lived in by the program itself, and taken away with all that is in it.

use crate::{image::tiny_image, until, world::World};
use std::{
    fs::{self, File},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const NEEDED: [&str; 18] = [
    "virsh",
    "libvirtd",
    "virtlogd",
    "qemu-system-x86_64",
    "qemu-img",
    "ovs-vsctl",
    "ovs-vswitchd",
    "ovsdb-server",
    "dnsmasq",
    "nft",
    "conntrack",
    "ethtool",
    "genisoimage",
    "unshare",
    "nsenter",
    "losetup",
    "ssh",
    "ssh-keygen",
];

const SCRIPT: &str = include_str!("begin.sh");
const INSIDE: &str = "GPUAAS_WORLD";

/// The world, for the test of this name that runs in it. From outside one is made, the test is run in it, and there is none;
/// also where the machine lacks something. With `GPUAAS_REAL=require` a lack is a failure.
pub fn world(test: &str) -> Option<World> {
    world_for(test, &[test, "--exact", "--nocapture"], &[])
}

/// The same for any program: it is started in the box with these words, and needs these files besides.
pub fn world_for(name: &str, words: &[&str], files: &[PathBuf]) -> Option<World> {
    if let Some(folder) = std::env::var_os(INSIDE) {
        return Some(World::at(folder.into()));
    }
    match lack(files) {
        None => Outside::run(words),
        Some(reason) => {
            assert!(std::env::var("GPUAAS_REAL").as_deref() != Ok("require"), "{name} cannot run: {reason}");
            eprintln!("SKIPPED {name}: {reason}");
        }
    }
    None
}

// What the machine lacks, if it lacks anything.
fn lack(files: &[PathBuf]) -> Option<String> {
    let root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let missing = NEEDED.iter().find_map(|name| command::find(name).err()).map(|fault| fault.to_string());
    let tiny = tiny_image();
    let file = files.iter().chain([&tiny]).find(|file| !file.exists()).map(|file| format!("no {}", file.display()));
    missing.or((!root).then(|| "not root".to_owned())).or(file)
}

struct Outside {
    folder: tempfile::TempDir,
    first: Child,
    // One world at a time on a machine; the kernel lets go of it however we end.
    _lock: File,
}

impl Outside {
    fn run(words: &[&str]) {
        let lock = File::options().create(true).append(true).open("/tmp/gpuaas-real.lock").unwrap();
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
        let folder = tempfile::Builder::new().prefix("hd").tempdir_in("/tmp").unwrap();
        // dnsmasq leaves root behind and must still reach its files.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let first = Command::new("unshare")
            .args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"])
            .args(["nice", "-n", "10", "sh", "-c", SCRIPT, "world"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(folder.path().join("world.err")).unwrap())
            .spawn()
            .unwrap();
        let mut outside = Self { folder, first, _lock: lock };
        until("the world has begun", || {
            assert!(outside.first.try_wait().unwrap().is_none(), "the world ended: {}", outside.said());
            outside.folder.path().join("begun").exists().then_some(())
        });
        let inner = fs::read_to_string(format!("/proc/{0}/task/{0}/children", outside.first.id())).unwrap();
        let ended = Command::new("nsenter")
            .args(["-t", inner.trim(), "-m", "-p", "-n", "--"])
            .arg(std::env::current_exe().unwrap())
            .args(words)
            .env(INSIDE, outside.folder.path())
            .status()
            .unwrap();
        assert!(ended.success(), "{}", outside.said());
    }

    // The end of what everything in the box said.
    fn said(&self) -> String {
        let files = fs::read_dir(self.folder.path()).unwrap().filter_map(|entry| Some(entry.ok()?.path()));
        let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "err")).collect();
        files.sort();
        let told = files.iter().map(|path| {
            let said = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
            let lines: Vec<&str> = said.lines().collect();
            format!("{}: {}", path.display(), lines[lines.len().saturating_sub(60)..].join("\n"))
        });
        told.collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.first.kill();
        let _ = self.first.wait();
        let late = Instant::now() + Duration::from_secs(20);
        // The last process in there may still be letting go.
        loop {
            let listed =
                Command::new("losetup").args(["--list", "--noheadings", "--output", "NAME,BACK-FILE"]).output();
            let listed = listed.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default();
            let own = listed.lines().filter(|line| line.contains(&*self.folder.path().to_string_lossy()));
            let devices: Vec<&str> = own.filter_map(|line| line.split_whitespace().next()).collect();
            if devices.is_empty() || Instant::now() >= late {
                return;
            }
            for device in devices {
                let _ = Command::new("losetup").args(["--detach", device]).stderr(Stdio::null()).status();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
