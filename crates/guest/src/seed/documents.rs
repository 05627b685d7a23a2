//! The four files of a seed, from typed structures. Field names are cloud-init's.
//!
//! JSON is YAML only as far as the reader's alphabet goes: PyYAML refuses raw DEL, C1 controls and the like, and takes
//! U+0085 and U+2028 for line ends. So everything outside ASCII is written as an escape, up to U+FFFF; above that a JSON
//! escape is a pair that YAML reads as two broken characters, and the character itself is what both understand.

use super::{Addressing, HostKey, SeedFile, SeedNetwork, SeedSpec};
use crate::identity::{Mac, Refused};
use model::text::PublicKeyLine;
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};
use std::{collections::BTreeMap, io, net::Ipv4Addr};

const CLOUD_CONFIG: &str = "#cloud-config\n";

#[derive(Serialize)]
struct UserData<'a, T: Serialize> {
    hostname: &'a T,
    preserve_hostname: bool,
    ssh_pwauth: bool,
    disable_root: bool,
    ssh_deletekeys: bool,
    ssh_keys: HostKeys<'a, T>,
    users: [User<'a, T>; 1],
    vendor_data: VendorData,
}

#[derive(Serialize)]
struct HostKeys<'a, T: Serialize> {
    ed25519_private: &'a T,
    ed25519_public: &'a T,
}

#[derive(Serialize)]
struct User<'a, T: Serialize> {
    name: &'a T,
    lock_passwd: bool,
    shell: &'static str,
    sudo: &'static str,
    ssh_authorized_keys: Vec<&'a T>,
}

#[derive(Serialize)]
struct VendorData {
    enabled: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct MetaData<'a, T: Serialize> {
    instance_id: String,
    local_hostname: &'a T,
}

#[derive(Serialize)]
struct NetworkConfig {
    version: u8,
    ethernets: BTreeMap<&'static str, Ethernet>,
}

#[derive(Serialize)]
struct Ethernet {
    #[serde(rename = "match")]
    matched: Match,
    dhcp4: bool,
    dhcp6: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<Route>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nameservers: Option<NameServers>,
}

#[derive(Serialize)]
struct Match {
    macaddress: Mac,
}

#[derive(Serialize)]
struct Route {
    to: &'static str,
    via: Ipv4Addr,
}

#[derive(Serialize)]
struct NameServers {
    addresses: Vec<Ipv4Addr>,
}

/// The files of a seed whose spec keeps its rules: the same spec gives the same bytes.
pub fn documents(spec: &SeedSpec) -> Result<Vec<SeedFile>, Refused> {
    spec.check()?;
    let HostKey { private_openssh, public } = &spec.host_key;
    let public = public.as_str().to_owned();
    let keys: Vec<String> = spec.ssh_keys.iter().map(|key: &PublicKeyLine| key.as_str().to_owned()).collect();
    let user_data = user_data(&spec.host_name, &spec.user_name, &keys, private_openssh, &public)?;
    let meta_data = meta_data(spec.guest.name(), &spec.host_name)?;
    let network_config = network_config(&spec.network)?;
    // Without the tenant's words the file is there and says nothing.
    let vendor_data = spec.tenant_data.clone().unwrap_or_else(|| format!("{CLOUD_CONFIG}{{}}\n"));
    Ok([
        ("user-data", user_data),
        ("meta-data", meta_data),
        ("network-config", network_config),
        ("vendor-data", vendor_data),
    ]
    .map(|(name, text)| SeedFile { name, bytes: text.into_bytes() })
    .into())
}

/// What the platform says. Takes any text in any field: the rules of the fields are checked elsewhere, and here nothing
/// may depend on them.
pub(super) fn user_data(
    host_name: &String,
    user_name: &String,
    keys: &[String],
    private: &String,
    public: &String,
) -> Result<String, Refused> {
    let user = User {
        name: user_name,
        lock_passwd: true,
        shell: "/bin/bash",
        sudo: "ALL=(ALL) NOPASSWD:ALL",
        ssh_authorized_keys: keys.iter().collect(),
    };
    let said = UserData {
        hostname: host_name,
        preserve_hostname: false,
        ssh_pwauth: false,
        disable_root: true,
        ssh_deletekeys: true,
        ssh_keys: HostKeys { ed25519_private: private, ed25519_public: public },
        users: [user],
        vendor_data: VendorData { enabled: true },
    };
    Ok(format!("{CLOUD_CONFIG}{}", json(&said)?))
}

pub(super) fn meta_data(instance_id: String, host_name: &String) -> Result<String, Refused> {
    json(&MetaData { instance_id, local_hostname: host_name })
}

fn network_config(network: &SeedNetwork) -> Result<String, Refused> {
    let told = network.addressing == Addressing::Static;
    let ethernet = Ethernet {
        matched: Match { macaddress: network.mac },
        dhcp4: !told,
        dhcp6: false,
        addresses: told.then(|| format!("{}/{}", network.ip, network.prefix)).into_iter().collect(),
        routes: told.then_some(Route { to: "0.0.0.0/0", via: network.gateway }).into_iter().collect(),
        nameservers: told.then(|| NameServers { addresses: network.dns.clone() }),
    };
    json(&NetworkConfig { version: 2, ethernets: BTreeMap::from([("primary", ethernet)]) })
}

fn json(said: &impl Serialize) -> Result<String, Refused> {
    let refused = |why: &str| Refused::new("seed", "what JSON can say", why);
    let mut bytes = vec![];
    let mut writer = serde_json::Serializer::with_formatter(&mut bytes, Ascii(PrettyFormatter::new()));
    said.serialize(&mut writer).map_err(|error| refused(&error.to_string()))?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(|error| refused(&error.to_string()))
}

struct Ascii<'a>(PrettyFormatter<'a>);

impl Formatter for Ascii<'_> {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, to: &mut W, text: &str) -> io::Result<()> {
        for c in text.chars() {
            match u32::from(c) {
                0x20..=0x7e | 0x1_0000.. => to.write_all(c.encode_utf8(&mut [0; 4]).as_bytes())?,
                code => write!(to, "\\u{code:04x}")?,
            }
        }
        Ok(())
    }
    fn begin_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_array(to)
    }
    fn end_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_array(to)
    }
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(to, first)
    }
    fn end_array_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_array_value(to)
    }
    fn begin_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object(to)
    }
    fn end_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object(to)
    }
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(to, first)
    }
    fn begin_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object_value(to)
    }
    fn end_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object_value(to)
    }
}
