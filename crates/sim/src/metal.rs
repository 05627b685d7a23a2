//! The machines of the development fleet that are sold whole: a provider in memory, and hosts that come and go with what it
//! installs on them. A host of the platform takes the token that it finds in what its first boot is told, enrolls with a key
//! of its own, and is an agent from then on; on a tenant's machine there is none.
//!
//! The provider forgets everything when the process ends. What it had is put together again from the store: a tenant keeps
//! its machine, and one that was on its way is free, so that whoever had ordered it begins again.

use crate::fleet::{DEV, HostPlan};
use agent::wire::credential::NodeKey;
use api::node_plane::EnrollRequest;
use control::{
    Ports, agents,
    authority::Authority,
    node_plane::NodePlane,
    providers::{AgentSettings, Install, Provider, TOKEN_FILE},
};
use machines::{
    BadOrder, DeployOrder, Erase, Machine, MachineStatus, PowerState, ProviderId,
    simulated::{SimulatedMachines, Timings},
};
use model::{
    Timestamp,
    task::{TaskKind, TaskState},
};
use std::{fs, io, path::Path, sync::Arc};
use store::{
    Db, Stamp, StoreError, Tx,
    nodes::{self, MachineRef, NodeRow},
    tasks,
};

/// What the provider is called.
pub const PROVIDER: &str = "rack";

/// The provider of the development fleet.
#[derive(Debug, Clone)]
pub struct Metal {
    pub(crate) machines: Arc<SimulatedMachines>,
    authority: Arc<Authority>,
}

impl Metal {
    /// Puts the machines together from what the store knows, and says which node is which of them.
    pub fn open(db: &Db, ports: &Ports, authority: Arc<Authority>, timings: Timings) -> Result<Self, StoreError> {
        let clock = ports.clone();
        let machines = Arc::new(SimulatedMachines::new(move || clock.now(), timings));
        for plan in sold_whole() {
            let (ports, found) = (ports.clone(), plan.clone());
            let machine = db.write(move |tx| {
                let mut bits = || ports.id_bits();
                linked(tx, &mut Stamp::new(ports.now(), &mut bits), &found)
            })?;
            if let Some(machine) = machine {
                machines.put(machine);
            }
        }
        Ok(Self { machines, authority })
    }

    /// As the control plane uses it.
    pub fn provider(&self, agents_url: &str) -> Result<Provider, BadOrder> {
        let install = |system: &str, image: &str| Install { system: system.to_owned(), image: image.to_owned() };
        Ok(Provider {
            slug: PROVIDER.to_owned(),
            kind: "simulated".to_owned(),
            address: "this process".to_owned(),
            machines: Arc::clone(&self.machines) as Arc<dyn machines::MachineProvider>,
            host: install("custom", "gpuaas-host"),
            agents: AgentSettings::new(agents_url, &self.authority.sha256())?,
            tenant: install("ubuntu", "noble"),
            erase: Erase::Secure,
        })
    }
}

fn sold_whole() -> impl Iterator<Item = HostPlan> {
    DEV.hosts().into_iter().filter(|plan| !plan.pool.slices_enabled)
}

fn machine_id(plan: &HostPlan) -> Option<ProviderId> {
    plan.name.parse().ok()
}

/// A host's machine as it was when the process ended, or as it is in a new fleet.
fn linked(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, plan: &HostPlan) -> Result<Option<Machine>, StoreError> {
    let (Some(id), Some(node)) = (machine_id(plan), nodes::get(tx, &plan.node_id())?) else { return Ok(None) };
    if node.machine.is_none() {
        let link = MachineRef { provider: PROVIDER.to_owned(), machine_id: id.to_string() };
        nodes::set_machine(tx, stamp, &node, Some(&link))?;
    }
    let (status, mark) = was(tx, &node)?;
    Ok(Some(Machine {
        id,
        hostname: plan.name.clone(),
        serial: topology::discover(&plan.tree()).host.serial,
        power: if status == MachineStatus::Deployed { PowerState::On } else { PowerState::Off },
        status,
        message: String::new(),
        tags: Default::default(),
        pool: Some(plan.pool.slug.to_owned()),
        zone: None,
        owner: Some("platform".to_owned()),
        mark,
        locked: false,
        gpus: Some(plan.gpus),
    }))
}

fn was(tx: &mut Tx<'_>, node: &NodeRow) -> Result<(MachineStatus, Option<String>), StoreError> {
    if node.handed_over.is_none() {
        return Ok((MachineStatus::Deployed, node.machine_mark.clone()));
    }
    let newest = match tasks::for_provider_of_node(tx, &node.id, 1)?.first() {
        Some(id) => tasks::get(tx, id)?,
        None => None,
    };
    let tenants = newest.filter(|order| order.kind == TaskKind::MachineDeploy && order.state == TaskState::Succeeded);
    Ok(match tenants {
        Some(order) => (MachineStatus::Deployed, Some(order.id.to_string())),
        None => (MachineStatus::Ready, None),
    })
}

