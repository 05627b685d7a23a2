//! A full Debian through the root process: a real cloud-init reads what the platform says and what the tenant brought, and
//! nothing that a tenant writes leaves its field.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod world;

use hostbox::{MIB, debian_image, image_with};
use hostd::{ClientFault, Waiting};
use model::{
    guest::GuestSpec,
    image::{ImageFormat, ImageSpec},
    proof::WipeStep,
    runtime::{GuestLeaseState, GuestSeen},
    task::{TaskFailure, TaskSlot},
};
use std::{collections::BTreeSet, fs::File, path::Path, time::Instant};
use world::{World, allocation, guest, slot, world_with};

const NAME: &str = "a_full_guest_is_what_its_seed_and_its_tenant_say";

// As much as a comment may hold: quotes, both kinds of brackets, what a shell, a template, YAML and JSON would act on.
const COMMENT: &str = r##"# ' " \ `touch /run/broke-out` $(touch /run/broke-out) ${x} {{ y }} %z "}], "runcmd": [["reboot"]] #cloud-config *a &a <<: !!x --- \n"##;

// Written by a tenant: some of it his to say, some of it the platform's.
const TENANT: &str = r##"#cloud-config
hostname: stolen
preserve_hostname: true
users:
  - name: mallory
    sudo: "ALL=(ALL) NOPASSWD:ALL"
ssh_keys: {}
ssh_deletekeys: false
disable_root: false
write_files:
  - path: /etc/tenant.conf
    permissions: "0640"
    content: "key: 'value'\n\"}] # $(touch /run/broke-out)\n"
runcmd:
  - [sh, -c, 'echo "$(cat /etc/hostname) $(id -un)" > /var/lib/tenant-ran']
"##;

fn debian(world: &World) -> ImageSpec {
    let file = debian_image();
    let said = world.inside(&["qemu-img", "info", "--output=json", file.to_str().unwrap()]);
    let info: serde_json::Value = serde_json::from_str(&said).unwrap();
    image_with("debian", &file, ImageFormat::Qcow2, info["virtual-size"].as_u64().unwrap())
}

// The tenant's key with a comment of his choice.
fn key_with(world: &World, comment: &str) -> String {
    let key = world.user_key();
    let words: Vec<&str> = key.split(' ').take(2).collect();
    format!("{} {comment}", words.join(" "))
}

fn provision(world: &World, slot: &TaskSlot, spec: &GuestSpec) -> Result<GuestSeen, ClientFault> {
    world.client().provision(&allocation(1), std::slice::from_ref(slot), spec, Waiting::quietly())
}

fn told_by_guest(world: &World, seen: &GuestSeen, words: &str) -> String {
    let done = world.ssh(&seen.expected_ip, &seen.host_key, words);
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{words}: {out} {err}");
    out.trim_end().to_owned()
}

// Names and keys that are none end the order before anything is made.
fn hostile_words_are_refused(world: &World, slot: &TaskSlot, spec: &GuestSpec) {
    let key = key_with(world, "ada");
    let wrong = [
        GuestSpec { host_name: "a\nruncmd: [reboot]".into(), ..spec.clone() },
        GuestSpec { host_name: "$(reboot)".into(), ..spec.clone() },
        GuestSpec { host_name: "x\", \"users\": []".into(), ..spec.clone() },
        GuestSpec { user_name: "root".into(), ..spec.clone() },
        GuestSpec { ssh_keys: vec![format!("command=\"reboot\" {key}")], ..spec.clone() },
        GuestSpec { ssh_keys: vec![format!("{key}\nssh-ed25519 AAAA mallory")], ..spec.clone() },
    ];
    for spec in wrong {
        match provision(world, slot, &spec) {
            Err(ClientFault::Refused { failure: Some(TaskFailure::ProvisionFailed), detail, .. }) => {
                assert!(detail.starts_with("seed: "), "{detail}");
            }
            other => panic!("{spec:?}: {other:?}"),
        }
    }
    assert_eq!(world.client().guests().unwrap(), [], "nothing was made");
}

