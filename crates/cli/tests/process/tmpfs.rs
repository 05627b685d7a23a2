//! A file system of a fixed size, to be filled up. Needs root.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

pub struct Tmpfs {
    path: PathBuf,
}

impl Tmpfs {
    /// Mounts one in this folder, or says why that is not possible here.
    pub fn mount(path: PathBuf, size: &str) -> Result<Self, String> {
        fs::create_dir_all(&path).unwrap();
        let option = format!("size={size}");
        match Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(&path).output() {
            Ok(output) if output.status.success() => Ok(Self { path }),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn ballast(&self) -> PathBuf {
        self.path.join("ballast")
    }

    /// Fills it up, except for so many bytes. It is never fuller than that: who writes meanwhile has its room.
    pub fn fill_but(&self, left: u64) {
        let room = rustix::fs::statvfs(&self.path).unwrap();
        let ballast = (room.f_bavail * room.f_frsize).checked_sub(left).expect("less room than is to be left");
        fs::write(self.ballast(), vec![1; usize::try_from(ballast).unwrap()]).unwrap();
    }

    /// Makes room again.
    pub fn free(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}