/// Who is on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OnIt {
    /// The platform's host, as it was.
    Platform,
    /// The platform's host, just installed, with the token it was told.
    Installed(String),
    /// A tenant, or nobody.
    Others,
}

/// One machine, as its host sees it.
#[derive(Debug)]
pub(crate) struct OwnMachine {
    metal: Metal,
    id: ProviderId,
    // The mark under which the host that runs now was installed.
    mark: Option<String>,
    // A token that did not work is not tried again.
    tried: Option<String>,
}

impl OwnMachine {
    /// The machine of a host that is sold whole.
    pub(crate) fn of(plan: &HostPlan, metal: &Metal, db: &Db) -> Result<Option<Self>, StoreError> {
        let Some(id) = machine_id(plan).filter(|id| metal.machines.seen(id).is_some()) else { return Ok(None) };
        let node_id = plan.node_id();
        // On a machine that is a tenant's, or on its way back, there is no host of the platform's until one is installed.
        let node = db.read(move |tx| nodes::get(tx, &node_id))?.filter(|node| node.handed_over.is_none());
        let mark = node.and_then(|node| node.machine_mark);
        Ok(Some(Self { metal: metal.clone(), id, mark, tried: None }))
    }

    /// Who is on it now.
    pub(crate) fn on_it(&self) -> OnIt {
        let Some(seen) = self.metal.machines.seen(&self.id) else { return OnIt::Others };
        if seen.status != MachineStatus::Deployed {
            return OnIt::Others;
        }
        if seen.mark == self.mark {
            return OnIt::Platform;
        }
        let token = self.metal.machines.installed(&self.id).as_ref().and_then(token_of);
        token.filter(|token| self.tried.as_ref() != Some(token)).map_or(OnIt::Others, OnIt::Installed)
    }

    /// Trades the token for an identity. The key is kept before anybody is told of it.
    pub(crate) fn enroll(
        &mut self,
        (db, ports): (&Db, &Ports),
        node_plane: &NodePlane,
        plan: &HostPlan,
        (folder, token): (&Path, String),
    ) -> io::Result<bool> {
        let mark = self.metal.machines.installed(&self.id).map(|order| order.mark().to_string());
        let key = NodeKey::generate().map_err(io::Error::other)?;
        keep_key(folder, plan, &key)?;
        let request = EnrollRequest {
            secret: token.clone(),
            csr_pem: key.request_pem().map_err(io::Error::other)?,
            hardware_serial: topology::discover(&plan.tree()).host.serial,
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        match agents::enroll((db, ports), &self.metal.authority, node_plane, &request) {
            Ok(_) => {
                self.mark = mark;
                Ok(true)
            }
            Err(problem) => {
                tracing::warn!(host = plan.name, detail = problem.detail, "a host that came back was not let in");
                // A store that was busy is asked again.
                self.tried = (problem.code == api::Code::EnrollmentRefused).then_some(token);
                Ok(false)
            }
        }
    }
}

fn key_path(folder: &Path, plan: &HostPlan) -> std::path::PathBuf {
    folder.join(format!("{}.key", plan.name))
}

fn keep_key(folder: &Path, plan: &HostPlan, key: &NodeKey) -> io::Result<()> {
    crate::dev::replace_private(&key_path(folder, plan), key.to_hex().as_bytes())
}

/// The key that a host was last enrolled with; its first one is in its plan.
pub(crate) fn kept_key(folder: &Path, plan: &HostPlan) -> io::Result<Option<NodeKey>> {
    match fs::read_to_string(key_path(folder, plan)) {
        Ok(text) => NodeKey::from_hex(text.trim()).map(Some).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn token_of(order: &DeployOrder) -> Option<String> {
    let text = std::str::from_utf8(order.user_data().as_bytes()).ok()?;
    let told: serde_json::Value = serde_json::from_str(text.strip_prefix("#cloud-config\n")?).ok()?;
    let file = told["write_files"].as_array()?.iter().find(|file| file["path"] == TOKEN_FILE)?;
    Some(file["content"].as_str()?.to_owned())
}

/// How long the provider takes, for people who watch.
pub fn timings(instant: bool) -> Timings {
    if instant {
        Timings { deploy_s: 0, release_s: 0, erase_s: 0 }
    } else {
        Timings { deploy_s: 6, release_s: 1, erase_s: 3 }
    }
}

/// When a host is looked at next that nobody is on.
pub(crate) fn away_until(now: Timestamp) -> Timestamp {
    now.plus_micros(200_000)
}
