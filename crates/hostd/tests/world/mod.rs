//! A host in a box with the root process running in it, asked as the agent asks it.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stderr)]

use hostbox::{MIB, Running, image, until};
use hostd::Client;
use model::{
    AllocationId, SlotId, Timestamp,
    guest::{GuestSpec, LOGIN_USER, SlotBundle, SlotShare},
    task::TaskSlot,
};
use std::{fs, ops::Deref, path::PathBuf, process::Command};

pub const NONCE: &str = "0123456789abcdef-nonce";

/// The box, and the root process in it.
pub struct World {
    host: hostbox::World,
    daemon: Option<Running>,
}

/// The world, for the test that runs in it.
pub fn world(test: &str) -> Option<World> {
    hostbox::world(test).map(|host| World { host, daemon: None })
}

/// The world, for a test that needs more than the small image.
pub fn world_with(test: &str, files: &[PathBuf]) -> Option<World> {
    let host = hostbox::world_for(test, &[test, "--exact", "--nocapture"], files);
    host.map(|host| World { host, daemon: None })
}

impl Deref for World {
    type Target = hostbox::World;
    fn deref(&self) -> &Self::Target {
        &self.host
    }
}

impl World {
    /// Writes the settings, with some words replaced.
    pub fn config_write(&self, changes: &[(&str, &str)]) {
        self.hostd_config(changes);
    }

    pub fn client(&self) -> Client {
        Client::new(self.socket())
    }

    /// Starts the root process and waits until it answers.
    pub fn daemon_start(&mut self) {
        let mut start = Command::new(env!("CARGO_BIN_EXE_gpuaas-hostd"));
        start.args(["run", "--lab", "--config"]).arg(self.path("hostd.toml"));
        self.daemon = Some(self.start("hostd", &mut start));
        until("the root process answers", || {
            assert!(self.daemon.as_mut().unwrap().runs(), "it ended at once");
            self.client().guests().ok()
        });
    }

    /// Sends the root process a signal, at once and from any thread.
    pub fn daemon_signal(&self, signal: &str) {
        self.daemon.as_ref().unwrap().signal(signal);
    }

    /// Waits until the root process has ended; its exit status.
    pub fn daemon_ended(&mut self) -> Option<i32> {
        self.daemon.take().unwrap().ended()
    }

    /// Ends the root process and starts it again with other settings.
    pub fn daemon_restart(&mut self, changes: &[(&str, &str)]) {
        self.daemon_signal("-TERM");
        assert_eq!(self.daemon_ended(), Some(0));
        self.config_write(changes);
        self.daemon_start();
    }

    /// Ends libvirt as a crash does; guests run on.
    pub fn libvirt_kill(&self) {
        self.inside(&["pkill", "-KILL", "libvirtd"]);
        until("libvirt is gone", || (!self.try_inside(&["pgrep", "libvirtd"]).status.success()).then_some(()));
    }

    /// Starts libvirt again and waits until it answers.
    pub fn libvirt_start(&self) -> Running {
        let mut start = Command::new("libvirtd");
        start.args(["--config", "/etc/libvirt/libvirtd.conf", "--pid-file"]).arg(self.path("libvirtd.pid"));
        let libvirt = self.start("libvirtd", &mut start);
        until("libvirt answers", || self.try_inside(&["virsh", "list"]).status.success().then_some(()));
        libvirt
    }

    /// The processes that run guests.
    pub fn qemus(&self) -> Vec<String> {
        let said = self.try_inside(&["pgrep", "-f", "qemu-system-x86_64.*-uuid"]);
        String::from_utf8(said.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// That nothing of any guest is on the host: no machine, process, port, flow, address, lease, seed, console or record.
    pub fn nothing_left(&self) {
        assert_eq!(self.client().guests().unwrap(), []);
        assert_eq!(self.qemus(), Vec::<String>::new());
        assert_eq!(self.inside(&["virsh", "list", "--all", "--name"]).trim(), "");
        self.nothing_on_the_network();
        for folder in [
            "state/guests",
            "state/leases",
            "state/seeds",
            "state/vars",
            "state/consoles",
            "state/dhcp/hosts",
            "r/console",
        ] {
            // What was never needed was never made.
            let Ok(listed) = fs::read_dir(self.path(folder)) else { continue };
            let left: Vec<_> = listed.map(|entry| entry.unwrap().path()).collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }

    fn nothing_on_the_network(&self) {
        let links = self.inside(&["ip", "-o", "link"]);
        assert!(!links.contains(": gp"), "{links}");
        if self.try_inside(&["ovs-vsctl", "br-exists", "br-gpu"]).status.success() {
            assert_eq!(self.inside(&["ovs-vsctl", "list-ports", "br-gpu"]).trim(), "");
            let bridge = "unix:/run/openvswitch/br-gpu.mgmt";
            let flows = self.inside(&["ovs-ofctl", "-O", "OpenFlow14", "dump-flows", bridge]);
            assert!(!flows.contains("10.77.0.7") && !flows.contains("10.77.0.8"), "{flows}");
            assert!(!flows.contains("in_port=gp"), "{flows}");
        }
        let filter = self.try_inside(&["nft", "list", "table", "inet", "gpuaas"]);
        let filter = String::from_utf8_lossy(&filter.stdout).into_owned();
        assert!(!filter.contains("10.77.0.7") && !filter.contains("10.77.0.8"), "{filter}");
        let leases = fs::read_to_string(self.path("state/dhcp/leases")).unwrap_or_default();
        assert_eq!(leases.trim(), "");
    }
}

pub fn allocation(number: u8) -> AllocationId {
    AllocationId::from_parts(Timestamp::from_micros(1_000_000), [number; 10])
}

pub fn slot(number: u8, disk_identity: &str) -> TaskSlot {
    let bundle = SlotBundle {
        profile: "lab-vm".into(),
        gpu: None,
        gpu_module_id: None,
        fabric: None,
        disk_identity: disk_identity.to_owned(),
        mac: format!("02:00:00:00:01:{number:02x}"),
        ip: [10, 77, 0, number].into(),
        numa_node: 0,
        share: SlotShare { vcpus: 1, memory_mib: 192, hugepage_kib: None, disk_bytes_min: 64 * MIB },
    };
    TaskSlot {
        slot_id: SlotId::from_parts(Timestamp::from_micros(1_000_000), [number; 10]),
        use_generation: 3,
        nonce: Some(NONCE.into()),
        bundle: Some(Box::new(bundle)),
    }
}

pub fn guest(world: &World, name: &str) -> GuestSpec {
    GuestSpec {
        host_name: name.into(),
        user_name: LOGIN_USER.into(),
        ssh_keys: vec![world.user_key()],
        user_data: None,
        image: image(),
        partition: vec![],
    }
}
