//! The GPUs and fabric functions of slots, as this process reaches them. Which of them a guest gets, and when they are made
//! ready and taken back, is decided elsewhere; how it is done is behind [`Devices`]: on a real host ([`HostDevices`]), or not
//! at all ([`NoDevices`]).

mod on_host;
mod settings;

pub use on_host::HostDevices;
pub use settings::DeviceSettings;

use guest::identity::PciAddress;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The devices of one guest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceClaim {
    /// Its GPUs.
    pub gpus: Vec<PciAddress>,
    /// Its functions of the fabric.
    pub fabric: Vec<PciAddress>,
    /// The numbers of its GPUs on the board, which together are its partition.
    pub partition: Vec<u32>,
}

impl DeviceClaim {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.gpus.is_empty() && self.fabric.is_empty() && self.partition.is_empty()
    }
}

/// The vendor and device numbers, such as `10de:2335`, of what guests may have at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceIds {
    /// Of GPUs.
    pub gpus: BTreeSet<String>,
    /// Of functions of the fabric.
    pub fabric: BTreeSet<String>,
}

/// A device that is not on the driver that guests need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongDriver {
    /// Which.
    pub address: PciAddress,
    /// What drives it now.
    pub driver: Option<String>,
    /// Why it cannot be given to guests however it is driven: it is not there, does not answer, or is another device.
    pub unfit: Option<String>,
}

/// A partition of the fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionSeen {
    /// Its number on this host.
    pub id: u32,
    /// Whether it is on.
    pub active: bool,
    /// The numbers of its GPUs on the board.
    pub modules: BTreeSet<u32>,
}

/// Told how much of a sequence is done, in percent.
pub type Tell<'a> = &'a dyn Fn(u8);

/// Something about a device did not work, or could not be seen to work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DevicesFault(pub String);

/// What can be done to devices. Each can be repeated, and answers only with what was seen.
pub trait Devices: Send + Sync {
    /// What guests may have at all.
    fn ids(&self) -> DeviceIds;
    /// Makes what the settings want there to be and a start of the host does not bring back: virtual functions.
    fn prepare(&self) -> Result<(), DevicesFault>;
    /// Makes the devices of a claim ready for a guest; what shows it, step by step.
    fn before_guest(&self, claim: &DeviceClaim, tell: Tell<'_>) -> Result<Vec<String>, DevicesFault>;
    /// Takes them back after the guest is gone; what shows it, step by step.
    fn after_guest(&self, claim: &DeviceClaim, tell: Tell<'_>) -> Result<Vec<String>, DevicesFault>;
    /// Resets a GPU, and looks that no partition joins it to others; the evidence.
    fn reset_gpu(&self, address: PciAddress, module: Option<u32>) -> Result<String, DevicesFault>;
    /// Resets a function of the fabric; the evidence.
    fn reset_fabric(&self, address: PciAddress) -> Result<String, DevicesFault>;
    /// Which of these are not on the driver that guests need.
    fn wrong_drivers(&self, addresses: &[PciAddress]) -> Result<Vec<WrongDriver>, DevicesFault>;
    /// Puts a device on the driver that guests need. Only called with its slot in hand, and never while a guest has it.
    fn bind(&self, address: PciAddress) -> Result<(), DevicesFault>;
    /// Every partition of the fabric; none where there is no fabric.
    fn partitions(&self) -> Result<Option<Vec<PartitionSeen>>, DevicesFault>;
    /// Switches a partition off if it is still nobody's when nobody else can change that.
    fn partition_off(&self, id: u32, nobodys: &dyn Fn() -> Result<(), String>) -> Result<(), DevicesFault>;
    /// What is missing before any of this can work.
    fn missing(&self) -> Vec<String>;
}

/// The devices of a host with these settings.
pub fn of_host(settings: Option<&DeviceSettings>) -> Box<dyn Devices> {
    match settings {
        Some(settings) => Box::new(HostDevices::new(settings.clone())),
        None => Box::new(NoDevices),
    }
}

/// A host whose slots have no devices: a laboratory's. Whatever names one is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoDevices;

impl NoDevices {
    fn refused(what: impl std::fmt::Display) -> DevicesFault {
        DevicesFault(format!("no device was expected on this host, found {what}"))
    }

    fn check(claim: &DeviceClaim) -> Result<Vec<String>, DevicesFault> {
        let mut all = claim.gpus.iter().chain(&claim.fabric);
        match (all.next(), claim.partition.is_empty()) {
            (None, true) => Ok(vec![]),
            (Some(address), _) => Err(Self::refused(address)),
            (None, false) => Err(Self::refused(format!("the partition {:?}", claim.partition))),
        }
    }
}

impl Devices for NoDevices {
    fn ids(&self) -> DeviceIds {
        DeviceIds::default()
    }

    fn prepare(&self) -> Result<(), DevicesFault> {
        Ok(())
    }

    fn before_guest(&self, claim: &DeviceClaim, _: Tell<'_>) -> Result<Vec<String>, DevicesFault> {
        Self::check(claim)
    }

    fn after_guest(&self, claim: &DeviceClaim, _: Tell<'_>) -> Result<Vec<String>, DevicesFault> {
        Self::check(claim)
    }

    fn reset_gpu(&self, address: PciAddress, _: Option<u32>) -> Result<String, DevicesFault> {
        Err(Self::refused(address))
    }

    fn reset_fabric(&self, address: PciAddress) -> Result<String, DevicesFault> {
        Err(Self::refused(address))
    }

    fn wrong_drivers(&self, addresses: &[PciAddress]) -> Result<Vec<WrongDriver>, DevicesFault> {
        addresses.first().map_or(Ok(vec![]), |address| Err(Self::refused(address)))
    }

    fn bind(&self, address: PciAddress) -> Result<(), DevicesFault> {
        Err(Self::refused(address))
    }

    fn partitions(&self) -> Result<Option<Vec<PartitionSeen>>, DevicesFault> {
        Ok(None)
    }

    fn partition_off(&self, id: u32, _: &dyn Fn() -> Result<(), String>) -> Result<(), DevicesFault> {
        Err(Self::refused(format!("the partition {id}")))
    }

    fn missing(&self) -> Vec<String> {
        vec![]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_devices_takes_only_claims_without_devices() {
        let address = PciAddress { domain: 0, bus: 15, device: 0, function: 0 };
        assert_eq!(NoDevices.before_guest(&DeviceClaim::default(), &|_| ()), Ok(vec![]));
        for claim in [
            DeviceClaim { gpus: vec![address], ..DeviceClaim::default() },
            DeviceClaim { fabric: vec![address], ..DeviceClaim::default() },
            DeviceClaim { partition: vec![1], ..DeviceClaim::default() },
        ] {
            assert!(!claim.is_empty());
            assert!(
                NoDevices.before_guest(&claim, &|_| ()).is_err() && NoDevices.after_guest(&claim, &|_| ()).is_err()
            );
        }
        assert!(NoDevices.reset_gpu(address, None).is_err() && NoDevices.bind(address).is_err());
        assert!(NoDevices.wrong_drivers(&[address]).is_err());
        assert_eq!(NoDevices.wrong_drivers(&[]), Ok(vec![]));
        assert_eq!(NoDevices.partitions(), Ok(None));
        assert!(NoDevices.partition_off(1, &|| Ok(())).is_err());
    }
}
