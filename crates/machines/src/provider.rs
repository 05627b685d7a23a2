//! What a provider of machines can be asked, and the orders that go with it. Every call can be repeated: doing it twice is
//! the same as once, and undoing what is not there succeeds. A call answers with the machine as it is afterwards; deploying
//! and releasing take a while, so the caller looks again until the machine has arrived.

use crate::{
    fault::Fault,
    machine::{Machine, OrderMark, ProviderId, TagName},
};
use std::{fmt, future::Future, pin::Pin};

/// What a call gives, later.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// Somebody who has machines.
pub trait MachineProvider: Send + Sync {
    /// Every machine it has.
    fn list(&self) -> Answer<'_, Vec<Machine>>;
    /// One machine.
    fn machine<'a>(&'a self, id: &'a ProviderId) -> Answer<'a, Machine>;
    /// Takes a free machine and writes the order's mark on it.
    fn allocate<'a>(&'a self, id: &'a ProviderId, mark: &'a OrderMark) -> Answer<'a, Machine>;
    /// Installs a machine that carries the order's mark. One that is already being installed, or is installed, for this order
    /// is left as it is.
    fn deploy<'a>(&'a self, id: &'a ProviderId, order: &'a DeployOrder) -> Answer<'a, Machine>;
    /// Gives a machine back. One that is free, or on its way, is left as it is.
    fn release<'a>(&'a self, id: &'a ProviderId, order: &'a ReleaseOrder) -> Answer<'a, Machine>;
    /// Takes a machine out of what can be had until a person has looked at it. Whoever held it holds it no longer.
    fn mark_broken<'a>(&'a self, id: &'a ProviderId, order: &'a BreakOrder) -> Answer<'a, Machine>;
    /// Puts a tag on a machine, making the tag if there is none.
    fn tag<'a>(&'a self, id: &'a ProviderId, name: &'a TagName) -> Answer<'a, ()>;
    /// Takes a tag off a machine.
    fn untag<'a>(&'a self, id: &'a ProviderId, name: &'a TagName) -> Answer<'a, ()>;
    /// Every tag there is, in order.
    fn tags(&self) -> Answer<'_, Vec<String>>;
}

/// What the machine's first boot is told: keys of its tenant, host name, what else cloud-init takes. It may hold secrets, so
/// it shows only its length.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct UserData(Vec<u8>);

impl UserData {
    /// The most that is taken. A provider holds it in its database and a form, and the installer in memory.
    pub const BYTES_MAX: usize = 512 * 1024;

    /// The bytes themselves.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl TryFrom<Vec<u8>> for UserData {
    type Error = BadOrder;
    fn try_from(bytes: Vec<u8>) -> Result<Self, BadOrder> {
        if bytes.len() > Self::BYTES_MAX {
            return Err(BadOrder {
                field: "user data",
                expected: "at most 512 KiB",
                found: format!("{} bytes", bytes.len()),
            });
        }
        Ok(Self(bytes))
    }
}

impl fmt::Debug for UserData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserData({} bytes)", self.0.len())
    }
}

/// An order that makes no sense; nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the order's {field} was expected to be {expected}, but is {found}")]
pub struct BadOrder {
    /// Which field.
    pub field: &'static str,
    /// What it may be.
    pub expected: &'static str,
    /// What it is.
    pub found: String,
}

/// What is to be installed, and for which order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeployOrder {
    mark: OrderMark,
    system: String,
    image: String,
    kernel: Option<String>,
    user_data: UserData,
}

impl DeployOrder {
    /// Installs `image` of the operating system `system`, such as `jammy` of `ubuntu` or `h200-host` of `custom`.
    pub fn new(mark: OrderMark, system: &str, image: &str, user_data: UserData) -> Result<Self, BadOrder> {
        let (system, image) = (checked("operating system", system)?, checked("image", image)?);
        Ok(Self { mark, system, image, kernel: None, user_data })
    }
    /// The same with a hardware enablement kernel, such as `hwe-22.04`.
    pub fn with_kernel(mut self, kernel: &str) -> Result<Self, BadOrder> {
        self.kernel = Some(checked("kernel", kernel)?);
        Ok(self)
    }
    /// The mark the machine must carry.
    pub fn mark(&self) -> &OrderMark {
        &self.mark
    }
    /// The operating system.
    pub fn system(&self) -> &str {
        &self.system
    }
    /// The image or release.
    pub fn image(&self) -> &str {
        &self.image
    }
    /// The kernel, when not the image's own.
    pub fn kernel(&self) -> Option<&str> {
        self.kernel.as_deref()
    }
    /// What the first boot is told.
    pub fn user_data(&self) -> &UserData {
        &self.user_data
    }
}

fn checked(field: &'static str, text: &str) -> Result<String, BadOrder> {
    let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/' | b'+');
    if (1..=64).contains(&text.len()) && text.bytes().all(letter) {
        return Ok(text.to_owned());
    }
    let expected = "1 to 64 letters, digits or . - _ / +";
    Err(BadOrder { field, expected, found: format!("`{}`", crate::machine::shown(text, 64)) })
}

/// How the disks are erased on the way back. This is the provider's work and no proof: a slot is proved clean by the
/// platform's own agent afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erase {
    /// Not at all.
    None,
    /// The first and last 2 MiB of each disk. Not secure; for machines that never held a tenant.
    Quick,
    /// By the disk's own secure erase, or, where it has none, by overwriting all of it.
    Secure,
}

/// How a machine is given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseOrder {
    /// Only when the machine carries this mark. `None` is for an operator who knows whose it is.
    pub held_by: Option<OrderMark>,
    /// How its disks are erased.
    pub erase: Erase,
    /// For the provider's log.
    pub comment: String,
}

/// Why a machine is taken out of service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakOrder {
    /// Only when nobody else's mark is on the machine. `None` is for an operator who knows whose it is.
    pub held_by: Option<OrderMark>,
    /// What is wrong with it, for whoever repairs it.
    pub comment: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_takes_only_names() {
        let mark: OrderMark = "alloc_1".parse().unwrap();
        let order = |system: &str, image: &str| DeployOrder::new(mark.clone(), system, image, UserData::default());
        assert!(order("custom", "custom/h200-host_1.2").unwrap().with_kernel("hwe-22.04").is_ok());
        for bad in ["", "jammy&install_kvm=true", "a b", "a\n", &"a".repeat(65)] {
            assert!(order("ubuntu", bad).is_err(), "{bad:?}");
            assert!(order(bad, "jammy").is_err(), "{bad:?}");
            assert!(order("ubuntu", "jammy").unwrap().with_kernel(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn user_data_has_a_limit_and_shows_only_its_length() {
        let data = UserData::try_from(b"ssh-ed25519 AAAA secret".to_vec()).unwrap();
        assert_eq!(format!("{data:?}"), "UserData(23 bytes)");
        assert!(UserData::try_from(vec![0; UserData::BYTES_MAX]).is_ok());
        assert!(UserData::try_from(vec![0; UserData::BYTES_MAX + 1]).is_err());
    }
}
