//! What a guest is made of, as an order carries it to a host: the approved devices of each slot, what the slot's profile gives
//! it, and what the tenant brought. All of it is data; how it is put together is the host's matter.

use crate::image::ImageSpec;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, net::Ipv4Addr};

/// The user that a tenant's keys open.
pub const LOGIN_USER: &str = "gpuaas";
/// The most that a tenant may write for cloud-init, in bytes.
pub const USER_DATA_BYTES_MAX: usize = 32 * 1024;

/// What a tenant writes for cloud-init. It may hold secrets, so it never shows itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UserData(String);

impl UserData {
    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// More than a tenant may write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to {USER_DATA_BYTES_MAX} bytes of text")]
pub struct BadUserData;

impl TryFrom<String> for UserData {
    type Error = BadUserData;
    fn try_from(text: String) -> Result<Self, BadUserData> {
        // PostgreSQL keeps no text with this character, and no kind of user-data needs it.
        let whole = (1..=USER_DATA_BYTES_MAX).contains(&text.len()) && !text.contains('\0');
        if whole { Ok(Self(text)) } else { Err(BadUserData) }
    }
}
impl From<UserData> for String {
    fn from(data: UserData) -> Self {
        data.0
    }
}
impl std::fmt::Debug for UserData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UserData({} bytes)", self.0.len())
    }
}
impl JsonSchema for UserData {
    fn schema_name() -> Cow<'static, str> {
        "UserData".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": USER_DATA_BYTES_MAX,
            "description": "At most 32 KiB of text, of any kind that cloud-init reads.", "examples": ["#cloud-config\npackages: [htop]\n"] })
    }
}

/// A PCI device of a slot as it was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BundleDevice {
    /// Where it sits, such as `0000:0f:00.0`. What may sit there is in the host's own settings.
    pub pci_address: String,
}

/// What one slot gets of its host's processors and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotShare {
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Memory.
    pub memory_mib: u64,
    /// The size of the huge pages it is made of; ordinary pages when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hugepage_kib: Option<u64>,
    /// The smallest disk that the slot may have.
    pub disk_bytes_min: u64,
}

/// The devices and addresses of one slot as they were approved, and what its profile gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotBundle {
    /// Its profile.
    pub profile: String,
    /// The GPU; none in a laboratory's profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<BundleDevice>,
    /// The GPU's place on its board, the number that partitions are written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_module_id: Option<u32>,
    /// The function of the fabric; none in a laboratory's profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<BundleDevice>,
    /// What makes the disk that one: its own identity, or of a laboratory's a loop device and its backing file.
    pub disk_identity: String,
    /// The address of its network card.
    pub mac: String,
    /// Its private address.
    pub ip: Ipv4Addr,
    /// Its memory node.
    pub numa_node: u32,
    /// What it gets.
    pub share: SlotShare,
}

/// What a guest is, besides its slots.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestSpec {
    /// What it calls itself.
    pub host_name: String,
    /// The user that the keys open.
    pub user_name: String,
    /// Who may sign in, a public key on a line each.
    pub ssh_keys: Vec<String>,
    /// What the tenant wrote for cloud-init.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<String>,
    /// What is written to its disk.
    pub image: ImageSpec,
    /// The NVSwitch partition that its GPUs are, by module id; empty where a GPU is alone or has no fabric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partition: Vec<u32>,
}

// What a tenant wrote never appears in a log.
impl std::fmt::Debug for GuestSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GuestSpec")
            .field("host_name", &self.host_name)
            .field("user_name", &self.user_name)
            .field("ssh_keys", &self.ssh_keys)
            .field("user_data_bytes", &self.user_data.as_ref().map(String::len))
            .field("image", &self.image)
            .field("partition", &self.partition)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_a_tenant_wrote_is_bounded_and_does_not_show_itself() {
        let data = UserData::try_from("#cloud-config\npassword: hunter2\n".to_owned()).unwrap();
        assert!(!format!("{data:?}").contains("hunter2"));
        assert_eq!(serde_json::from_str::<UserData>(&serde_json::to_string(&data).unwrap()).unwrap(), data);
        assert!(UserData::try_from("x".repeat(USER_DATA_BYTES_MAX)).is_ok());
        for bad in [String::new(), "x".repeat(USER_DATA_BYTES_MAX + 1), "a\0b".to_owned()] {
            assert!(UserData::try_from(bad).is_err());
        }
    }
}
