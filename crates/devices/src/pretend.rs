//! A kernel for tests: the files that this room uses, with what the kernel does when they are written. Mischief makes it fail in
//! the ways in which real hosts do. Every write is kept, so that a test can say in which order things happened.
#![allow(clippy::unwrap_used, missing_docs, reason = "it is part of tests, and its names say what they are")]

use crate::{
    pci::{PciAddress, VFIO},
    sysfs::{Node, SysFs},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, ErrorKind},
    sync::{Arc, Mutex},
};

pub fn at(text: &str) -> PciAddress {
    text.parse().unwrap()
}

#[derive(Debug, Clone)]
pub struct Device {
    pub vendor: u16,
    pub device: u16,
    pub class: u32,
    pub driver: Option<String>,
    /// The driver that takes it when nobody says otherwise.
    pub natural: Option<String>,
    pub only: Option<String>,
    pub group: Option<u32>,
    pub physfn: Option<PciAddress>,
    pub total_vfs: Option<u32>,
    pub offered: Vec<&'static str>,
    pub chosen: Vec<String>,
    pub dead: bool,
    pub serial: Option<u64>,
    pub resets: Vec<String>,
    pub texts: BTreeMap<String, String>,
}

impl Device {
    pub fn new(vendor: u16, device: u16, class: u32, driver: &str, group: u32) -> Self {
        let driver = Some(driver.to_owned()).filter(|name| !name.is_empty());
        Self {
            vendor,
            device,
            class,
            natural: driver.clone(),
            driver,
            only: None,
            group: Some(group),
            physfn: None,
            total_vfs: None,
            offered: vec!["flr", "bus"],
            chosen: vec!["flr".into(), "bus".into()],
            dead: false,
            serial: Some(0x0011_2233_4455_6677),
            resets: vec![],
            texts: BTreeMap::new(),
        }
    }

    pub fn h200(driver: &str, group: u32) -> Self {
        Self::new(0x10de, 0x2335, 0x03_0200, driver, group)
    }

    pub fn on_vfio(mut self) -> Self {
        self.driver = Some(VFIO.to_owned());
        self.only = Some(VFIO.to_owned());
        self
    }

