//! The NoCloud seed of one guest: the small disk from which cloud-init learns who the guest is, who may log in and what
//! its host key is.
//!
//! Every document is made from typed structures and written as JSON, which is also YAML; there are no text templates, so
//! no key, name or comment can leave its field. The platform's words are the seed's `user-data`. What the tenant wrote
//! is a file of its own, `vendor-data`, byte for byte. That looks upside down and is on purpose: cloud-init's
//! documentation (its pages "Vendor-data" and "Merging user-data sections") gives user-data priority over vendor-data where
//! both name a key, so what the tenant says is added to what the platform says and does not replace it. The network stands in
//! `network-config`, which cloud-init takes from the datasource alone (its page "Network configuration"); a `network` key in
//! user-data or vendor-data is not looked at.
//!
//! This keeps accidents out, and no more. A tenant is root in his own guest: a script he brings can change anything in
//! there, and a cloud-config that carries both `merge_how` and `merge_type` makes cloud-init 22.4 let it win. Such a guest
//! shows another host key and is never ready. What a guest must not do to others is stopped outside of it, at its port.

mod documents;
mod iso;

use crate::identity::{GuestUse, Mac, Refused};
use model::text::PublicKeyLine;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

pub use documents::documents;
pub use iso::{IsoFault, IsoWriter};

/// The most that a tenant may write.
pub const TENANT_DATA_BYTES_MAX: usize = 64 * 1024;
/// The most keys that may open a guest.
pub const KEYS_MAX: usize = 64;

const KEY_KINDS: [&str; 7] = [
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

/// How the guest comes by its address. Either way it is the one the platform reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addressing {
    /// It asks, and the reservation answers. The lease is then also the sign that it is alive.
    #[default]
    Dhcp,
    /// It is told here.
    Static,
}

/// Where the guest is on its network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedNetwork {
    /// Its card.
    pub mac: Mac,
    /// Its address.
    pub ip: Ipv4Addr,
    /// How many leading bits of the address name the network.
    pub prefix: u8,
    /// The way out.
    pub gateway: Ipv4Addr,
    /// Who knows names.
    pub dns: Vec<Ipv4Addr>,
    /// How it comes by the address.
    #[serde(default)]
    pub addressing: Addressing,
}

/// The host key that the guest shows on SSH. The platform makes it, so that it knows whom it meets later.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostKey {
    /// The ed25519 key in OpenSSH's own format, as in `/etc/ssh/ssh_host_ed25519_key`.
    pub private_openssh: String,
    /// Its public half on one line.
    pub public: PublicKeyLine,
}

// The private half is not for logs.
impl std::fmt::Debug for HostKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostKey").field("public", &self.public).finish_non_exhaustive()
    }
}

/// All that a guest is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedSpec {
    /// Which guest; its name is the instance id, so another use of the slots is another instance to cloud-init.
    pub guest: GuestUse,
    /// What it calls itself.
    pub host_name: String,
    /// The user that the keys open.
    pub user_name: String,
    /// Who may log in.
    pub ssh_keys: Vec<PublicKeyLine>,
    /// Its network.
    pub network: SeedNetwork,
    /// Its host key.
    pub host_key: HostKey,
    /// What the tenant wrote for cloud-init, of whatever kind cloud-init knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_data: Option<String>,
}

/// One file of the seed.
#[derive(Clone, PartialEq, Eq)]
pub struct SeedFile {
    /// What it is called on the seed.
    pub name: &'static str,
    /// What is in it.
    pub bytes: Vec<u8>,
}

// User-data holds the private host key.
impl std::fmt::Debug for SeedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.bytes.len())
    }
}

