//! Where the provider's machines and the platform's nodes disagree. Pure: two lists in, one ordered list of disagreements
//! out, each with what would mend it. Nothing is mended here, and silence is no agreement: a serial number that the provider
//! does not tell is a disagreement too.

use crate::machine::{Machine, MachineStatus, OrderMark, ProviderId, TagName};
use model::supply::NodeProfile;
use std::collections::{BTreeMap, BTreeSet};

/// What the platform knows of a node that came from the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownMachine {
    /// The machine at the provider.
    pub id: ProviderId,
    /// The node's name on the platform.
    pub node: String,
    /// Its serial number, as its agent or an operator gave it.
    pub serial: Option<String>,
    /// What the platform sells it as.
    pub profile: NodeProfile,
    /// Who has it, by the platform.
    pub hold: Hold,
    /// How many GPUs its agent found.
    pub gpus: Option<u32>,
}

/// Who has a machine, by the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// Nobody: it should be free.
    Nobody,
    /// The platform itself, as a host of slices. Who installed it does not matter.
    Platform,
    /// The tenant of this order, from its first call to the provider until its release is ordered.
    Order(OrderMark),
}

/// One disagreement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Drift {
    /// The provider has a machine that the platform does not know.
    #[error("machine {id} ({hostname}) was expected to be a node, but the platform does not know it")]
    UnknownMachine {
        /// Which one.
        id: ProviderId,
        /// Its host name.
        hostname: String,
        /// What its tags say it is meant for.
        tagged: Option<TagName>,
    },
    /// The platform has a node that the provider does not know.
    #[error("node {node} was expected to be machine {id}, but the provider does not know it")]
    UnknownNode {
        /// The machine it should be.
        id: ProviderId,
        /// The node.
        node: String,
    },
    /// Two nodes say that they are the same machine.
    #[error("machine {id} was expected to be one node, but {} say they are it", nodes.join(" and "))]
    KnownTwice {
        /// Which machine.
        id: ProviderId,
        /// The nodes.
        nodes: Vec<String>,
    },
    /// Another serial number, or none.
    #[error(
        "machine {id} was expected to have serial {expected}, but the provider {}",
        found.as_ref().map_or_else(|| "knows none".to_owned(), |found| format!("says {found}"))
    )]
    SerialDiffers {
        /// Which machine.
        id: ProviderId,
        /// By the platform.
        expected: String,
        /// By the provider.
        found: Option<String>,
    },
    /// Its tags say something else than the platform.
    #[error("machine {id} was expected to be tagged {expected}, but {}", tags_found(found))]
    TagDiffers {
        /// Which machine.
        id: ProviderId,
        /// What the platform sells it as.
        expected: TagName,
        /// The profile tags that it has.
        found: Vec<TagName>,
    },
    /// It is deployed, and nobody holds it.
    #[error("machine {id} was expected to be free, but it is {status}{}", marked(mark))]
    NotHeld {
        /// Which machine.
        id: ProviderId,
        /// What it is.
        status: String,
        /// The mark it carries.
        mark: Option<String>,
    },
    /// Somebody holds it, and it is not deployed.
    #[error("machine {id} was expected to be Deployed for {holder}, but it is {status}")]
    NotDeployed {
        /// Which machine.
        id: ProviderId,
        /// Who holds it.
        holder: String,
        /// What it is.
        status: String,
    },
    /// It is deployed for another order than the one that holds it.
    #[error("machine {id} was expected to be Deployed for {expected}, but it carries {}", found.as_deref().unwrap_or("no mark"))]
    OtherOrder {
        /// Which machine.
        id: ProviderId,
        /// The order that holds it on the platform.
        expected: OrderMark,
        /// The mark it carries.
        found: Option<String>,
    },
    /// It failed, or is in a state that this version does not know.
    #[error("machine {id} was expected to work, but it is {status}{}", said(message))]
    Failed {
        /// Which machine.
        id: ProviderId,
        /// What it is.
        status: String,
        /// What the provider says about it.
        message: String,
    },
    /// The provider counts other GPUs.
    #[error("machine {id} was expected to have {expected} GPUs, but the provider counts {found}")]
    GpusDiffer {
        /// Which machine.
        id: ProviderId,
        /// By its agent.
        expected: u32,
        /// By the provider.
        found: u32,
    },
}

fn tags_found(found: &[TagName]) -> String {
    match found {
        [] => "it has no profile tag".to_owned(),
        tags => format!("it is tagged {}", tags.iter().map(TagName::as_str).collect::<Vec<_>>().join(" and ")),
    }
}

fn marked(mark: &Option<String>) -> String {
    mark.as_ref().map_or_else(|| " without a mark".to_owned(), |mark| format!(" with the mark {mark}"))
}

fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

/// What would mend a disagreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mend {
    /// Enroll the machine as a node.
    Enroll,
    /// Tag it with a profile if it is meant for the platform; leave it if it is not.
    TagOrLeave,
    /// Find the machine, or take the node off the platform. Until then nothing may be placed on it.
    FindOrRemove,
    /// A person must say which of the two is right; until then nothing may be placed on it.
    Quarantine,
    /// Put this tag on it, and take those off: the platform knows what it sells it as.
    Retag {
        /// To put on.
        add: Option<TagName>,
        /// To take off.
        remove: Vec<TagName>,
    },
    /// Give it back with its disks erased: an order ended without it, or was lost.
    Release,
    /// Tell the order's owner, then deploy it again for the same order or end the order.
    RedeployOrEnd,
    /// Repair it, and commission it again.
    Repair,
    /// Look at it: commission it again so that the provider counts anew.
    Recommission,
}

