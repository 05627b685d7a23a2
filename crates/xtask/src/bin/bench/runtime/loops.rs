//! Disks to measure on: loop devices over files on the machine's own disk, and an image full of noise. They go when the value
//! goes.

use disk::{DeviceNumber, DiskIdentity, ExclusiveDisk, HostView, identity};
use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

/// A mebibyte.
pub const MIB: u64 = 1 << 20;

const PROGRAMS: [&str; 6] = ["losetup", "qemu-img", "dd", "setpriv", "prlimit", "sync"];

/// Why nothing can be measured here, if it cannot.
pub fn lack() -> Option<String> {
    let root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let missing = PROGRAMS.iter().find_map(|name| command::find(name).err()).map(|fault| fault.to_string());
    let no_loops = !Path::new("/dev/loop-control").exists();
    missing.or((!root).then(|| "not root".to_owned())).or(no_loops.then(|| "no loop devices".to_owned()))
}

/// Runs a program that must end well, and answers what it said.
pub fn run(program: &str, words: &[&str]) -> Result<String, String> {
    let done = Command::new(program).args(words).output().map_err(|error| format!("{program}: {error}"))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned());
    }
    Err(format!("{program} {words:?}: {}", String::from_utf8_lossy(&done.stderr)))
}

/// Whether the file behind a disk is read past the page cache, as a disk is, or through it, as fast as memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    Disk,
    PageCache,
}

/// A loop device over a file of its own.
pub struct LoopDisk {
    pub path: PathBuf,
    identity: DiskIdentity,
}

impl LoopDisk {
    /// Of this size, with a file of this name.
    pub fn new(file: &Path, bytes: u64, behind: Behind) -> Result<Self, String> {
        File::create(file).and_then(|file| file.set_len(bytes)).map_err(|error| error.to_string())?;
        let direct = if behind == Behind::Disk { "--direct-io=on" } else { "--direct-io=off" };
        let path = PathBuf::from(run("losetup", &["--find", "--show", direct, &file.to_string_lossy()])?);
        let number = DeviceNumber::from_raw(fs::metadata(&path).map_err(|error| error.to_string())?.rdev());
        let identity = identity::read(&HostView::default(), number).map_err(|refusal| refusal.to_string())?;
        Ok(Self { path, identity })
    }

    /// Takes it, as a host does.
    pub fn take(&self) -> Result<ExclusiveDisk, String> {
        ExclusiveDisk::open(&HostView::default(), &self.path, &self.identity).map_err(|refusal| refusal.to_string())
    }

    /// Its path as a word of a command.
    pub fn word(&self) -> String {
        self.path.display().to_string()
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        let _ = run("losetup", &["--detach", &self.word()]);
    }
}

/// Writes a file of noise, which neither a disk nor `qemu-img` can make less of.
pub fn noise(path: &Path, bytes: u64) -> Result<(), String> {
    let write = || {
        let (mut random, mut file) = (File::open("/dev/urandom")?, File::create(path)?);
        let mut piece = vec![0; 1 << 20];
        for _ in 0..bytes / MIB {
            random.read_exact(&mut piece)?;
            file.write_all(&piece)?;
        }
        file.sync_all()
    };
    write().map_err(|error| format!("{}: {error}", path.display()))
}

/// A folder on the machine's disk, next to the reports; a temporary one might be memory.
pub fn folder() -> Result<tempfile::TempDir, String> {
    let beside = std::path::absolute("target/bench").map_err(|error| error.to_string())?;
    fs::create_dir_all(&beside).map_err(|error| error.to_string())?;
    tempfile::tempdir_in(beside).map_err(|error| error.to_string())
}

/// A clock in microseconds.
pub fn clock() -> impl Fn() -> u64 + Sync {
    let begun = Instant::now();
    move || u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// Megabytes a second.
pub fn rate(bytes: u64, us: u64) -> u64 {
    bytes / us.max(1)
}
