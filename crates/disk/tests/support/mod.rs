//! What the tests on real loop devices share: a lab with loop devices that go away with it, a clock, signed images, and a
//! loud way to skip.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout)]

use disk::{
    Cache, CachedImage, DeviceNumber, DiskIdentity, ExclusiveDisk, Fault, HostView, ImageFormat, ImageKind, ImageSpec,
    Refusal, TrustedImage, TrustedKeys, bulk, identity,
};
use ed25519_dalek::{Signer, SigningKey};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::Read,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    process::{Child, Command},
    time::Instant,
};

pub const MIB: u64 = 1 << 20;
pub const NONCE: &str = "0123456789abcdef-nonce";
pub const SECRET: &[u8] = b"the tenant's planted secret 8e1f";

/// Whether this machine can run a test. If not it says so, or fails where everything must run.
pub fn can_run(name: &str, programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| command::find(program).is_err()).map(|p| format!("{p} is missing"));
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let reason = missing
        .or((!root).then(|| "not root".to_owned()))
        .or((!Path::new("/dev/loop-control").exists()).then(|| "no loop devices".to_owned()));
    let Some(reason) = reason else { return true };
    assert!(std::env::var("GPUAAS_REAL").as_deref() != Ok("require"), "{name} cannot run: {reason}");
    println!("SKIPPED {name}: {reason}");
    false
}

pub fn run(program: &str, arguments: &[&str]) -> String {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

pub fn clock() -> impl Fn() -> u64 {
    let started = Instant::now();
    move || u64::try_from(started.elapsed().as_micros()).unwrap()
}

/// Undone in the reverse order, also when a test fails.
#[derive(Default)]
pub struct Undo(Vec<Vec<String>>);

impl Undo {
    pub fn later(&mut self, words: &[&str]) {
        self.0.push(words.iter().map(|word| (*word).to_owned()).collect());
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        for words in self.0.iter().rev() {
            let _ = Command::new(&words[0]).args(&words[1..]).output();
        }
    }
}

/// A process that ends with the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A loop device over a file of its own.
pub struct LoopDisk {
    pub path: PathBuf,
    pub file: PathBuf,
    pub identity: DiskIdentity,
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.path).output();
    }
}

pub fn identity_of(path: &Path) -> DiskIdentity {
    let number = DeviceNumber::from_raw(fs::metadata(path).unwrap().rdev());
    identity::read(&HostView::default(), number).unwrap()
}

impl LoopDisk {
    pub fn new(folder: &Path, bytes: u64) -> Self {
        Self::with_blocks(folder, bytes, 512)
    }

    pub fn with_blocks(folder: &Path, bytes: u64, block: u32) -> Self {
        let file = folder.join(format!("disk-{bytes}-{block}.img"));
        File::create(&file).unwrap().set_len(bytes).unwrap();
        let path: PathBuf = run("losetup", &["-f", "--show", "-b", &block.to_string(), file.to_str().unwrap()]).into();
        let identity = identity_of(&path);
        Self { path, file, identity }
    }

    pub fn open(&self) -> Result<ExclusiveDisk, Refusal> {
        ExclusiveDisk::open(&HostView::default(), &self.path, &self.identity)
    }

    /// Fills the disk with something, and the secret in several places.
    pub fn plant(&self) {
        let device = OpenOptions::new().write(true).open(&self.path).unwrap();
        let size = self.identity.size_bytes();
        let piece: Vec<u8> = (0..MIB).map(|at| u8::try_from(at % 251).unwrap()).collect();
        for at in (0..size).step_by(1 << 20) {
            let count = usize::try_from(MIB.min(size - at)).unwrap();
            device.write_all_at(&piece[..count], at).unwrap();
        }
        for at in [0, 4096, size / 2 + 17, size - SECRET.len() as u64] {
            device.write_all_at(SECRET, at).unwrap();
        }
        device.sync_all().unwrap();
    }

    /// Whether the secret is anywhere on the disk or in the file behind it, read by other means than the crate's.
    pub fn holds_secret(&self) -> bool {
        let secret = std::str::from_utf8(SECRET).unwrap();
        let found = Command::new("grep").args(["-q", "-a", "-F", secret]).arg(&self.path).arg(&self.file).status();
        match found.unwrap().code() {
            Some(0) => true,
            Some(1) => false,
            other => panic!("grep ended with {other:?}"),
        }
    }

    /// Whether every byte is zero, read by other means than the crate's.
    pub fn is_zero(&self) -> bool {
        let bytes = self.identity.size_bytes().to_string();
        Command::new("cmp").args(["-s", "-n", &bytes]).arg(&self.path).arg("/dev/zero").status().unwrap().success()
    }
}

pub fn key() -> SigningKey {
    SigningKey::from_bytes(&[9; 32])
}

/// A signed entry for a file.
pub fn spec_of(file: &Path, format: ImageFormat, virtual_size_bytes: u64, minimum_disk_bytes: u64) -> TrustedImage {
    let bytes = fs::read(file).unwrap();
    let mut spec = ImageSpec {
        id: "test".into(),
        sha256: bulk::hex(&Sha256::digest(&bytes)),
        size_bytes: bytes.len() as u64,
        format,
        virtual_size_bytes,
        minimum_disk_bytes,
        kind: ImageKind::Base,
        signer_key_id: "tests".into(),
        signature: String::new(),
    };
    spec.signature = bulk::hex(&key().sign(spec.signed_text().as_bytes()).to_bytes());
    let keys = TrustedKeys::from([("tests".to_owned(), bulk::hex(key().verifying_key().as_bytes()))]);
    disk::trust(spec, &keys).unwrap()
}

pub fn cached(cache: &Cache, image: &TrustedImage, file: &Path) -> Result<CachedImage, Fault> {
    cache.fetch(image, &mut File::open(file).unwrap(), &BTreeSet::new())
}

/// A raw image with noise, a hole, and more noise.
pub fn raw_image(folder: &Path, bytes: u64) -> PathBuf {
    let path = folder.join("image.raw");
    let file = File::create(&path).unwrap();
    file.set_len(bytes).unwrap();
    let mut noise = vec![0; usize::try_from(bytes / 3).unwrap()];
    File::open("/dev/urandom").unwrap().read_exact(&mut noise).unwrap();
    file.write_all_at(&noise, 0).unwrap();
    file.write_all_at(&noise[..4096], bytes - 4096).unwrap();
    path
}

pub fn qcow2_of(raw: &Path) -> PathBuf {
    let path = raw.with_extension("qcow2");
    run("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", raw.to_str().unwrap(), path.to_str().unwrap()]);
    path
}
