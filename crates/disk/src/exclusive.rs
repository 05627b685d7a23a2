//! The one way to a disk that may be written. It is checked by path, opened exclusively, and checked again by the number of
//! what was opened; from then on everything happens through that descriptor, so that no rename, unplug or new link can send
//! a write elsewhere. Programs that must write get the descriptor too, as a path below `/proc`.

use crate::{
    fault::{Fault, Refusal},
    identity::{self, DeviceNumber, DiskIdentity, HostView},
    inspect,
};
use rustix::{
    fs::{FileType, Mode, OFlags, SeekFrom, fstat, ioctl_blksszget, open, seek, stat},
    io::Errno,
};
use std::{
    fs::File,
    os::fd::AsRawFd,
    path::Path,
    time::{Duration, Instant},
};

/// How long others get to let go of a disk: a program that was just ended closes it a moment later, and so does a service of
/// the host that looks at every new disk.
pub const SETTLE: Duration = Duration::from_secs(2);

/// A disk that is the approved one, free, and ours until this is dropped.
#[derive(Debug)]
pub struct ExclusiveDisk {
    file: File,
    number: DeviceNumber,
    approved: DiskIdentity,
    host: HostView,
}

impl ExclusiveDisk {
    /// Checks that the path is the approved disk and free, and takes it.
    pub fn open(host: &HostView, path: &Path, approved: &DiskIdentity) -> Result<Self, Refusal> {
        let until = Instant::now() + SETTLE;
        loop {
            let taken = Self::take(host, path, approved);
            let passing = matches!(taken, Err(Refusal::Busy { .. } | Refusal::OpenElsewhere { .. }));
            if !passing || Instant::now() >= until {
                return taken;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn take(host: &HostView, path: &Path, approved: &DiskIdentity) -> Result<Self, Refusal> {
        let shown = path.display().to_string();
        let seen = stat(path).map_err(|error| Refusal::Missing { path: shown.clone(), why: error.to_string() })?;
        if !FileType::from_raw_mode(seen.st_mode).is_block_device() {
            return Err(Refusal::NotBlockDevice { path: shown });
        }
        let number = DeviceNumber::from_raw(seen.st_rdev);
        check(host, number, approved)?;
        // O_EXCL without O_CREAT: the kernel refuses while the disk or any part of it is mounted or claimed, in whatever
        // name space, and refuses those to others for as long as we hold it.
        let how = OFlags::RDWR | OFlags::EXCL | OFlags::DIRECT | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = match open(path, how, Mode::empty()) {
            Ok(descriptor) => File::from(descriptor),
            Err(Errno::BUSY) => return Err(Refusal::Busy { path: shown }),
            Err(error) => return Err(Refusal::NotOpened { path: shown, why: error.to_string() }),
        };
        let opened = fstat(&file).map_err(|error| Refusal::unreadable(format!("the number of {shown}"), error))?;
        let found = DeviceNumber::from_raw(opened.st_rdev);
        if !FileType::from_raw_mode(opened.st_mode).is_block_device() || found != number {
            return Err(Refusal::PathMoved { path: shown, expected: number, found });
        }
        let disk = Self { file, number, approved: approved.clone(), host: host.clone() };
        let facts = inspect::gather(host, number)?;
        check(host, number, approved)?;
        disk.measured()?;
        let parts = facts.partitions.iter().map(|part| part.number);
        let devices: Vec<DeviceNumber> = std::iter::once(number).chain(parts).collect();
        match inspect::open_elsewhere(host, &devices, disk.file.as_raw_fd())? {
            Some(refusal) => Err(refusal),
            None => Ok(disk),
        }
    }

    // What the descriptor itself says must be what sysfs says of its number.
    fn measured(&self) -> Result<(), Refusal> {
        let what = || format!("the size of device {}", self.number);
        let size = seek(&self.file, SeekFrom::End(0)).map_err(|error| Refusal::unreadable(what(), error))?;
        let block = ioctl_blksszget(&self.file).map_err(|error| Refusal::unreadable(what(), error))?;
        if size != self.approved.size_bytes() || block != self.approved.logical_block_bytes() {
            return Err(Refusal::Input {
                what: format!("device {}", self.number),
                expected: format!("{} bytes", self.approved.size_bytes()),
                found: format!("{size} bytes in blocks of {block}"),
            });
        }
        Ok(())
    }

    /// Whether it still is the approved disk. To be asked after everything that was done to it.
    pub fn recheck(&self) -> Result<DiskIdentity, Fault> {
        let gone = |refusal: Refusal| Fault::DiskGone { why: refusal.to_string() };
        let seen = identity::read(&self.host, self.number).map_err(gone)?;
        let differences = identity::compare(&self.approved, &seen);
        if !differences.is_empty() {
            return Err(Fault::DiskChanged { differences });
        }
        self.measured().map_err(gone)?;
        file_behind(&seen).map_err(gone)?;
        Ok(seen)
    }

    /// Which disk it is.
    pub fn identity(&self) -> &DiskIdentity {
        &self.approved
    }

    /// Its number.
    pub fn number(&self) -> DeviceNumber {
        self.number
    }

    /// How many bytes it holds.
    pub fn size_bytes(&self) -> u64 {
        self.approved.size_bytes()
    }

    /// Where the host shows itself.
    pub fn host(&self) -> &HostView {
        &self.host
    }

    /// The open disk. Reads and writes must be aligned to 4096 bytes in memory and to the logical block on the disk.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// A path by which a program we start opens the same disk, whatever the paths in `/dev` lead to by then. It opens the
    /// very device that this descriptor holds; our claim does not stand in its way, because it makes none of its own.
    pub fn path_for_programs(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

fn check(host: &HostView, number: DeviceNumber, approved: &DiskIdentity) -> Result<(), Refusal> {
    if let Some(refusal) = inspect::inspect(host, number)?.into_iter().next() {
        return Err(refusal);
    }
    let seen = identity::read(host, number)?;
    let differences = identity::compare(approved, &seen);
    if !differences.is_empty() {
        return Err(Refusal::WrongDisk { differences });
    }
    file_behind(&seen)
}

// A loop device answers zeros for what its file lost, which would look like a clean disk.
fn file_behind(seen: &DiskIdentity) -> Result<(), Refusal> {
    let DiskIdentity::Loop(disk) = seen else { return Ok(()) };
    let length = std::fs::metadata(&disk.backing_file).map(|file| file.len());
    let length = length.map_err(|error| Refusal::unreadable(format!("the length of {}", disk.backing_file), error))?;
    if length >= disk.size_bytes {
        return Ok(());
    }
    let expected = format!("at least {} bytes long", disk.size_bytes);
    Err(Refusal::Input { what: disk.backing_file.clone(), expected, found: format!("{length} bytes long") })
}
