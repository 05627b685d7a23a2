//! All machines of a provider, held against the platform's nodes. Nodes whose serial number a machine shows are linked to it;
//! the profile tags follow what the platform sells a node as. Everything else that does not agree is written down for
//! operators, and nothing else at the provider is ever changed from here.

use std::collections::{BTreeMap, BTreeSet};

use machines::{Drift, Hold, KnownMachine, Machine, Mend, PowerState, ProviderId, drift};
use model::{Timestamp, supply::NodeProfile, task::TaskKind};
use store::{
    StoreError, Tx,
    machines::{self as rows, MachineRow, ProviderRow},
    nodes::{self, MachineRef, NodeRow},
    scope::Page,
    tasks,
};

use super::{MachineHands, Provider};
use crate::{driver::write_json, leader::Leader, views};

const NODES_A_PAGE: i64 = 500;
/// A provider that could not be asked is asked again after this long.
const RETRY_S: i64 = 30;
const FAULT_LETTERS_MAX: usize = 500;

impl MachineHands {
    /// Compares every provider whose turn it is. Says how many were.
    pub(super) async fn sync_due(&self, leader: &Leader) -> Result<usize, StoreError> {
        let known = self.registered(leader)?;
        let mut synced = 0;
        for row in known.iter().filter(|row| self.is_due(row, leader.now)) {
            let Some(provider) = self.providers.get(&row.slug) else { continue };
            match provider.machines.list().await {
                Ok(machines) => {
                    self.compare(leader, provider, &machines).await?;
                    synced += 1;
                }
                Err(fault) => self.not_synced(leader, provider, &fault.to_string())?,
            }
        }
        Ok(synced)
    }

    /// The providers of the store, with those that this process was started with.
    fn registered(&self, leader: &Leader) -> Result<Vec<ProviderRow>, StoreError> {
        let known = leader.read(rows::providers)?;
        let missing: Vec<Provider> = self
            .providers
            .values()
            .filter(|provider| {
                let same = |row: &ProviderRow| {
                    row.slug == provider.slug && row.kind == provider.kind && row.address == provider.address
                };
                !known.iter().any(same)
            })
            .cloned()
            .collect();
        if missing.is_empty() {
            return Ok(known);
        }
        leader.commit(move |tx, stamp| {
            for provider in &missing {
                rows::put_provider(tx, &provider.slug, &provider.kind, &provider.address, stamp.now)?;
            }
            rows::providers(tx)
        })
    }

    fn is_due(&self, row: &ProviderRow, now: Timestamp) -> bool {
        let tried = row.synced.max(row.fault_at);
        let every_s = if row.fault.is_empty() { self.patience.sync_s } else { RETRY_S.min(self.patience.sync_s) };
        // A clock that jumped back must not put it off for ever.
        tried.is_none_or(|at| at <= row.sync_wanted || now < at || now >= at.plus_seconds(every_s))
    }

    fn not_synced(&self, leader: &Leader, provider: &Provider, fault: &str) -> Result<(), StoreError> {
        tracing::warn!(provider = provider.slug, fault, "the machines of a provider could not be listed");
        let (slug, fault) = (provider.slug.clone(), machines::shown(fault, FAULT_LETTERS_MAX));
        leader.commit(move |tx, stamp| rows::not_synced(tx, &slug, &fault, stamp.now))
    }

    async fn compare(&self, leader: &Leader, provider: &Provider, seen: &[Machine]) -> Result<(), StoreError> {
        let (slug, listed) = (provider.slug.clone(), seen.to_vec());
        let nodes = leader.commit(move |tx, stamp| {
            for node in unlinked(tx, &slug, &listed)? {
                tracing::info!(node = node.0.name, machine = node.1.machine_id, "linked by serial number");
                nodes::set_machine(tx, stamp, &node.0, Some(&node.1))?;
            }
            of_provider(tx, &slug)
        })?;
        let platform: Vec<KnownMachine> = nodes.iter().filter_map(|(_, known)| known.clone()).collect();
        let found = drift(seen, &platform);
        let mended = self.retag(provider, &found).await;
        let left: Vec<&Drift> = found.iter().filter(|drift| !mended.contains(drift.id()) || !is_tag(drift)).collect();
        let machines = shown(provider, seen, &nodes, &left, leader.now)?;
        let slug = provider.slug.clone();
        leader.commit(move |tx, stamp| rows::synced(tx, &slug, &machines, stamp.now))
    }

    /// Makes the profile tags say what the platform sells each node as. Says which machines it worked for.
    async fn retag(&self, provider: &Provider, found: &[Drift]) -> BTreeSet<ProviderId> {
        let mut mended = BTreeSet::new();
        for differs in found {
            let Mend::Retag { add, remove } = differs.mend() else { continue };
            let id = differs.id();
            let mut done = Ok(());
            if let Some(tag) = &add {
                done = provider.machines.tag(id, tag).await;
            }
            for tag in &remove {
                if done.is_ok() {
                    done = provider.machines.untag(id, tag).await;
                }
            }
            match done {
                Ok(()) => {
                    tracing::info!(machine = %id, "its profile tags follow the platform");
                    mended.insert(id.clone());
                }
                Err(fault) => tracing::warn!(machine = %id, %fault, "its profile tags could not be changed"),
            }
        }
        mended
    }
}

fn is_tag(found: &Drift) -> bool {
    matches!(found, Drift::TagDiffers { .. })
}