fn the_platforms_words_hold(world: &World, seen: &GuestSeen, keys: &[String]) {
    let told = |words: &str| told_by_guest(world, seen, words);
    assert_eq!(told("cloud-init status --wait; cloud-init status").lines().last(), Some("status: done"));
    assert_eq!(told("hostname; cat /etc/hostname"), "trainer-1\ntrainer-1");
    assert_eq!(told("id -un; sudo -n id -un"), "gpuaas\nroot");
    // cloud-init keeps them in no order.
    let lines: BTreeSet<String> = told("cat ~/.ssh/authorized_keys").lines().map(str::to_owned).collect();
    assert_eq!(lines, keys.iter().cloned().collect());
    // The host key is the platform's, and the only one.
    assert_eq!(told("ls /etc/ssh/ssh_host_*_key.pub"), "/etc/ssh/ssh_host_ed25519_key.pub");
    let shown = told("sudo cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub");
    assert_eq!(shown, seen.host_key.split(' ').take(2).collect::<Vec<_>>().join(" "));
    let address = told("ip -4 -o addr show dev eth0");
    assert!(address.contains("inet 10.77.0.7/24") && address.contains("dynamic"), "{address}");
    assert_eq!(told("cat /sys/class/net/eth0/address"), seen.mac);
    assert_eq!(told("getent passwd mallory || true"), "");
    assert_eq!(told("ls /run/broke-out 2>/dev/null || true"), "");
    assert_eq!(told("sudo grep -c '^gpuaas:!' /etc/shadow"), "1", "no password opens it");
}

fn the_tenants_words_are_added(world: &World, seen: &GuestSeen) {
    let told = |words: &str| told_by_guest(world, seen, words);
    assert_eq!(told("sudo cat /etc/tenant.conf"), "key: 'value'\n\"}] # $(touch /run/broke-out)");
    assert_eq!(told("sudo stat -c %a /etc/tenant.conf"), "640");
    assert_eq!(told("cat /var/lib/tenant-ran"), "trainer-1 root");
}

fn taken_away(world: &World, slot: &TaskSlot, device: &Path) {
    let slots = std::slice::from_ref(slot);
    world.client().stop(&allocation(1), slots, None, Waiting::quietly()).unwrap();
    for step in [WipeStep::GuestGone, WipeStep::DiskErased, WipeStep::DiskReadBack] {
        world.client().wipe(&allocation(1), slot, step, Waiting::quietly()).unwrap();
    }
    assert!(!world.disk_holds(device, "tenant.conf"));
    assert_eq!(world.client().guests().unwrap(), []);
}

#[test]
fn a_full_guest_is_what_its_seed_and_its_tenant_say() {
    let Some(mut world) = world_with(NAME, &[debian_image()]) else { return };
    world.config_write(&[("lease_s = 120, ssh_s = 180", "lease_s = 300, ssh_s = 400"), ("acpi_s = 20", "acpi_s = 60")]);
    world.daemon_start();
    let image = debian(&world);
    let (identity, device) = world.disk("disk7.img", image.virtual_size_bytes + 64 * MIB);
    let mut slot = slot(7, &identity);
    let share = &mut slot.bundle.as_mut().unwrap().share;
    (share.vcpus, share.memory_mib) = (2, 768);
    world.client().image_admit(&image, &mut File::open(debian_image()).unwrap()).unwrap();
    let keys = vec![key_with(&world, COMMENT), key_with(&world, "the same key, another word")];
    let spec =
        GuestSpec { ssh_keys: keys.clone(), user_data: Some(TENANT.to_owned()), image, ..guest(&world, "trainer-1") };
    hostile_words_are_refused(&world, &slot, &spec);
    let begun = Instant::now();
    let seen = provision(&world, &slot, &spec).unwrap();
    eprintln!("TIME guest built: {} ms", begun.elapsed().as_millis());
    assert_eq!((seen.lease_state, seen.actual_ip.as_deref()), (GuestLeaseState::Leased, Some("10.77.0.7")));
    the_platforms_words_hold(&world, &seen, &keys);
    the_tenants_words_are_added(&world, &seen);
    taken_away(&world, &slot, &device);
}
