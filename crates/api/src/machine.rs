//! Whole machines as operators see them: who provides them, what each provider last showed, and where that does not agree
//! with the platform.

use crate::{
    Nothing, endpoints,
    fleet::{NodePath, NodeView},
    page::{Page, PageQuery},
};
use model::{NodeId, Timestamp, supply::NodeProfile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A provider of machines that the control plane was started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderView {
    /// Its name: nodes say `name/machine`.
    pub name: String,
    /// What it is, such as `maas`.
    pub kind: String,
    /// Where it is.
    pub address: String,
    /// When all its machines were last looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced_at: Option<Timestamp>,
    /// What the last look ran into; absent when it went well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// When that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault_at: Option<Timestamp>,
}

/// Every provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderListView {
    /// The providers, by name.
    pub items: Vec<ProviderView>,
}

/// A machine as its provider last showed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineView {
    /// Which machine of which provider, as `provider/id`.
    pub machine: String,
    /// Its host name there.
    pub hostname: String,
    /// The node it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// Where it is in its provider's life cycle, in the provider's words.
    pub status: String,
    /// Whether it runs: `on`, `off`, `error` or `unknown`.
    pub power: String,
    /// Its serial number there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The order that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// A person locked it.
    pub locked: bool,
    /// What does not agree with the platform, one sentence each.
    pub findings: Vec<String>,
    /// When it was seen like this.
    pub seen_at: Timestamp,
}

/// What a node is to become.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeConvertBody {
    /// The profile it will have.
    pub to: NodeProfile,
}

endpoints! {
    /// List the providers of machines.
    ProviderList = "provider_list", Get "/api/v1/admin/providers", "machines", PlatformRead { answer: Ok ProviderListView }
    /// List the machines of all providers as they were last seen, with what does not agree with the platform.
    MachineList = "machine_list", Get "/api/v1/admin/machines", "machines", PlatformRead { query: PageQuery, answer: Ok Page<MachineView>, problems: [InvalidPageToken] }
    /// Look at all machines of all providers again, soon.
    MachineSync = "machine_sync", Post "/api/v1/admin/machines/sync", "machines", FleetManage { answer: NoContent Nothing, problems: [StateConflict] }
    /// Turn a node from slices to bare metal, or back: it takes nothing new, its tenants leave, every slot is proved clean, and then it is that.
    NodeConvert = "node_convert", Post "/api/v1/admin/nodes/{node_id}/convert", "nodes", FleetManage { path: NodePath, body: NodeConvertBody, answer: Ok NodeView, if_match: Optional, problems: [StateConflict] }
}