/// Nodes that are no machine yet, each with the one machine that shows its serial number.
fn unlinked(tx: &mut Tx<'_>, slug: &str, seen: &[Machine]) -> Result<Vec<(NodeRow, MachineRef)>, StoreError> {
    let mut by_serial: BTreeMap<&str, Vec<&Machine>> = BTreeMap::new();
    for machine in seen {
        if let Some(serial) = machine.serial.as_deref().filter(|serial| !serial.is_empty()) {
            by_serial.entry(serial).or_default().push(machine);
        }
    }
    let mut links = Vec::new();
    for (serial, machines) in by_serial {
        // Two machines with one serial number are nobody's evidence.
        let [machine] = machines.as_slice() else { continue };
        let Some(node) = nodes::by_hardware_serial(tx, serial)?.filter(|node| node.machine.is_none()) else { continue };
        let link = MachineRef { provider: slug.to_owned(), machine_id: machine.id.to_string() };
        if nodes::by_machine(tx, &link)?.is_none() {
            links.push((node, link));
        }
    }
    Ok(links)
}

/// The nodes of a provider, with what the platform knows of each as a machine.
fn of_provider(tx: &mut Tx<'_>, slug: &str) -> Result<Vec<(NodeRow, Option<KnownMachine>)>, StoreError> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let page = nodes::of_provider(tx, slug, Page { after: &after, limit: NODES_A_PAGE })?;
        let Some(last) = page.last() else { return Ok(all) };
        after = last.id.to_string();
        for node in page {
            let known = known(tx, &node)?;
            all.push((node, known));
        }
    }
}

fn known(tx: &mut Tx<'_>, node: &NodeRow) -> Result<Option<KnownMachine>, StoreError> {
    let Some(id) = node.machine.as_ref().and_then(|machine| machine.machine_id.parse().ok()) else { return Ok(None) };
    // One that is being turned into something else has no profile for a while, and is tagged as what it will be.
    let profiles = views::profiles(node)?;
    let profile = node.converting.map(|(to, _)| to).or_else(|| profiles.first().copied());
    let holding = match node.handed_over {
        Some(_) => {
            let newest = tasks::for_provider_of_node(tx, &node.id, 1)?.into_iter().next();
            match newest {
                Some(id) => tasks::get(tx, &id)?,
                None => None,
            }
        }
        None => None,
    };
    let hold = match holding {
        // Being taken back: the order says itself when that goes wrong.
        Some(order) if order.kind == TaskKind::MachineReclaim => return Ok(None),
        Some(order) => order.id.as_str().parse().map_or(Hold::Platform, Hold::Order),
        None => Hold::Platform,
    };
    let serial = node.hardware_serial.clone();
    let profile = profile.unwrap_or(NodeProfile::SliceVm);
    Ok(Some(KnownMachine { id, node: node.name.clone(), serial, profile, hold, gpus: None }))
}

/// What operators are shown: every machine of the provider, and every node that should be one and is not there.
fn shown(
    provider: &Provider,
    seen: &[Machine],
    nodes: &[(NodeRow, Option<KnownMachine>)],
    found: &[&Drift],
    now: Timestamp,
) -> Result<Vec<MachineRow>, StoreError> {
    let node_of = |id: &str| {
        let is = |(node, _): &&(NodeRow, _)| node.machine.as_ref().is_some_and(|machine| machine.machine_id == id);
        nodes.iter().find(is).map(|(node, _)| node)
    };
    let findings = |id: &str| {
        let about: Vec<String> = found.iter().filter(|d| d.id().as_str() == id).map(ToString::to_string).collect();
        write_json(&about)
    };
    let under_way = |id: &str| nodes.iter().any(|(node, known)| known.is_none() && node_is(node, id));
    let mut machines = Vec::new();
    for machine in seen {
        let id = machine.id.as_str();
        machines.push(MachineRow {
            provider: provider.slug.clone(),
            machine_id: id.to_owned(),
            hostname: machine.hostname.clone(),
            serial: machine.serial.clone(),
            status: machine.status.name().to_owned(),
            power: power(machine.power).to_owned(),
            tags: write_json(&machine.tags)?,
            mark: machine.mark.clone(),
            locked: machine.locked,
            node_id: node_of(id).map(|node| node.id.clone()),
            findings: if under_way(id) { "[]".to_owned() } else { findings(id)? },
            seen: now,
        });
    }
    for (node, _) in nodes {
        let Some(link) = &node.machine else { continue };
        if !seen.iter().any(|machine| machine.id.as_str() == link.machine_id) {
            machines.push(MachineRow {
                provider: provider.slug.clone(),
                machine_id: link.machine_id.clone(),
                hostname: node.name.clone(),
                serial: node.hardware_serial.clone(),
                status: "Not there".to_owned(),
                power: "unknown".to_owned(),
                tags: "[]".to_owned(),
                mark: None,
                locked: false,
                node_id: Some(node.id.clone()),
                findings: findings(&link.machine_id)?,
                seen: now,
            });
        }
    }
    Ok(machines)
}

fn node_is(node: &NodeRow, machine_id: &str) -> bool {
    node.machine.as_ref().is_some_and(|machine| machine.machine_id == machine_id)
}

fn power(state: PowerState) -> &'static str {
    match state {
        PowerState::On => "on",
        PowerState::Off => "off",
        PowerState::Error => "error",
        PowerState::Unknown => "unknown",
    }
}
