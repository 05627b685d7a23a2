//! From end to end on real parts: a control plane, an agent without rights and its root process start real guests on real
//! block devices for two tenants, and take them back. Everybody is killed on the way. What one tenant left is gone before
//! the next one comes, and a wipe that fails keeps its slot out of use.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

#[path = "../common/mod.rs"]
mod common;
mod stage;

use serde_json::Value;
use stage::{PATIENCE, SLOTS, Stage, items};
use std::{
    fs,
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    process::{Command, Output},
    time::{Duration, Instant},
};

const SECRET: &str = "the-tenants-planted-secret-7b21";

/// A tenant with a key and a token.
struct Tenant {
    name: &'static str,
    project: String,
    token: String,
    key: std::path::PathBuf,
}

struct Guest {
    id: String,
    ip: String,
}

#[test]
fn two_tenants_on_one_host() {
    let Some(world) = hostbox::world("two_tenants_on_one_host") else { return };
    let mut stage = Stage::open(&world);
    let image_key = images(&stage);
    stage.hostd_start(&image_key);
    into_service(&mut stage);
    has_no_rights(stage.agent_pid());

    let (ada, bob) = (tenant(&stage, "aurora"), tenant(&stage, "borealis"));
    // Killed while the disk is written and while the guest starts, the agent goes on where it was.
    let first = launch(&mut stage, &ada, &[Death::WhileCloning, Death::WhileBooting]);
    let second = launch(&mut stage, &bob, &[]);
    is_as_ordered(&stage, &ada, &first);
    is_as_ordered(&stage, &bob, &second);
    apart(&stage, (&ada, &first), (&bob, &second));
    console(&stage, &ada, &first);
    everything_dies(&mut stage, &ada, &first);

    plant(&stage, &ada, &first);
    let slot = slot_of(&stage, &first);
    release_with_death(&mut stage, &ada, &first, "wiping");
    is_clean(&stage, &slot);
    proof_holds(&stage, &slot);
    still_there(&stage, &bob, &second);
    a_wipe_that_fails(&mut stage, &bob, &second);
    nothing_left(&stage);
}

/// A signed image in the catalogue; the key that signed it.
fn images(stage: &Stage<'_>) -> (String, String) {
    let (key, entry) = (stage.world.path("images.key"), stage.world.path("tiny.json"));
    let (key, entry_path) = (key.display().to_string(), entry.display().to_string());
    let image = hostbox::tiny_image().display().to_string();
    let made = stage.json(&["image", "keygen", &key, "--key-id", "tests"]);
    let public = made["public_key"].as_str().unwrap().to_owned();
    stage.json(&["image", "key", "add", "tests", &public]);
    let signed =
        stage.run_as(&stage.operator, &["image", "sign", &image, "--id", "tiny", "--kind", "base", "--key", &key]);
    assert_eq!(signed.code, 0, "{}", signed.stderr);
    fs::write(&entry, signed.stdout).unwrap();
    stage.json(&["image", "add", &entry_path]);
    stage.json(&["image", "upload", "tiny", &image]);
    stage.json(&["image", "default", "tiny"]);
    ("tests".to_owned(), public)
}

