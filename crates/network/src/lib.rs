//! The network of a host's guests: an Open vSwitch bridge on which every guest has one port that cannot lie about its address,
//! leases by reservation, and a way out through the host by address translation. Guests never reach each other.
//!
//! What should be there is computed ([`desired`]), what is there is read ([`see`]), the difference is a list of changes
//! ([`diff`]), and [`apply`] makes them. Each of the four can be repeated; nothing remembers anything between them. Entries
//! that this room did not make are reported and left alone.
//!
//! ```text
//!   guest ── port gp… ──┐  flows: own MAC, own IP, only to the gateway
//!   guest ── port gp… ──┤ bridge ── its own interface = gateway ── nftables ── uplink
//!                       └ dnsmasq: an answer only for a reservation
//! ```
//!
//! It refuses: IPv6, traffic between guests, answers of a DHCP server that sits in a guest, and every way in from outside.

mod apply;
mod dhcp;
mod fault;
mod firewall;
mod flow;
mod host;
mod plan;
mod see;

pub use apply::{Applied, apply, dhcp_stop, prepare};
pub use dhcp::{
    DhcpConfig, Lease, LeaseSeen, LeaseState, Reservation, dhcp_config, lease_report, leases_parse, reservation_parse,
};
pub use fault::Fault;
pub use firewall::{Element, FirewallSeen, firewall_desired, firewall_parse};
pub use flow::{Action, Flow, FlowCount, flows_desired, flows_parse};
pub use host::{Attach, Datapath, GuestPort, HostNetwork, Mac, Policy, Subnet, Tools, is_guest_port_name};
pub use plan::{
    Change, Desired, Foreign, GatewaySeen, PortSeen, PortWanted, Seen, address_check, applied, desired, diff,
};
pub use see::{flow_counts, lease_file_read, see};
