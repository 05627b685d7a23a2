//! One machine of the server, with MAAS's states and what may be done in each.

use super::request::Asked;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Default)]
pub struct Node {
    pub id: String,
    pub hostname: String,
    pub serial: String,
    pub status: i64,
    pub message: String,
    pub owner: Option<String>,
    pub agent_name: String,
    pub annotations: BTreeMap<String, String>,
    pub tags: BTreeSet<String>,
    pub locked: bool,
    /// How often it is read before its present state ends, and what comes then.
    pub next: Vec<(u32, i64)>,
    /// How often it was installed, with the fields of the last time.
    pub installations: u32,
    pub deployed_with: BTreeMap<String, String>,
    pub released_with: BTreeMap<String, String>,
    /// How an installation and an erasure end here.
    pub deploys_to: i64,
    pub erases_to: i64,
}

pub fn number_name(number: i64) -> &'static str {
    const NAMES: [&str; 23] = [
        "New",
        "Commissioning",
        "Failed commissioning",
        "Missing",
        "Ready",
        "Reserved",
        "Deployed",
        "Retired",
        "Broken",
        "Deploying",
        "Allocated",
        "Failed deployment",
        "Releasing",
        "Releasing failed",
        "Disk erasing",
        "Failed disk erasing",
        "Rescue mode",
        "Entering rescue mode",
        "Failed to enter rescue mode",
        "Exiting rescue mode",
        "Failed to exit rescue mode",
        "Testing",
        "Failed testing",
    ];
    usize::try_from(number).ok().and_then(|place| NAMES.get(place)).copied().unwrap_or("Melted")
}

type Said = Result<String, (u16, String)>;

impl Node {
    pub fn ready(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            hostname: format!("host-{id}"),
            serial: format!("SN-{id}"),
            status: 4,
            deploys_to: 6,
            erases_to: 12,
            ..Self::default()
        }
    }

    pub fn take(&mut self, owner: &str, agent_name: &str) {
        (self.status, self.owner, self.agent_name) = (10, Some(owner.to_owned()), agent_name.to_owned());
    }

    fn let_go(&mut self, status: i64) {
        self.status = status;
        self.owner = None;
        self.agent_name.clear();
        self.annotations.clear();
    }

    /// What the API shows. The agent name is not part of it.
    pub fn json(&self) -> String {
        serde_json::json!({
            "system_id": self.id, "hostname": self.hostname, "fqdn": format!("{}.maas", self.hostname),
            "status": self.status, "status_name": number_name(self.status), "status_message": self.message,
            "power_state": if matches!(self.status, 6 | 9) { "on" } else { "off" },
            "tag_names": self.tags, "pool": { "id": 0, "name": "default" }, "zone": { "id": 1, "name": "east" },
            "owner": self.owner, "owner_data": self.annotations, "workload_annotations": self.annotations,
            "locked": self.locked, "memory": 2_097_152, "storage": 30_720_000.5, "interface_set": [],
            "hardware_info": { "system_vendor": "Unknown", "system_serial": self.serial },
            "resource_uri": format!("/MAAS/api/2.0/machines/{}/", self.id),
        })
        .to_string()
    }

    /// One operation on this machine.
    pub fn act(&mut self, asked: &Asked) -> Said {
        match asked.operation {
            "read" => {
                self.live();
                Ok(self.json())
            }
            "deploy" => self.deploy(asked),
            "release" => self.release(asked),
            "mark_broken" => {
                self.next.clear();
                self.let_go(8);
                self.message = asked.field("comment").to_owned();
                Ok(self.json())
            }
            "set_workload_annotations" => {
                if self.owner.as_deref() != Some("gpuaas") {
                    return Err((409, "Cannot set workload annotation: it hasn't been acquired.".to_owned()));
                }
                self.annotations.extend(asked.form().clone());
                Ok(self.json())
            }
            other => Err((400, format!("no operation {other}"))),
        }
    }

    /// Time passes by being looked at.
    fn live(&mut self) {
        let Some((reads, status)) = self.next.first().copied() else { return };
        if reads > 0 {
            self.next[0].0 = reads - 1;
            return;
        }
        self.next.remove(0);
        if status == 4 { self.let_go(4) } else { self.status = status }
    }

    fn deploy(&mut self, asked: &Asked) -> Said {
        if self.status == 4 {
            self.take("gpuaas", "");
        }
        if self.status != 10 || self.locked {
            let name = number_name(self.status);
            return Err((409, format!("Can't deploy a machine that is in the '{name}' state")));
        }
        if self.owner.as_deref() != Some("gpuaas") {
            return Err((403, "Forbidden".to_owned()));
        }
        if STANDARD.decode(asked.field("user_data")).is_err() {
            return Err((400, "user_data is not base64".to_owned()));
        }
        self.status = 9;
        self.installations += 1;
        self.deployed_with = asked.form().clone();
        self.next = vec![(3, self.deploys_to)];
        Ok(self.json())
    }

    fn release(&mut self, asked: &Asked) -> Said {
        match self.status {
            4 | 12 => {}
            5 | 6 | 8 | 9 | 10 | 11 | 13 | 15 if !self.locked => {
                self.released_with = asked.form().clone();
                if asked.field("erase") == "true" {
                    self.status = 14;
                    self.next = vec![(2, self.erases_to), (1, 4)];
                    self.next.truncate(if self.erases_to == 12 { 2 } else { 1 });
                } else {
                    self.status = 12;
                    self.next = vec![(1, 4)];
                }
            }
            status => {
                let name = number_name(status);
                return Err((409, format!("Machine cannot be released in its current state ('{name}').")));
            }
        }
        Ok(self.json())
    }
}