/// A pool, what is sold there, and a host that is let in, looked at, approved and promoted.
fn into_service(stage: &mut Stage<'_>) {
    let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    let make = |stage: &Stage<'_>, line: &str| {
        let words = words(line);
        stage.json(&words.iter().map(String::as_str).collect::<Vec<_>>());
    };
    make(stage, "region create eu-1 --name Europe");
    make(
        stage,
        "slot-profile create lab-vm --name Laboratory --gpu-model lab --vcpus 1 --memory-mib 192 --min-disk-bytes 100000000",
    );
    make(
        stage,
        "pool create lab --name Laboratory --region eu-1 --gpu-model lab --slices-enabled --private-range 10.77.0.128/25",
    );
    make(
        stage,
        "sku create lab-vm --name Laboratory --shape gpu_slice --gpu-model lab --gpu-counts 1 --slot-profile lab-vm --price-micros-per-gpu-hour 0",
    );
    stage.invite();
    stage.agent_start();
    stage.until("the host is online", &["node", "list"], |nodes| {
        items(nodes).iter().any(|node| node["name"] == "lab-1" && node["execution"] == "online")
    });
    stage.json(&["node", "discover", "lab-1", "--wait"]);
    // One by one: loop devices are in no name space, and those of others are seen here too.
    for (number, (disk, _)) in (140..).zip(&stage.disks) {
        let (mac, ip) = (format!("02:00:00:00:2a:{number:02x}"), format!("10.77.0.{number}"));
        stage.json(&["slot", "approve", "lab-1", "--disk", disk, "--mac", &mac, "--ip", &ip, "--fabric-mode", "none"]);
    }
    stage.json(&["node", "update", "lab-1", "--tag", "gpuaas-profile-slice-vm"]);
    stage.json(&["node", "promote", "lab-1"]);
}

/// Nobody gave the process that speaks to the network a right.
fn has_no_rights(pid: u32) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    for name in ["CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb"] {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line.ends_with("0000000000000000"), "{line}");
    }
    assert!(status.lines().any(|line| line.starts_with("Uid:") && line.contains("65534")), "{status}");
}

fn tenant(stage: &Stage<'_>, name: &'static str) -> Tenant {
    stage.json(&["tenant", "create", name, "--name", name]);
    stage.json(&["project", "create", "lab", "--tenant", name, "--name", "Lab", "--gpu-cap", "4"]);
    let email = format!("ada@{name}.example");
    let member = stage.json(&["member", "create", "--tenant", name, "--email", &email, "--role", "tenant_admin"]);
    let principal = member["principal_id"].as_str().unwrap();
    let made =
        stage.json(&["token", "create", name, "--scope", "write", "--principal", principal, "--restrict-tenant", name]);
    let token = made["secret"].as_str().unwrap().to_owned();
    let key = stage.world.path(name);
    let args = ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"];
    assert!(Command::new("ssh-keygen").args(args).arg(&key).status().unwrap().success());
    let project = format!("{name}/lab");
    let file = key.with_extension("pub").display().to_string();
    stage.json_as(&token, &["ssh-key", "add", "laptop", "--project", &project, "--file", &file]);
    Tenant { name, project, token, key }
}

/// When the agent dies.
#[derive(Debug, Clone, Copy)]
enum Death {
    WhileCloning,
    WhileBooting,
}

/// Launches, and lets the agent die on the way.
fn launch(stage: &mut Stage<'_>, tenant: &Tenant, deaths: &[Death]) -> Guest {
    let begun = Instant::now();
    let words =
        ["launch", tenant.name, "--project", &tenant.project, "--sku", "lab-vm", "--gpus", "1", "--region", "eu-1"];
    let more = ["--ssh-key", "laptop", "--yes", "--no-wait"];
    let started = stage.json_as(&tenant.token, &[&words[..], &more[..]].concat());
    let id = started["subject_id"].as_str().unwrap().to_owned();
    for death in deaths {
        match death {
            Death::WhileCloning => dies_while_cloning(stage, &id),
            Death::WhileBooting => {
                until_step(stage, &id, "lease_seen");
                stage.agent_dies();
                let seen = stage.json(&["allocation", "show", &id]);
                assert_eq!(seen["execution"], "provisioning", "the guest was ready before the agent died: {seen}");
            }
        }
    }
    let running = stage.until("it runs", &["allocation", "show", &id], |seen| {
        assert_ne!(seen["execution"], "failed", "{seen}\n{}", stage.logs());
        seen["execution"] == "running"
    });
    eprintln!("TIME {}: {} ms from launch to running, deaths {deaths:?}", tenant.name, begun.elapsed().as_millis());
    let guest = &running["observed"]["guest"];
    assert_eq!((&guest["lease_state"], &guest["accelerator"]), (&"leased".into(), &"tcg".into()), "{running}");
    assert_eq!(guest["expected_ip"], guest["actual_ip"]);
    Guest { ip: guest["actual_ip"].as_str().unwrap().to_owned(), id }
}