    fn config(&self) -> Vec<u8> {
        if self.dead {
            return vec![0xff; 4096];
        }
        let mut config = vec![0; 4096];
        let own = [self.vendor.to_le_bytes(), self.device.to_le_bytes()].concat();
        // A virtual function has ones there.
        config[..4].copy_from_slice(if self.physfn.is_some() { &[0xff; 4] } else { &own });
        if let Some(serial) = self.serial {
            config[0x100..0x104].copy_from_slice(&(0x0001_u32 | 1 << 16 | 0x150 << 20).to_le_bytes());
            config[0x150..0x154].copy_from_slice(&(0x0003_u32 | 1 << 16).to_le_bytes());
            config[0x154..0x15c].copy_from_slice(&serial.to_le_bytes());
        }
        config
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mischief {
    /// A write to a path that ends so fails.
    WriteFails(&'static str, ErrorKind),
    /// No driver takes the function.
    NobodyProbes(PciAddress),
    /// A reset by this method succeeds, and the function is gone.
    DiesBy(PciAddress, &'static str),
    /// A reset by this method fails.
    FailsBy(PciAddress, &'static str),
    /// The function is not found again.
    StaysAway(PciAddress),
    /// What is found again answers.
    RescanHeals(PciAddress),
    /// Another device is found at the place.
    RescanSwaps(PciAddress, u64),
    /// The node of the group is not made.
    NoNode(u32),
    /// The kernel makes one virtual function fewer than asked.
    OneFewer,
    /// The write after this many good ones fails, and all others work.
    WriteFailsOnce(usize),
}

#[derive(Debug, Default)]
struct State {
    devices: BTreeMap<PciAddress, Device>,
    removed: BTreeMap<PciAddress, Device>,
    drivers: BTreeSet<String>,
    held: BTreeSet<u32>,
    mischief: Vec<Mischief>,
    writes: usize,
}

#[derive(Debug, Clone)]
pub struct Kernel {
    state: Arc<Mutex<State>>,
    /// What was written, and what else the test puts there.
    pub log: Arc<Mutex<Vec<String>>>,
}

impl Kernel {
    pub fn new(devices: impl IntoIterator<Item = (&'static str, Device)>) -> Self {
        let devices: BTreeMap<_, _> = devices.into_iter().map(|(address, device)| (at(address), device)).collect();
        let mut drivers: BTreeSet<String> = devices.values().filter_map(|device| device.natural.clone()).collect();
        drivers.insert(VFIO.to_owned());
        let state = State { devices, drivers, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)), log: Arc::default() }
    }

    pub fn with(self, mischief: Mischief) -> Self {
        self.state.lock().unwrap().mischief.push(mischief);
        self
    }

    /// How many writes there were since somebody asked.
    pub fn writes(&self) -> usize {
        std::mem::take(&mut self.state.lock().unwrap().writes)
    }

    pub fn behaves(&self) {
        self.state.lock().unwrap().mischief.clear();
    }

    pub fn without_driver(self, name: &str) -> Self {
        self.state.lock().unwrap().drivers.remove(name);
        self
    }

    pub fn hold(&self, group: u32) {
        self.state.lock().unwrap().held.insert(group);
    }

    pub fn device(&self, address: &str) -> Device {
        self.state.lock().unwrap().devices[&at(address)].clone()
    }

    pub fn change(&self, address: &str, change: impl FnOnce(&mut Device)) {
        change(self.state.lock().unwrap().devices.get_mut(&at(address)).unwrap());
    }

    pub fn log(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }
}

fn none<T>() -> io::Result<T> {
    Err(ErrorKind::NotFound.into())
}

fn line(text: impl ToString) -> io::Result<Vec<u8>> {
    Ok(format!("{}\n", text.to_string()).into_bytes())
}

impl State {
    fn place<'a>(&self, path: &'a str) -> io::Result<(PciAddress, &'a str)> {
        let rest = path.strip_prefix("bus/pci/devices/").ok_or(ErrorKind::NotFound)?;
        let (address, file) = rest.split_once('/').unwrap_or((rest, ""));
        let address = address.parse().map_err(|_| ErrorKind::NotFound)?;
        if self.devices.contains_key(&address) { Ok((address, file)) } else { none() }
    }

    fn has(&self, mischief: &Mischief) -> bool {
        self.mischief.contains(mischief)
    }

    fn vfs(&self, physfn: PciAddress) -> Vec<PciAddress> {
        self.devices.iter().filter(|(_, device)| device.physfn == Some(physfn)).map(|(address, _)| *address).collect()
    }

    fn probe(&mut self, address: PciAddress) -> io::Result<()> {
        let deaf = self.has(&Mischief::NobodyProbes(address));
        let device = self.devices.get_mut(&address).ok_or(ErrorKind::NotFound)?;
        let wanted = device.only.clone().or(device.natural.clone());
        if device.driver.is_none() && !deaf {
            device.driver = wanted.filter(|name| self.drivers.contains(name));
        }
        Ok(())
    }

    fn reset(&mut self, address: PciAddress) -> io::Result<()> {
        let method = self.devices[&address].chosen.first().cloned().ok_or(ErrorKind::Unsupported)?;
        let by = |kind: fn(PciAddress, &'static str) -> Mischief| {
            let names = ["flr", "bus"].into_iter().find(|name| *name == method);
            names.is_some_and(|name| self.has(&kind(address, name)))
        };
        if by(Mischief::FailsBy) {
            return Err(ErrorKind::TimedOut.into());
        }
        let dies = by(Mischief::DiesBy);
        let device = self.devices.get_mut(&address).unwrap();
        // A device that does not answer cannot be made to by its own reset.
        if device.dead {
            return Err(ErrorKind::NotConnected.into());
        }
        device.dead = dies;
        device.resets.push(method);
        Ok(())
    }

    fn rescan(&mut self) -> io::Result<()> {
        let mischief = self.mischief.clone();
        for (address, mut device) in std::mem::take(&mut self.removed) {
            if mischief.contains(&Mischief::StaysAway(address)) {
                self.removed.insert(address, device);
                continue;
            }
            (device.driver, device.only) = (None, None);
            device.chosen = device.offered.iter().map(|name| (*name).to_owned()).collect();
            for one in &mischief {
                match one {
                    Mischief::RescanHeals(healed) if *healed == address => device.dead = false,
                    Mischief::RescanSwaps(swapped, serial) if *swapped == address => device.serial = Some(*serial),
                    _ => {}
                }
            }
            self.devices.insert(address, device);
            // At once, whatever `drivers_autoprobe` says: that is how it is on this bus.
            self.probe(address)?;
        }
        Ok(())
    }

    fn set_vfs(&mut self, physfn: PciAddress, count: u32) -> io::Result<()> {
        if count != 0 && !self.vfs(physfn).is_empty() {
            return Err(ErrorKind::ResourceBusy.into());
        }
        self.devices.retain(|_, device| device.physfn != Some(physfn));
        let count = count - u32::from(count > 0 && self.has(&Mischief::OneFewer));
        for index in 0..count {
            let mut device = Device::new(0x8086, 0x10ca, 0x02_0000, "igbvf", 100 + index);
            (device.physfn, device.serial, device.offered) = (Some(physfn), None, vec!["flr"]);
            device.chosen = vec!["flr".to_owned()];
            device.texts.insert("net/eth7/address".to_owned(), format!("02:00:00:00:00:{index:02x}"));
            self.devices.insert(at(&format!("0000:03:10.{index}")), device);
        }
        Ok(())
    }

    fn write_device(&mut self, address: PciAddress, file: &str, text: &str) -> io::Result<()> {
        let device = self.devices.get_mut(&address).unwrap();
        match file {
            "driver_override" => device.only = Some(text.to_owned()).filter(|name| !name.is_empty()),
            "reset_method" => {
                let names: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                if names.is_empty() || names.iter().any(|name| !device.offered.contains(&name.as_str())) {
                    return Err(ErrorKind::InvalidInput.into());
                }
                device.chosen = names;
            }
            "reset" => return self.reset(address),
            "remove" => {
                let device = self.devices.remove(&address).unwrap();
                self.removed.insert(address, device);
            }
            "sriov_numvfs" if device.total_vfs.is_some() => return self.set_vfs(address, text.parse().unwrap()),
            _ => return none(),
        }
        Ok(())
    }
}

impl SysFs for Kernel {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let state = self.state.lock().unwrap();
        let (address, file) = state.place(path)?;
        let device = &state.devices[&address];
        match file {
            "vendor" => line(format!("{:#06x}", device.vendor)),
            "device" => line(format!("{:#06x}", device.device)),
            "class" => line(format!("{:#08x}", device.class)),
            "numa_node" => line(-1),
            "config" => Ok(device.config()),
            "driver_override" => line(device.only.as_deref().unwrap_or("(null)")),
            "reset_method" if !device.offered.is_empty() => line(device.chosen.join(" ")),
            "sriov_totalvfs" => device.total_vfs.map_or_else(none, line),
            "sriov_numvfs" if device.total_vfs.is_some() => line(state.vfs(address).len()),
            other => device.texts.get(other).map_or_else(none, line),
        }
    }

    fn read_link(&self, path: &str) -> io::Result<String> {
        let state = self.state.lock().unwrap();
        let (address, file) = state.place(path)?;
        let device = &state.devices[&address];
        let target = match file {
            "driver" => device.driver.clone(),
            "iommu_group" => device.group.map(|group| group.to_string()),
            "physfn" => device.physfn.map(|physfn| physfn.to_string()),
            _ => {
                let index = file.strip_prefix("virtfn").and_then(|index| index.parse::<usize>().ok());
                index.and_then(|index| state.vfs(address).get(index).map(ToString::to_string))
            }
        };
        target.map_or_else(none, Ok)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let state = self.state.lock().unwrap();
        if path == "bus/pci/devices" {
            return Ok(state.devices.keys().map(ToString::to_string).collect());
        }
        if let Some(name) = path.strip_prefix("bus/pci/drivers/") {
            return if state.drivers.contains(name) { Ok(vec!["unbind".to_owned()]) } else { none() };
        }
        if let Some(group) = path.strip_prefix("kernel/iommu_groups/") {
            let group: u32 = group.strip_suffix("/devices").unwrap().parse().unwrap();
            let members = state.devices.iter().filter(|(_, device)| device.group == Some(group));
            return Ok(members.map(|(address, _)| address.to_string()).collect());
        }
        let (address, file) = state.place(path)?;
        if file.is_empty() {
            return Ok((0..state.vfs(address).len()).map(|index| format!("virtfn{index}")).collect());
        }
        let below = state.devices[&address].texts.keys().filter_map(|name| name.strip_prefix(file)?.strip_prefix('/'));
        let names: Vec<String> = below.filter_map(|rest| rest.split('/').next()).map(str::to_owned).collect();
        if names.is_empty() { none() } else { Ok(names) }
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        self.log.lock().unwrap().push(format!("{path} = {}", text.trim()));
        let mut state = self.state.lock().unwrap();
        let good = state.writes;
        state.writes += 1;
        for one in &state.mischief {
            if *one == Mischief::WriteFailsOnce(good) {
                return Err(ErrorKind::TimedOut.into());
            }
            if let Mischief::WriteFails(end, kind) = one
                && path.ends_with(end)
            {
                return Err((*kind).into());
            }
        }
        let text = text.trim();
        match path {
            "bus/pci/drivers_probe" => state.probe(text.parse().unwrap()),
            "bus/pci/rescan" => state.rescan(),
            _ => {
                if let Some(rest) = path.strip_prefix("bus/pci/drivers/") {
                    let name = rest.strip_suffix("/unbind").unwrap();
                    let device = state.devices.get_mut(&text.parse().unwrap()).ok_or(ErrorKind::NotFound)?;
                    let bound = device.driver.take_if(|driver| driver == name);
                    return bound.map_or_else(none, |_| Ok(()));
                }
                let (address, file) = state.place(path)?;
                state.write_device(address, file, text)
            }
        }
    }

    fn node(&self, path: &str) -> io::Result<Node> {
        let state = self.state.lock().unwrap();
        let group: u32 = path.strip_prefix("vfio/").unwrap().parse().unwrap();
        let there =
            state.devices.values().any(|device| device.group == Some(group) && device.driver.as_deref() == Some(VFIO));
        Ok(match (there && !state.has(&Mischief::NoNode(group)), state.held.contains(&group)) {
            (false, _) => Node::Absent,
            (true, true) => Node::Held,
            (true, false) => Node::Free,
        })
    }
}
