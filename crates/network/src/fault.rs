//! Why the network of a guest could not be decided, seen or made. Each names the check, what was expected and what was found.

use serde::{Deserialize, Serialize};

/// Why the network refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// A setting of the host or of a guest is not usable.
    #[error("{field} must be {expected}, found {found}")]
    Setting {
        /// Which one.
        field: String,
        /// What is accepted.
        expected: String,
        /// What was given.
        found: String,
    },
    /// Two guests were given the same thing.
    #[error("{what} {value} is wanted by both {one} and {other}")]
    Twice {
        /// What they share.
        what: String,
        /// Its value.
        value: String,
        /// One allocation.
        one: String,
        /// The other.
        other: String,
    },
    /// The address is held by something else on this host.
    #[error("address {address} must be free for {wanted_by}, found {found_in} of {held_by}")]
    AddressInUse {
        /// The address, IP or MAC.
        address: String,
        /// The port that wants it.
        wanted_by: String,
        /// Where it was found: a lease, a reservation, a flow or an element.
        found_in: String,
        /// Who holds it.
        held_by: String,
    },
    /// A port of that name exists and is not this guest's.
    #[error("interface {name} must be free, found it {found}")]
    InterfaceTaken {
        /// The name.
        name: String,
        /// Where, or whose.
        found: String,
    },
    /// The interface that should become a port is not there.
    #[error("interface {name} must exist, found none: {said}")]
    InterfaceMissing {
        /// Its name.
        name: String,
        /// What the switch said.
        said: String,
    },
    /// The bridge is not there.
    #[error("bridge {bridge} must exist, found no such bridge in Open vSwitch")]
    BridgeMissing {
        /// Which one.
        bridge: String,
    },
    /// The bridge has no interface of its own in the host.
    #[error("interface {interface} of the gateway must exist, found none: {said}")]
    GatewayMissing {
        /// Which one.
        interface: String,
        /// What the system said.
        said: String,
    },
    /// Open vSwitch gives no answer.
    #[error("Open vSwitch must answer, found it down: {said}")]
    SwitchDown {
        /// What its client said.
        said: String,
    },
    /// An entry of somebody else stands where one of ours must be.
    #[error("{what} must be ours, found one of somebody else: {entry}")]
    ForeignInTheWay {
        /// What it is.
        what: String,
        /// The entry.
        entry: String,
    },
    /// The answer of a program or a file could not be understood.
    #[error("{source_name} must be readable, found {found}")]
    Unreadable {
        /// Which one.
        source_name: String,
        /// What was found.
        found: String,
    },
    /// A file could not be read, written or removed.
    #[error("file {path}: {why}")]
    File {
        /// Which one.
        path: String,
        /// Why.
        why: String,
    },
    /// The DHCP server did not start, stop or read its files again.
    #[error("dnsmasq: {why}")]
    Dhcp {
        /// Why.
        why: String,
    },
    /// A program failed in a way that has no name of its own here.
    #[error("{said}")]
    Program {
        /// What was said of it.
        said: String,
    },
}

impl From<command::Fault> for Fault {
    fn from(fault: command::Fault) -> Self {
        Self::Program { said: fault.to_string() }
    }
}

impl Fault {
    pub(crate) fn setting(field: impl Into<String>, expected: impl Into<String>, found: impl ToString) -> Self {
        Self::Setting { field: field.into(), expected: expected.into(), found: format!("{:?}", found.to_string()) }
    }

    pub(crate) fn unreadable(source_name: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Unreadable { source_name: source_name.into(), found: found.into() }
    }

    pub(crate) fn file(path: &std::path::Path, why: &std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), why: why.to_string() }
    }
}