/// The program that writes the disk is held in the middle of it; then the agent dies, and the program with it.
fn dies_while_cloning(stage: &mut Stage<'_>, id: &str) {
    let pid = hostbox::until("the disk is written", || process("qemu-img\0convert"));
    stage.world.inside(&["kill", "-STOP", &pid]);
    until_step(stage, id, "clone");
    let seen = stage.json(&["allocation", "timeline", id]);
    assert!(!items(&seen).iter().any(|entry| entry["step"] == "seed"), "the disk was written already: {seen}");
    stage.agent_dies();
    hostbox::until("nobody writes the disk for an order that nobody follows", || {
        hostbox::has_ended(&pid).then_some(())
    });
}

/// The process in the box whose command line has these words.
fn process(words: &str) -> Option<String> {
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    all.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).find(|pid| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(words))
    })
}

fn until_step(stage: &Stage<'_>, id: &str, step: &str) {
    let begun = Instant::now();
    loop {
        let page = stage.json(&["allocation", "timeline", id]);
        let entries = items(&page);
        if entries.iter().any(|entry| entry["step"] == step) {
            return;
        }
        let failed = entries.iter().find(|entry| entry["state"] == "failed");
        assert!(failed.is_none(), "{step} never came: {failed:?}\n{}", stage.logs());
        assert!(begun.elapsed() < PATIENCE, "{step} never came: {page}\n{}", stage.logs());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs a command in a guest, through the gateway.
fn ssh(stage: &Stage<'_>, tenant: &Tenant, guest: &Guest, words: &str) -> Output {
    let mut command = common::gpuaas(&stage.home());
    command.env("GPUAAS_URL", &stage.plane.url).env("GPUAAS_TOKEN", &tenant.token);
    command.args([
        "ssh",
        &guest.id,
        "--",
        "-q",
        "-o",
        "BatchMode=yes",
        "-o",
        "IdentitiesOnly=yes",
        "-o",
        "ConnectTimeout=60",
    ]);
    command.arg("-i").arg(&tenant.key).arg(words).output().unwrap()
}

fn said(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{} {}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The guest has its name, its card, its address, its disk; and its key opens it and no other does.
fn is_as_ordered(stage: &Stage<'_>, tenant: &Tenant, guest: &Guest) {
    assert_eq!(said(&ssh(stage, tenant, guest, "hostname")), tenant.name);
    let shown = stage.json(&["allocation", "show", &guest.id]);
    let mac = shown["observed"]["guest"]["mac"].as_str().unwrap();
    assert_eq!(said(&ssh(stage, tenant, guest, "cat /sys/class/net/e*/address")), mac);
    assert!(said(&ssh(stage, tenant, guest, "ip -4 addr")).contains(&guest.ip));
    let sectors: u64 = said(&ssh(stage, tenant, guest, "cat /sys/block/vda/size")).parse().unwrap();
    assert_eq!(sectors * 512, stage::DISK_BYTES);
}

/// Neither sees the other's guest: not by TCP, not by the API, not with its key.
fn apart(stage: &Stage<'_>, (ada, first): (&Tenant, &Guest), (bob, second): (&Tenant, &Guest)) {
    for (tenant, own, other) in [(ada, first, second), (bob, second, first)] {
        // The same knock at its own door is answered.
        let answered = said(&ssh(stage, tenant, own, &format!("echo | nc -w 3 {} 22", own.ip)));
        assert!(answered.starts_with("SSH-2.0-"), "{answered}");
        let knock = ssh(stage, tenant, own, &format!("nc -w 3 {} 22 </dev/null", other.ip));
        assert!(!knock.status.success() && knock.stdout.is_empty(), "{knock:?}");
        let foreign = stage.run_as(&tenant.token, &["allocation", "show", &other.id, "-o", "json"]);
        assert_eq!(foreign.code, 3, "{}", foreign.stderr);
        let through = ssh(stage, tenant, other, "hostname");
        assert!(!through.status.success() && through.stdout.is_empty(), "{through:?}");
    }
}

/// The serial console shows what the guest says there, and what was shown is kept.
fn console(stage: &Stage<'_>, tenant: &Tenant, guest: &Guest) {
    let mut command = common::gpuaas(&stage.home());
    command.env("GPUAAS_URL", &stage.plane.url).env("GPUAAS_TOKEN", &tenant.token).args(["console", &guest.id]);
    let mut child = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    stdin.write_all(b"\necho marker-$((40 + 2))\n").unwrap();
    let (mut seen, mut piece) = (String::new(), [0; 4096]);
    while !seen.contains("marker-42") {
        let count = stdout.read(&mut piece).unwrap();
        assert!(count > 0, "the console closed: {seen}");
        seen += &String::from_utf8_lossy(&piece[..count]);
    }
    drop((stdin, stdout));
    let _ = child.kill();
    let _ = child.wait();
    let ended = stage.until("the console is closed", &["allocation", "streams", &guest.id], |streams| {
        items(streams).iter().any(|stream| stream["kind"] == "console" && stream["recording"]["sha256"].is_string())
    });
    let stream = items(&ended).into_iter().find(|stream| stream["kind"] == "console").unwrap();
    let path = format!("/api/v1/streams/{}/recording", stream["id"].as_str().unwrap());
    let kept = stage.run_as(&tenant.token, &["api", "get", &path]);
    assert_eq!(kept.code, 0, "{}", kept.stderr);
    assert!(kept.stdout.contains("marker-42"), "{}", kept.stdout);
}

/// Root process, agent and hypervisor die; the guest does not notice.
fn everything_dies(stage: &mut Stage<'_>, tenant: &Tenant, guest: &Guest) {
    let before = said(&ssh(stage, tenant, guest, "cat /proc/sys/kernel/random/boot_id"));
    let newest = ["node", "reconcile", "lab-1", "--show"];
    let older = stage.until("the host was compared when its agent came back", &newest, |seen| seen["at"].is_string());
    stage.hostd_kill();
    stage.libvirt_dies();
    stage.hostd_again();
    stage.agent_dies();
    let compared = stage.until("it is compared again by itself", &newest, |seen| seen["at"] != older["at"]);
    assert_eq!(compared["report"]["findings"], serde_json::json!([]), "{compared}");
    let guests = items(&compared["report"]["guests"]);
    assert_eq!(guests.len(), 2, "{compared}");
    assert!(guests.iter().all(|guest| guest["running"] == true), "{compared}");
    assert_eq!(said(&ssh(stage, tenant, guest, "cat /proc/sys/kernel/random/boot_id")), before, "it was started anew");
}

/// The tenant writes a secret to its disk, far behind the image.
fn plant(stage: &Stage<'_>, tenant: &Tenant, guest: &Guest) {
    let words = format!("echo {SECRET} | dd of=/dev/vda bs=1 seek=150000000 conv=notrunc 2>/dev/null && sync");
    said(&ssh(stage, tenant, guest, &words));
    let slot = slot_of(stage, guest);
    assert!(disk_holds(&device_of(stage, &slot), SECRET), "the secret never reached the disk");
}

fn slot_of(stage: &Stage<'_>, guest: &Guest) -> Value {
    let slots = items(&stage.json(&["slot", "list", "lab-1"]));
    slots
        .iter()
        .find(|slot| slot["private_ip"] == *guest.ip)
        .cloned()
        .unwrap_or_else(|| panic!("nobody holds {}: {slots:?}", guest.id))
}

fn device_of(stage: &Stage<'_>, slot: &Value) -> std::path::PathBuf {
    let identity = slot["nvme_identity"].as_str().unwrap();
    stage.disks.iter().find(|(known, _)| known == identity).unwrap().1.clone()
}

fn disk_holds(device: &Path, text: &str) -> bool {
    let mut file = fs::File::open(device).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Gives it back; the agent dies when the wipe begins.
fn release_with_death(stage: &mut Stage<'_>, tenant: &Tenant, guest: &Guest, step: &str) {
    stage.json_as(&tenant.token, &["release", &guest.id, "--yes", "--no-wait"]);
    until_step(stage, &guest.id, step);
    stage.agent_dies();
    let slot = stage.json(&["slot", "show", slot_of(stage, guest)["id"].as_str().unwrap()]);
    assert_ne!(slot["execution"], "available", "it was wiped before the agent died: {slot}");
    stage.until("it is given back", &["allocation", "show", &guest.id], |seen| seen["execution"] == "released");
}

fn is_clean(stage: &Stage<'_>, slot: &Value) {
    let id = slot["id"].as_str().unwrap();
    stage.until("the slot can be had again", &["slot", "show", id], |seen| seen["execution"] == "available");
    let mut disk = fs::File::open(device_of(stage, slot)).unwrap();
    let (mut bytes, mut at) = (vec![0; 1 << 20], 0);
    disk.seek(SeekFrom::Start(0)).unwrap();
    loop {
        let count = disk.read(&mut bytes).unwrap();
        if count == 0 {
            break;
        }
        assert!(bytes[..count].iter().all(|byte| *byte == 0), "something is left near byte {at}");
        at += count;
    }
}

/// The proof can be read, exported and checked without the control plane.
fn proof_holds(stage: &Stage<'_>, slot: &Value) {
    let id = slot["id"].as_str().unwrap();
    let file = stage.world.path("proof.json").display().to_string();
    let shown = stage.run_as(&stage.operator, &["proof", "show", id, "--save", &file]);
    assert_eq!(shown.code, 0, "{} {}", shown.stdout, shown.stderr);
    let verified = common::offline(&["proof", "verify", &file, "--trust-the-file"]);
    assert_eq!(verified.code, 0, "{} {}", verified.stdout, verified.stderr);
    let text = fs::read_to_string(&file).unwrap();
    let forged = text.replacen("loop:", "loop:/forged", 1);
    assert_ne!(text, forged);
    fs::write(&file, forged).unwrap();
    assert_ne!(common::offline(&["proof", "verify", &file, "--trust-the-file"]).code, 0);
}

fn still_there(stage: &Stage<'_>, tenant: &Tenant, guest: &Guest) {
    assert_eq!(said(&ssh(stage, tenant, guest, "hostname")), tenant.name);
}

/// The disk cannot be written while it is wiped: no proof, no sale.
fn a_wipe_that_fails(stage: &mut Stage<'_>, tenant: &Tenant, guest: &Guest) {
    let slot = slot_of(stage, guest);
    let id = slot["id"].as_str().unwrap().to_owned();
    stage.medium_is_full();
    stage.json_as(&tenant.token, &["release", &guest.id, "--yes", "--no-wait"]);
    let blocked =
        stage.until("the slot is blocked", &["slot", "show", &id], |seen| seen["execution"] == "cleanup_blocked");
    let why = blocked["health_detail"].as_str().unwrap();
    assert!(why.contains("disk_erased failed") && why.contains("the disk failed"), "{why}");
    let listed = items(&stage.json(&["slot", "list", "lab-1"]));
    assert!(listed.iter().filter(|slot| slot["execution"] == "available").count() == SLOTS - 1, "{listed:?}");
}

/// Of guests that are gone nothing is left on the host.
fn nothing_left(stage: &Stage<'_>) {
    let domains = stage.world.inside(&["virsh", "-c", "qemu:///system", "list", "--all", "--name"]);
    assert_eq!(domains.trim(), "", "machines are left");
    let ports = stage.world.inside(&["ovs-vsctl", "list-ports", "br-gpu"]);
    assert!(!ports.lines().any(|port| port.starts_with("gp")), "ports are left: {ports}");
    for folder in ["seeds", "consoles"] {
        let left: Vec<_> =
            fs::read_dir(stage.world.path("state").join(folder)).into_iter().flatten().flatten().collect();
        assert!(left.is_empty(), "{folder}: {left:?}");
    }
    assert_eq!(process("qemu-system"), None, "a machine runs on");
}
