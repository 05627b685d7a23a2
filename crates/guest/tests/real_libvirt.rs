//! The guest's machine on a real libvirt with a real QEMU (in software) and a real Open vSwitch. Each world is private:
//! its own namespaces for mounts, network and processes, its own folders where libvirt and Open vSwitch keep theirs. When
//! its first process ends, everything in it ends.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use guest::{
    domain::*,
    identity::{GuestUse, SlotUse},
    machine::*,
    ready::{ExpectedKey, Handshake, SshFault, handshake},
    seed::{Addressing, HostKey, IsoWriter, SeedNetwork, SeedSpec, documents},
};
use model::{AllocationId, SlotId, Timestamp};
use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

// Says whether the machine has what a test needs. With GPUAAS_REAL=require a lack is a failure.
fn has(test: &str, programs: &[&str]) -> bool {
    let root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let lack = programs.iter().find_map(|name| command::find(name).err()).map(|fault| fault.to_string());
    let Some(reason) = lack.or((!root).then(|| "not root".to_owned())) else { return true };
    assert!(std::env::var("GPUAAS_REAL").as_deref() != Ok("require"), "{test} cannot run: {reason}");
    eprintln!("SKIPPED {test}: {reason}");
    false
}

fn has_file(test: &str, path: &Path) -> bool {
    if path.exists() {
        return true;
    }
    assert!(std::env::var("GPUAAS_REAL").as_deref() != Ok("require"), "{test} cannot run: no {}", path.display());
    eprintln!("SKIPPED {test}: no {}", path.display());
    false
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let late = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < late, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

struct World {
    folder: tempfile::TempDir,
    first: Child,
}

const WORLD: &str = r#"
set -e
cd "$1"
mkdir -p etc lib log run ovs-run ovs-log ovs-etc
printf 'user = "root"\ngroup = "root"\nsecurity_driver = "none"\ncgroup_controllers = []\nremember_owner = 0\n' > etc/qemu.conf
printf 'unix_sock_rw_perms = "0700"\nauth_unix_rw = "none"\nauth_unix_ro = "none"\n' > etc/libvirtd.conf
: > etc/virtlogd.conf
mkdir -p /run/libvirt /run/openvswitch /var/log/libvirt /var/log/openvswitch
mount --bind etc /etc/libvirt
mount --bind lib /var/lib/libvirt
mount --bind log /var/log/libvirt
mount --bind run /run/libvirt
mount --bind ovs-run /run/openvswitch
mount --bind ovs-log /var/log/openvswitch
ip link set lo up 2>/dev/null || true
ovsdb-tool create ovs-etc/conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server "$1/ovs-etc/conf.db" --remote=punix:/run/openvswitch/db.sock --no-chdir > ovs-log/db.out 2>&1 &
while ! [ -S /run/openvswitch/db.sock ]; do sleep 0.02; done
ovs-vsctl --no-wait init
ovs-vswitchd unix:/run/openvswitch/db.sock --no-chdir > ovs-log/vs.out 2>&1 &
ovs-vsctl --timeout=20 add-br br-gpu -- set bridge br-gpu datapath_type=netdev
virtlogd --pid-file "$1/virtlogd.pid" > virtlogd.out 2>&1 &
libvirtd --config /etc/libvirt/libvirtd.conf --pid-file "$1/libvirtd.pid" > libvirtd.out 2>&1 &
echo $! > libvirtd.number
# A shell that waits takes in everything that dies in here, as a first process should.
while :; do wait; sleep 0.1; done
"#;

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let first = Command::new("unshare")
            .args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"])
            .args(["nice", "-n", "19", "sh", "-c", WORLD, "world"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.path().join("world.err")).unwrap())
            .spawn()
            .unwrap();
        let mut world = Self { folder, first };
        until("libvirt answers", || {
            let ended = world.first.try_wait().unwrap();
            assert!(ended.is_none(), "the world ended: {}", world.said());
            world.virsh().list().ok()
        });
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn said(&self) -> String {
        ["world.err", "libvirtd.out", "virtlogd.out"]
            .map(|name| fs::read_to_string(self.path(name)).unwrap_or_default())
            .join("\n")
    }

    fn virsh(&self) -> Virsh {
        let socket = self.path("run/libvirt-sock");
        Virsh { uri: format!("qemu+unix:///system?socket={}", socket.display()), ..Virsh::default() }
    }

    // Runs inside the world's processes and mounts.
    fn inside(&self, script: &str) {
        let inner = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.first.id())).unwrap();
        let done =
            Command::new("nsenter").args(["-t", inner.trim(), "-m", "-p", "-n", "sh", "-ec", script]).status().unwrap();
        assert!(done.success(), "{script}");
    }

    fn spec(&self, use_generation: i64) -> DomainSpec {
        let disk = self.path("disk.raw");
        let file = fs::File::create(&disk).unwrap();
        file.set_len(1024 * 1024).unwrap();
        fs::write(self.path("seed.iso"), vec![0; 64 * 1024]).unwrap();
        let moment = Timestamp::from_micros(1_700_000_000_000_000);
        let guest = GuestUse { allocation_id: AllocationId::from_parts(moment, [7; 10]), use_generation };
        let loop_device = self.loop_device(&disk);
        DomainSpec {
            slots: vec![SlotUse { slot_id: SlotId::from_parts(moment, [1; 10]), use_generation }],
            accelerator: Accelerator::Tcg,
            emulator: "/usr/bin/qemu-system-x86_64".into(),
            cpu_model: CpuModel::Named("qemu64".into()),
            cells: vec![Cell { host_node: 0, cpus: vec![0, 1], memory_mib: 64 }],
            emulator_cpus: vec![],
            hugepage_kib: None,
            firmware: Firmware::Bios,
            disks: vec![Disk { device: loop_device, serial: "S1".into() }],
            seed: self.path("seed.iso"),
            passthrough: vec![],
            nic: Nic {
                mac: "02:00:00:00:2a:05".parse().unwrap(),
                bridge: "br-gpu".into(),
                vlan: 100,
                interface_id: guest.uuid(),
                tap: "gt0".into(),
                offloads: Offloads::Off,
            },
            console: Console { path: self.path("c.sock"), log: self.path("console & <log>'s.txt") },
            notice: self.path("n.sock"),
            guest,
        }
    }

    fn loop_device(&self, file: &Path) -> PathBuf {
        let made = Command::new("losetup").args(["--find", "--show"]).arg(file).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let device = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
        fs::write(self.path("loop"), device.as_os_str().as_encoded_bytes()).unwrap();
        device
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.said());
        }
        let _ = self.first.kill();
        let _ = self.first.wait();
        if let Ok(device) = fs::read_to_string(self.path("loop")) {
            // The last process in there may still be letting go.
            let free = || Command::new("losetup").args(["--detach", &device]).stderr(Stdio::null()).status();
            for _ in 0..100 {
                if free().is_ok_and(|status| status.success()) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

const NEEDED: [&str; 9] = [
    "virsh",
    "libvirtd",
    "virtlogd",
    "qemu-system-x86_64",
    "ovs-vsctl",
    "ovs-vswitchd",
    "unshare",
    "nsenter",
    "losetup",
];
const PROC: &str = "/proc";

#[test]
fn a_guest_is_made_looked_at_and_gone() {
    if !has("a_guest_is_made_looked_at_and_gone", &NEEDED) {
        return;
    }
    let world = World::new();
    let (virsh, spec) = (world.virsh(), world.spec(3));
    let uuid = spec.guest.uuid();
    assert_eq!(virsh.state(uuid), Ok(None));
    create(&virsh, &spec).unwrap();
    create(&virsh, &spec).unwrap();
    assert_eq!(virsh.list(), Ok(vec![uuid]));
    assert_eq!(virsh.state(uuid).unwrap().unwrap().state, State::Running);

    for which in [Which::Now, Which::NextStart] {
        let seen = read_domain(&virsh.dumpxml(uuid, which).unwrap()).unwrap();
        assert_eq!(compare(&spec, &seen), [], "{which:?}");
        assert!(!compare(&world_of_another(&spec), &seen).is_empty());
    }
    let left = remains(&virsh, Path::new(PROC), uuid).unwrap();
    assert_eq!((left.machine, left.processes.len()), (Some(State::Running), 1));

    // QEMU dies: libvirt says so, and nothing is gone yet.
    assert!(Command::new("kill").args(["-9", &left.processes[0].to_string()]).status().unwrap().success());
    let off = until("the machine is off", || virsh.state(uuid).unwrap().filter(|seen| seen.state == State::Off));
    assert!(["crashed", "failed", "destroyed"].contains(&off.reason.as_str()), "{off:?}");
    let left = until("the process ended", || {
        remains(&virsh, Path::new(PROC), uuid).ok().filter(|left| left.processes.is_empty())
    });
    let budget = StopBudget::default();
    assert_eq!(next_stop_step(&left, &StopProgress::default(), Timestamp::from_micros(0), &budget), StopStep::Undefine);

    // Started again, it is stopped by the ladder; it sits in its firmware and does not hear the button.
    virsh.start(uuid).unwrap();
    virsh.start(uuid).unwrap();
    stop(&virsh, &spec);
    assert_eq!(virsh.list(), Ok(vec![]));
    for again in [virsh.destroy(uuid), virsh.undefine(uuid), virsh.shutdown_acpi(uuid)] {
        assert_eq!(again, Ok(()));
    }
}

#[test]
fn a_guest_with_uefi_and_a_console_on_a_socket() {
    let test = "a_guest_with_uefi_and_a_console_on_a_socket";
    let (code, template) = (Path::new("/usr/share/OVMF/OVMF_CODE_4M.fd"), Path::new("/usr/share/OVMF/OVMF_VARS_4M.fd"));
    if !has(test, &NEEDED) || !has_file(test, code) {
        return;
    }
    let world = World::new();
    let (virsh, mut spec) = (world.virsh(), world.spec(4));
    spec.cells[0].memory_mib = 128;
    spec.cpu_model = CpuModel::Maximum;
    spec.nic.offloads = Offloads::On;
    spec.firmware =
        Firmware::Uefi { code: code.to_owned(), vars_template: template.to_owned(), vars: world.path("vars.fd") };
    spec.console.log = world.path("c.log");
    create(&virsh, &spec).unwrap();
    assert!(world.path("vars.fd").exists());
    // The firmware speaks on the serial line, and the log hears it.
    until("the console is logged", || fs::read(world.path("c.log")).ok().filter(|log| !log.is_empty()));
    assert!(std::os::unix::net::UnixStream::connect(world.path("c.sock")).is_ok());
    stop(&virsh, &spec);
    assert!(!world.path("vars.fd").exists(), "the firmware's variables stayed");
}

// The ladder as an agent climbs it, with a clock that is ahead of the real one where it waits.
fn stop(virsh: &Virsh, spec: &DomainSpec) {
    let uuid = spec.guest.uuid();
    let budget = StopBudget { acpi_s: 1, destroy_s: 600 };
    let (mut since, mut now, mut steps) = (StopProgress::default(), Timestamp::from_micros(0), vec![]);
    loop {
        let step = next_stop_step(&remains(virsh, Path::new(PROC), uuid).unwrap(), &since, now, &budget);
        match &step {
            StopStep::AskAcpi => {
                virsh.shutdown_acpi(uuid).unwrap();
                since.asked_at = Some(now);
            }
            StopStep::Wait { until } if since.destroyed_at.is_none() => now = *until,
            StopStep::Wait { .. } => {
                now = now.plus_seconds(1);
                std::thread::sleep(Duration::from_millis(100));
            }
            StopStep::Destroy => {
                virsh.destroy(uuid).unwrap();
                since.destroyed_at = since.destroyed_at.or(Some(now));
            }
            StopStep::Undefine => virsh.undefine(uuid).unwrap(),
            StopStep::Gone => break,
            StopStep::Stuck(stuck) => panic!("{stuck}"),
        }
        if steps.last() != Some(&step) {
            steps.push(step);
        }
    }
    assert_eq!(steps.first(), Some(&StopStep::AskAcpi), "{steps:?}");
    assert!(steps.contains(&StopStep::Destroy) && steps.contains(&StopStep::Undefine), "{steps:?}");
}

fn world_of_another(spec: &DomainSpec) -> DomainSpec {
    let mut other = spec.clone();
    other.guest.use_generation += 1;
    other
}

#[test]
fn what_libvirt_and_qemu_refuse_is_told_in_their_words() {
    if !has("what_libvirt_and_qemu_refuse_is_told_in_their_words", &NEEDED) {
        return;
    }
    let world = World::new();
    let virsh = world.virsh();
    let good = world.spec(3);

    // Firmware that is not there.
    let mut spec = good.clone();
    spec.firmware = Firmware::Uefi {
        code: "/nonexistent/OVMF_CODE.fd".into(),
        vars_template: world.path("seed.iso"),
        vars: world.path("vars.fd"),
    };
    let fault = create(&virsh, &spec).unwrap_err();
    let said = fault.to_string();
    assert!(matches!(fault, MachineFault::QemuFailed { .. }), "{fault:?}");
    assert!(said.contains("/nonexistent/OVMF_CODE.fd") && said.contains("No such file"), "{fault:?}");
    virsh.undefine(spec.guest.uuid()).unwrap();

    // QEMU itself refuses: firmware of an impossible size.
    let mut spec = good.clone();
    fs::write(world.path("code.fd"), vec![0; 1000]).unwrap();
    fs::write(world.path("template.fd"), vec![0; 1000]).unwrap();
    spec.firmware = Firmware::Uefi {
        code: world.path("code.fd"),
        vars_template: world.path("template.fd"),
        vars: world.path("vars.fd"),
    };
    let fault = create(&virsh, &spec).unwrap_err();
    assert!(
        matches!(&fault, MachineFault::QemuFailed { said } if said.contains("multiple of") || said.contains("size")),
        "{fault:?}"
    );
    assert!(matches!(virsh.state(spec.guest.uuid()), Ok(Some(seen)) if seen.state == State::Off));
    virsh.undefine(spec.guest.uuid()).unwrap();
    assert!(!world.path("vars.fd").exists(), "the firmware's variables stayed");

    // Huge pages of a size that the host has none of.
    let mut spec = good.clone();
    spec.hugepage_kib = Some(2048);
    spec.cells[0].memory_mib = 1024 * 1024;
    let fault = create(&virsh, &spec).unwrap_err();
    assert!(matches!(fault, MachineFault::NoHugepages { .. }), "{fault:?}");
    virsh.undefine(spec.guest.uuid()).unwrap();

    definitions_are_compared(&world, &good);
}

fn definitions_are_compared(world: &World, good: &DomainSpec) {
    let virsh = world.virsh();
    // Devices are written down as they were asked for, each on its port; this host has none to start with.
    let mut spec = good.clone();
    spec.passthrough = ["0000:0f:00.0", "0000:10:00.2"]
        .map(|address| Passthrough { address: address.parse().unwrap(), role: Role::Gpu })
        .into();
    virsh.define(&build(&spec).unwrap()).unwrap();
    assert_eq!(differences(&virsh, &spec, Which::NextStart), Ok(vec![]));
    assert!(!differences(&virsh, good, Which::NextStart).unwrap().is_empty());
    virsh.undefine(spec.guest.uuid()).unwrap();

    // A machine of that name which is another.
    virsh.define(&build(good).unwrap()).unwrap();
    let foreign =
        build(good).unwrap().replace(&good.guest.uuid().to_string(), &world_of_another(good).guest.uuid().to_string());
    assert!(matches!(virsh.define(&foreign), Err(MachineFault::AlreadyExists { .. })));

    // Somebody adds a screen to the definition: it is seen.
    let uuid = good.guest.uuid();
    let screen =
        virsh.dumpxml(uuid, Which::NextStart).unwrap().replace("</devices>", "<graphics type='vnc'/></devices>");
    virsh.define(&screen).unwrap();
    let seen = read_domain(&virsh.dumpxml(uuid, Which::NextStart).unwrap()).unwrap();
    let differences = compare(good, &seen);
    assert!(differences.iter().any(|difference| difference.found.starts_with("graphics")), "{differences:?}");

    // libvirt goes away: nothing is known, and nothing is gone.
    world.inside(&format!("kill -9 $(cat {})", world.path("libvirtd.number").display()));
    let fault = until("libvirt is down", || virsh.list().err());
    assert!(matches!(fault, MachineFault::LibvirtDown { .. }), "{fault:?}");
    assert!(matches!(virsh.state(uuid), Err(MachineFault::LibvirtDown { .. })));
    assert!(remains(&virsh, Path::new(PROC), uuid).is_err());
}

const PUBLIC: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ";

#[test]
fn a_seed_is_an_image_with_its_files() {
    if !has("a_seed_is_an_image_with_its_files", &["genisoimage", "isoinfo", "blkid"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let guest =
        GuestUse { allocation_id: AllocationId::from_parts(Timestamp::from_micros(9), [7; 10]), use_generation: 1 };
    let spec = SeedSpec {
        guest,
        host_name: "trainer".into(),
        user_name: "ada".into(),
        ssh_keys: vec![PUBLIC.parse().unwrap()],
        network: SeedNetwork {
            mac: "02:00:00:00:2a:05".parse().unwrap(),
            ip: [10, 0, 0, 9].into(),
            prefix: 24,
            gateway: [10, 0, 0, 1].into(),
            dns: vec![],
            addressing: Addressing::Dhcp,
        },
        host_key: HostKey {
            private_openssh: "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n".into(),
            public: PUBLIC.parse().unwrap(),
        },
        tenant_data: Some("#!/bin/sh\necho hello\n".into()),
    };
    let files = documents(&spec).unwrap();
    let path = folder.path().join("seed.iso");
    let writer = IsoWriter::default();
    writer.write(&files, &path).unwrap();
    let first = fs::read(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // The dates on an image count seconds.
    std::thread::sleep(Duration::from_millis(1100));
    writer.write(&files, &path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), first, "the same seed gives other bytes");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something was left beside it");
    let label =
        command::Program::named("blkid").unwrap().args(["-p", "-o", "value", "-s", "LABEL"]).arg(&path).run().unwrap();
    assert_eq!(label.out.trim(), "cidata");
    for file in &files {
        let read = command::Program::named("isoinfo").unwrap();
        let read = read.arg("-i").arg(&path).args(["-J", "-x", &format!("/{}", file.name)]).run().unwrap();
        assert_eq!(read.out.as_bytes(), file.bytes, "{}", file.name);
    }
    writer.remove(&path).unwrap();
    writer.remove(&path).unwrap();
    assert!(!path.exists());
}

struct Dropbear(Child);

impl Drop for Dropbear {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_real_ssh_server_is_known_by_its_key() {
    if !has("a_real_ssh_server_is_known_by_its_key", &["dropbear", "dropbearkey"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let path = folder.path().join(name);
        let made =
            command::Program::named("dropbearkey").unwrap().args(["-t", "ed25519", "-f"]).arg(&path).run().unwrap();
        let line = made.out.lines().find(|line| line.starts_with("ssh-ed25519 ")).unwrap().to_owned();
        (path, ExpectedKey::from_line(&line.parse().unwrap()).unwrap())
    };
    let ((path, own), (_, other)) = (make("own"), make("other"));
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let server = Command::new("dropbear")
        .args(["-F", "-E", "-p", &format!("127.0.0.1:{port}"), "-P"])
        .arg(folder.path().join("pid"))
        .arg("-r")
        .arg(&path)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _server = Dropbear(server);
    let attempt = |expected: &ExpectedKey, random: u8| {
        let dial = || {
            let stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            Ok(stream)
        };
        handshake(
            &Handshake { expected: expected.clone(), random: [random; 32], within: Duration::from_secs(60) },
            dial,
        )
    };
    let seen = until("the server answers", || match attempt(&own, 3) {
        Err(SshFault::Refused) => None,
        answer => Some(answer.unwrap()),
    });
    assert!(seen.banner.starts_with("SSH-2.0-dropbear"), "{seen:?}");
    // Numbers of every shape, so that a leading zero or a high bit in the shared secret is met.
    for random in 0..12 {
        assert!(attempt(&own, random).is_ok(), "{random}");
    }
    assert!(matches!(attempt(&other, 3), Err(SshFault::WrongHostKey { .. })));
}