impl Drift {
    /// Which machine it is about.
    pub fn id(&self) -> &ProviderId {
        match self {
            Self::UnknownMachine { id, .. }
            | Self::UnknownNode { id, .. }
            | Self::KnownTwice { id, .. }
            | Self::SerialDiffers { id, .. }
            | Self::TagDiffers { id, .. }
            | Self::NotHeld { id, .. }
            | Self::NotDeployed { id, .. }
            | Self::OtherOrder { id, .. }
            | Self::Failed { id, .. }
            | Self::GpusDiffer { id, .. } => id,
        }
    }

    /// What would mend it.
    pub fn mend(&self) -> Mend {
        match self {
            Self::UnknownMachine { tagged: Some(_), .. } => Mend::Enroll,
            Self::UnknownMachine { tagged: None, .. } => Mend::TagOrLeave,
            Self::UnknownNode { .. } => Mend::FindOrRemove,
            Self::KnownTwice { .. } | Self::OtherOrder { .. } => Mend::Quarantine,
            // Without a serial number from the provider there is nothing to hold against the platform's.
            Self::SerialDiffers { found: None, .. } => Mend::Recommission,
            Self::SerialDiffers { found: Some(_), .. } => Mend::Quarantine,
            Self::TagDiffers { expected, found, .. } => Mend::Retag {
                add: (!found.contains(expected)).then(|| expected.clone()),
                remove: found.iter().filter(|tag| *tag != expected).cloned().collect(),
            },
            // A mark means that the platform made it so; without one it may be a person's, and a person must say so.
            Self::NotHeld { mark: Some(_), .. } => Mend::Release,
            Self::NotHeld { mark: None, .. } => Mend::Quarantine,
            Self::NotDeployed { .. } => Mend::RedeployOrEnd,
            Self::Failed { .. } => Mend::Repair,
            Self::GpusDiffer { .. } => Mend::Recommission,
        }
    }
}

/// Compares what the provider has with what the platform knows. The order of the answer does not depend on that of the lists.
pub fn drift(provider: &[Machine], platform: &[KnownMachine]) -> Vec<Drift> {
    let machines: BTreeMap<&ProviderId, &Machine> = provider.iter().map(|machine| (&machine.id, machine)).collect();
    let mut nodes: BTreeMap<&ProviderId, Vec<&KnownMachine>> = BTreeMap::new();
    for known in platform {
        nodes.entry(&known.id).or_default().push(known);
    }
    let mut found = BTreeSet::new();
    for (id, known) in &nodes {
        if known.len() > 1 {
            let mut nodes: Vec<String> = known.iter().map(|known| known.node.clone()).collect();
            nodes.sort();
            found.insert(Drift::KnownTwice { id: (*id).clone(), nodes });
        }
        for known in known {
            match machines.get(id) {
                Some(machine) => found.extend(between(machine, known)),
                None => {
                    found.insert(Drift::UnknownNode { id: known.id.clone(), node: known.node.clone() });
                }
            }
        }
    }
    for (id, machine) in machines.iter().filter(|(id, _)| !nodes.contains_key(*id)) {
        let tagged = machine.profiles().first().map(|profile| TagName::from(*profile));
        found.insert(Drift::UnknownMachine { id: (*id).clone(), hostname: machine.hostname.clone(), tagged });
    }
    found.into_iter().collect()
}

fn between(machine: &Machine, known: &KnownMachine) -> Vec<Drift> {
    let id = || machine.id.clone();
    let mut found = Vec::new();
    if let Some(expected) = known.serial.clone()
        && machine.serial.as_ref() != Some(&expected)
    {
        found.push(Drift::SerialDiffers { id: id(), expected, found: machine.serial.clone() });
    }
    let tags: Vec<TagName> = machine.profiles().into_iter().map(TagName::from).collect();
    let expected = TagName::from(known.profile);
    if tags != [expected.clone()] {
        found.push(Drift::TagDiffers { id: id(), expected, found: tags });
    }
    if let (Some(expected), Some(counted)) = (known.gpus, machine.gpus)
        && expected != counted
    {
        found.push(Drift::GpusDiffer { id: id(), expected, found: counted });
    }
    if machine.status.is_failed() {
        let (status, message) = (machine.status.name().to_owned(), machine.message.clone());
        found.push(Drift::Failed { id: id(), status, message });
    }
    found.extend(hold_between(machine, known));
    found
}

fn hold_between(machine: &Machine, known: &KnownMachine) -> Option<Drift> {
    let (id, status) = (machine.id.clone(), machine.status.name().to_owned());
    let deployed = machine.status == MachineStatus::Deployed;
    // An order that takes or leaves its machine is under way, and no disagreement.
    let on_the_way = matches!(machine.status, MachineStatus::Allocated | MachineStatus::Deploying);
    match &known.hold {
        Hold::Nobody if machine.status.is_taken() => Some(Drift::NotHeld { id, status, mark: machine.mark.clone() }),
        Hold::Nobody => None,
        Hold::Platform if deployed => None,
        Hold::Platform => Some(Drift::NotDeployed { id, holder: "the platform".to_owned(), status }),
        Hold::Order(mark) if machine.carries(mark) && (deployed || on_the_way) => None,
        Hold::Order(mark) if deployed || on_the_way => {
            Some(Drift::OtherOrder { id, expected: mark.clone(), found: machine.mark.clone() })
        }
        Hold::Order(mark) => Some(Drift::NotDeployed { id, holder: mark.to_string(), status }),
    }
}

#[cfg(test)]
#[path = "drift_tests.rs"]
mod tests;