impl SeedSpec {
    /// Whether every field keeps its rule. A guest with a field that does not is never made.
    pub fn check(&self) -> Result<(), Refused> {
        let rule = |good: bool, field: &str, expected: &str, found: &str| {
            if good { Ok(()) } else { Err(Refused::new(field, expected, found)) }
        };
        let host_rule = "1 to 63 lower-case letters, digits and inner hyphens, starting with a letter";
        rule(is_host_name(&self.host_name), "host_name", host_rule, &self.host_name)?;
        let user_rule = "a user name of 1 to 32 lower-case letters, digits, underscores and hyphens, not root";
        rule(is_user_name(&self.user_name), "user_name", user_rule, &self.user_name)?;
        let count = self.ssh_keys.len();
        // None is a wish too: whoever brings no key makes users of their own in what they write for cloud-init, or needs none.
        rule(count <= KEYS_MAX, "ssh_keys", &format!("at most {KEYS_MAX} keys"), &count.to_string())?;
        for key in &self.ssh_keys {
            // A line of authorized_keys may start with options; a key that a tenant brings must not.
            rule(
                is_plain_key(key.as_str()),
                "ssh_keys",
                "a kind of key, the key, and perhaps a comment",
                key.as_str(),
            )?;
        }
        let public = self.host_key.public.as_str();
        let ed25519 = is_plain_key(public) && public.starts_with("ssh-ed25519 ");
        rule(ed25519, "host_key.public", "an ed25519 key on one line", public)?;
        let private = is_private_key(&self.host_key.private_openssh);
        rule(private, "host_key.private_openssh", "a private key in OpenSSH's format", "something else")?;
        self.check_network()?;
        let tenant_data = self.tenant_data.as_deref().unwrap_or_default();
        let size = tenant_data.len();
        let size_rule = format!("at most {TENANT_DATA_BYTES_MAX} bytes");
        rule(size <= TENANT_DATA_BYTES_MAX, "tenant_data", &size_rule, &format!("{size} bytes"))
    }

    fn check_network(&self) -> Result<(), Refused> {
        let SeedNetwork { ip, prefix, gateway, dns, .. } = &self.network;
        let refused = |field: &str, expected: &str, found: &str| Err(Refused::new(field, expected, found));
        if !(1..=30).contains(prefix) {
            return refused("network.prefix", "1 to 30", &prefix.to_string());
        }
        let hosts = u32::MAX >> prefix;
        let (own, way_out) = (ip.to_bits(), gateway.to_bits());
        let usable = |address: u32| !matches!(address & hosts, 0) && address & hosts != hosts;
        if !usable(own) || ip.is_loopback() || ip.is_multicast() {
            return refused("network.ip", "the address of one machine", &ip.to_string());
        }
        if !usable(way_out) || own & !hosts != way_out & !hosts || own == way_out {
            return refused("network.gateway", &format!("another machine on {ip}/{prefix}"), &gateway.to_string());
        }
        if dns.len() > 3 {
            return refused("network.dns", "at most 3 addresses", &dns.len().to_string());
        }
        Ok(())
    }
}

fn is_host_name(text: &str) -> bool {
    let edge = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.last().is_some_and(edge)
        && bytes.iter().all(|b| edge(b) || *b == b'-')
}

fn is_user_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= 32
        && text != "root"
        && bytes.first().is_some_and(|b| b.is_ascii_lowercase() || *b == b'_')
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'))
}

fn is_plain_key(line: &str) -> bool {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let mut words = line.split(' ');
    let (Some(kind), Some(key)) = (words.next(), words.next()) else { return false };
    let Ok(blob) = STANDARD.decode(key) else { return false };
    // The key repeats its kind inside, after four bytes of length.
    let inner = blob.split_first_chunk::<4>().and_then(|(length, rest)| {
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        rest.get(..length)
    });
    KEY_KINDS.contains(&kind) && inner == Some(kind.as_bytes())
}

fn is_private_key(text: &str) -> bool {
    let body = text
        .strip_prefix("-----BEGIN OPENSSH PRIVATE KEY-----\n")
        .and_then(|rest| rest.trim_end().strip_suffix("\n-----END OPENSSH PRIVATE KEY-----"));
    let base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'\n');
    body.is_some_and(|body| (1..8192).contains(&body.len()) && body.bytes().all(base64))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
