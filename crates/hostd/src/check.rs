//! What this host lacks, in plain words: for `gpuaas-hostd check`, and for whoever asks the process whether it is ready.

use crate::{
    config::{Config, FirmwareChoice},
    devices,
    protocol::Ready,
    ready::accelerator,
};
use command::Program;
use guest::{
    domain::Accelerator,
    machine::{Machines, Virsh},
    seed::IsoWriter,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

/// A program that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needed {
    /// What it is called.
    pub name: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// The package of Debian and Ubuntu that brings it.
    pub package: &'static str,
    // How it says what it is.
    ask: &'static str,
}

/// The programs that are needed on a host with these settings.
pub fn programs(config: &Config) -> Vec<Needed> {
    let (disk, network) = (disk::Tools::default(), &config.network.tools);
    let needed = |name, path: &Path, package, ask| Needed { name, path: path.to_owned(), package, ask };
    let mut all = vec![
        needed("qemu", &config.emulator, "qemu-system-x86", "--version"),
        needed("qemu-img", &disk.qemu_img, "qemu-utils", "--version"),
        needed("setpriv", &disk.setpriv, "util-linux", "--version"),
        needed("prlimit", &disk.prlimit, "util-linux", "--version"),
        needed("virsh", &Virsh::default().program, "libvirt-clients", "--version"),
        needed("genisoimage", &IsoWriter::default().genisoimage, "genisoimage", "--version"),
        needed("ovs-vsctl", &network.ovs_vsctl, "openvswitch-switch", "--version"),
        needed("ovs-ofctl", &network.ovs_ofctl, "openvswitch-switch", "--version"),
        needed("nft", &network.nft, "nftables", "--version"),
        needed("dnsmasq", &network.dnsmasq, "dnsmasq-base", "--version"),
        needed("ip", &network.ip, "iproute2", "-V"),
        needed("ethtool", &network.ethtool, "ethtool", "--version"),
        needed("conntrack", &network.conntrack, "conntrack", "--version"),
    ];
    // A laboratory's disks are loop devices; all others are wiped with it, and no slot comes back without.
    if !config.lab {
        all.push(needed("nvme", &disk.nvme, "nvme-cli", "version"));
    }
    all
}

/// What the process can do here, and what is missing.
pub fn ready(config: &Config) -> Ready {
    let (mut tools, mut missing) = (BTreeMap::new(), vec![]);
    for Needed { name, path, ask, .. } in programs(config) {
        match Program::at(&path).arg(ask).within(Duration::from_secs(20)).run() {
            Ok(said) => {
                let all = format!("{}{}", said.out, said.err);
                tools.insert(name.to_owned(), all.lines().next().unwrap_or_default().chars().take(120).collect());
            }
            Err(fault) => missing.push(format!("{name} is needed at {}: {fault}", path.display())),
        }
    }
    files(config, &mut missing);
    services(config, &mut missing);
    missing.extend(devices::of_host(config.devices.as_ref()).missing());
    if config.devices.is_none() && !config.lab {
        missing.push("devices is not set, so no slot with a GPU can be used".to_owned());
    }
    Ready {
        accelerator: accelerator(config.accelerator).to_owned(),
        lab: config.lab,
        hardware_serial: serial(),
        tools,
        missing,
    }
}

fn serial() -> Option<String> {
    let text = std::fs::read_to_string("/sys/class/dmi/id/product_serial").ok()?;
    Some(text.trim().to_owned()).filter(|serial| !serial.is_empty())
}

fn files(config: &Config, missing: &mut Vec<String>) {
    if !rustix::process::geteuid().is_root() {
        missing.push("the process must run as root".to_owned());
    }
    let mut needed: Vec<(&str, &Path)> = vec![];
    if config.accelerator == Accelerator::Kvm {
        needed.push(("accelerator is kvm", Path::new("/dev/kvm")));
    }
    if let FirmwareChoice::Uefi { code, vars_template } = &config.firmware {
        needed.extend([("firmware.code", code.as_path()), ("firmware.vars_template", vars_template.as_path())]);
    }
    for (why, path) in needed.into_iter().filter(|(_, path)| !path.exists()) {
        missing.push(format!("{} is not there ({why})", path.display()));
    }
    if config.images.trusted_keys.is_empty() {
        missing.push("images.trusted_keys names no key, so no image can be used".to_owned());
    }
    for fault in [config.agent_uid().err(), config.emulator_ids().err()].into_iter().flatten() {
        missing.push(fault.to_string());
    }
}

fn services(config: &Config, missing: &mut Vec<String>) {
    let virsh = Virsh { uri: config.libvirt_uri.clone(), answer_s_max: 20, ..Virsh::default() };
    if let Err(fault) = virsh.list() {
        missing.push(fault.to_string());
    }
    match network::see(&config.network) {
        // It is made when the process starts.
        Ok(_) | Err(network::Fault::BridgeMissing { .. }) => {}
        Err(fault) => missing.push(fault.to_string()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::tests::GOOD;

    #[test]
    fn everything_that_is_missing_is_named() {
        let mut config = Config::parse(GOOD).unwrap();
        config.emulator = "/nonexistent/qemu".into();
        config.network.tools.nft = "/nonexistent/nft".into();
        config.firmware = FirmwareChoice::Uefi { code: "/nonexistent/code".into(), vars_template: "/dev/null".into() };
        config.images.trusted_keys.clear();
        config.agent_user = "nobody-of-that-name".into();
        config.libvirt_uri = "qemu+unix:///system?socket=/nonexistent/sock".into();
        let ready = ready(&config);
        let all = ready.missing.join("\n");
        for what in
            ["qemu is needed", "nft is needed", "/nonexistent/code is not there", "no image", "agent_user must be"]
        {
            assert!(all.contains(what), "{what} is not in {all}");
        }
        assert!(!all.contains("/dev/null"));
        assert_eq!((ready.accelerator.as_str(), ready.lab), ("tcg", true));
    }
}
