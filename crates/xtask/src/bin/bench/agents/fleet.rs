//! A store with a fleet in it: every node is enrolled and has a certificate, as if the tokens had been traded long ago. Keys
//! are made from the nodes' numbers, so that only the certificates have to be handed to whoever plays the agents.

use crate::server::bootstrap;
use agent::wire::credential::NodeKey;
use control::{
    Ports,
    authority::{Authority, CERTIFICATE_FILE, NodeRequest},
};
use model::{NodeId, PoolId, RegionId, Timestamp};
use std::{path::PathBuf, sync::Arc};
use store::{
    Dialect, Stamp, StoreError, Tx, certificates,
    nodes::{self, NodeNew},
    pools::{self, PoolNew},
    regions,
    testing::Place,
};
use tempfile::TempDir;

/// A fleet on record.
pub struct Fleet {
    place: Place,
    folder: TempDir,
    /// An operator's.
    pub token: String,
}

/// How nodes are spread over states, and how often one was lost.
pub struct Told {
    /// Nodes that are online now.
    pub online: u64,
    /// How often a node became silent.
    pub silences: u64,
}

struct Member {
    id: NodeId,
    public_key: String,
    serial: String,
    not_after: Timestamp,
}

impl Fleet {
    /// Makes a store with this many nodes.
    pub fn new(nodes: usize) -> Result<Self, String> {
        let (place, ports) = (Place::new(Dialect::Sqlite), Ports::system());
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let db = place.open();
        let identity = db.read(store::store_identity).map_err(|error: StoreError| error.to_string())?;
        let authority = folder.path().join("authority");
        Authority::create(&authority, &ports).map_err(|fault| fault.to_string())?;
        let domain = identity.store_id.to_ascii_lowercase();
        let authority = Authority::open(&authority, &domain).map_err(|fault| fault.to_string())?;
        let mut pems = Vec::with_capacity(nodes);
        let mut members = Vec::with_capacity(nodes);
        for number in 0..nodes {
            let (member, pem) = enrolled(&authority, &ports, number)?;
            members.push(member);
            pems.push(pem);
        }
        let members = Arc::new(members);
        db.write(move |tx| record(tx, &ports, &members)).map_err(|error: StoreError| error.to_string())?;
        drop(db);
        let pems = serde_json::to_vec(&pems).map_err(|error| error.to_string())?;
        std::fs::write(folder.path().join("certificates.json"), pems).map_err(|error| error.to_string())?;
        let token = bootstrap(place.url())?;
        Ok(Self { place, folder, token })
    }

    /// The address of the store.
    pub fn url(&self) -> &str {
        self.place.url()
    }

    /// The folder with the authority.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("authority")
    }

    /// The authority's certificate.
    pub fn authority_pem(&self) -> PathBuf {
        self.authority().join(CERTIFICATE_FILE)
    }

    /// The certificates of all nodes, as a JSON list of PEM texts in the order of their numbers.
    pub fn certificates(&self) -> PathBuf {
        self.folder.path().join("certificates.json")
    }

    /// What the store tells of the nodes. Only while no server has it.
    pub fn told(&self) -> Result<Told, String> {
        let told = self.place.open().read(|tx| {
            let online = tx.query_one("SELECT COUNT(*) FROM nodes WHERE state = 'online'", &[])?.int(0)?;
            let silences = "SELECT COUNT(*) FROM events WHERE noun = 'node' AND state_to = 'silent'";
            let silences = tx.query_one(silences, &[])?.int(0)?;
            Ok::<_, StoreError>((online, silences))
        });
        let (online, silences) = told.map_err(|error| error.to_string())?;
        Ok(Told { online: online.unsigned_abs(), silences: silences.unsigned_abs() })
    }
}

/// The key of a node.
pub fn key(number: usize) -> Result<NodeKey, String> {
    NodeKey::from_hex(&format!("{:064x}", number + 1)).map_err(|fault| fault.to_string())
}

fn enrolled(authority: &Authority, ports: &Ports, number: usize) -> Result<(Member, String), String> {
    let request = key(number)?.request_pem().map_err(|fault| fault.to_string())?;
    let request = NodeRequest::read(&request).map_err(|fault| fault.to_string())?;
    let id = NodeId::from_parts(ports.now(), ports.id_bits());
    let signed = authority.sign_node(&request, &id, ports).map_err(|fault| fault.to_string())?;
    let (serial, not_after) = (signed.serial, signed.not_after);
    Ok((Member { id, public_key: request.public_key(), serial, not_after }, signed.pem))
}

fn record(tx: &mut Tx<'_>, ports: &Ports, members: &[Member]) -> Result<(), StoreError> {
    let unreadable = || StoreError::Other("a name that cannot be read".into());
    let now = ports.now();
    let (region, pool) = (RegionId::from_parts(now, ports.id_bits()), PoolId::from_parts(now, ports.id_bits()));
    let mut bits = || ports.id_bits();
    let mut stamp = Stamp::new(now, &mut bits);
    let (slug, name) = ("eu-1".parse().map_err(|_| unreadable())?, "Bench".parse().map_err(|_| unreadable())?);
    regions::insert(tx, &mut stamp, &region, &slug, &name, true)?;
    let gpu_model = "h200-sxm".parse().map_err(|_| unreadable())?;
    let new = PoolNew {
        id: &pool,
        region_id: &region,
        slug: &slug,
        name: &name,
        gpu_model,
        slices_enabled: true,
        private_range: Some("10.64.0.0/10"),
    };
    pools::insert(tx, &mut stamp, new)?;
    for (number, member) in members.iter().enumerate() {
        let new = NodeNew {
            id: &member.id,
            pool_id: &pool,
            name: &format!("node-{number}"),
            gpu_model,
            public_key: &member.public_key,
            partitions: "null",
            hardware_serial: None,
            profiles: "[]",
            promoted: None,
        };
        nodes::insert(tx, &mut stamp, new)?;
        certificates::insert(tx, &member.serial, &member.id, member.not_after, now)?;
    }
    Ok(())
}
