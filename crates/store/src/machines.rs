//! Whole machines and who provides them: how far an order to a provider has come, which providers a control plane was
//! started with, and what each last showed. None of it is the truth: the truth is at the provider, and what is kept here is
//! found again by looking.

use model::{NodeId, TaskId, Timestamp};

use crate::scope::Page;
use crate::{Row, StoreError, Tx};

/// How far an order to a provider has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkRow {
    /// The order.
    pub task_id: TaskId,
    /// Which part of it is under way.
    pub phase: String,
    /// Since when.
    pub phase_since: Timestamp,
    /// How the machine was last seen, in its provider's words.
    pub status: String,
    /// Since when it is like that.
    pub status_since: Timestamp,
    /// How many calls in a row failed.
    pub failures: i64,
    /// What the last of them said.
    pub fault: String,
    /// When it is looked at next.
    pub look: Timestamp,
}

/// A provider of machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRow {
    /// Its name.
    pub slug: String,
    /// What it is, such as `maas`.
    pub kind: String,
    /// Where it is.
    pub address: String,
    /// When somebody last asked for a look at all its machines.
    pub sync_wanted: Timestamp,
    /// When all its machines were last looked at.
    pub synced: Option<Timestamp>,
    /// What the last look ran into; empty when it went well.
    pub fault: String,
    /// When.
    pub fault_at: Option<Timestamp>,
}

/// A machine as its provider last showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineRow {
    /// Whose it is.
    pub provider: String,
    /// Its id there.
    pub machine_id: String,
    /// Its host name there.
    pub hostname: String,
    /// Its serial number there.
    pub serial: Option<String>,
    /// Where it is in its provider's life cycle, in the provider's words.
    pub status: String,
    /// Whether it runs.
    pub power: String,
    /// Its tags, as a JSON list.
    pub tags: String,
    /// The mark of the order that has it.
    pub mark: Option<String>,
    /// A person locked it.
    pub locked: bool,
    /// The node it is.
    pub node_id: Option<NodeId>,
    /// What does not agree with the platform, as a JSON list.
    pub findings: String,
    /// When it was seen like this.
    pub seen: Timestamp,
}

const WORK: &str = "SELECT task_id, phase, phase_since_us, status, status_since_us, failures, fault, look_us \
    FROM machine_work WHERE task_id = $1";
const PUT_WORK: &str = "INSERT INTO machine_work (task_id, phase, phase_since_us, status, status_since_us, failures, fault, \
    look_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (task_id) DO UPDATE SET phase = excluded.phase, \
    phase_since_us = excluded.phase_since_us, status = excluded.status, status_since_us = excluded.status_since_us, \
    failures = excluded.failures, fault = excluded.fault, look_us = excluded.look_us";
const PROVIDERS: &str =
    "SELECT slug, kind, address, sync_wanted_us, synced_us, fault, fault_us FROM providers ORDER BY slug";
const PUT_PROVIDER: &str = "INSERT INTO providers (slug, kind, address, sync_wanted_us) VALUES ($1, $2, $3, $4) \
    ON CONFLICT (slug) DO UPDATE SET kind = excluded.kind, address = excluded.address";
const WANT_SYNC: &str = "UPDATE providers SET sync_wanted_us = $1 WHERE sync_wanted_us < $1";
const SYNCED: &str = "UPDATE providers SET synced_us = $2, fault = '', fault_us = NULL WHERE slug = $1";
const NOT_SYNCED: &str = "UPDATE providers SET fault = $2, fault_us = $3 WHERE slug = $1";
const MACHINES: &str = "SELECT provider, machine_id, hostname, serial, status, power, tags, mark, locked, node_id, \
    findings, seen_us, lower(provider || '_' || machine_id) FROM provider_machines \
    WHERE lower(provider || '_' || machine_id) > $1 ORDER BY lower(provider || '_' || machine_id) LIMIT $2";
const FORGET_MACHINES: &str = "DELETE FROM provider_machines WHERE provider = $1";
const PUT_MACHINE: &str = "INSERT INTO provider_machines (provider, machine_id, hostname, serial, status, power, tags, mark, \
    locked, node_id, findings, seen_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

/// How far an order has come; none before its provider was asked.
pub fn work(tx: &mut Tx<'_>, id: &TaskId) -> Result<Option<WorkRow>, StoreError> {
    let read = |row: &Row| {
        Ok(WorkRow {
            task_id: row.parse(0)?,
            phase: row.text(1)?.to_owned(),
            phase_since: row.timestamp(2)?,
            status: row.text(3)?.to_owned(),
            status_since: row.timestamp(4)?,
            failures: row.int(5)?,
            fault: row.text(6)?.to_owned(),
            look: row.timestamp(7)?,
        })
    };
    tx.query_opt(WORK, &[id.into()])?.as_ref().map(read).transpose()
}

/// Notes how far an order has come.
pub fn put_work(tx: &mut Tx<'_>, work: &WorkRow) -> Result<(), StoreError> {
    let params = [
        (&work.task_id).into(),
        work.phase.as_str().into(),
        work.phase_since.into(),
        work.status.as_str().into(),
        work.status_since.into(),
        work.failures.into(),
        work.fault.as_str().into(),
        work.look.into(),
    ];
    tx.execute_one(PUT_WORK, &params)
}

/// Every provider, by name.
pub fn providers(tx: &mut Tx<'_>) -> Result<Vec<ProviderRow>, StoreError> {
    let read = |row: &Row| {
        Ok(ProviderRow {
            slug: row.text(0)?.to_owned(),
            kind: row.text(1)?.to_owned(),
            address: row.text(2)?.to_owned(),
            sync_wanted: row.timestamp(3)?,
            synced: row.opt_timestamp(4)?,
            fault: row.text(5)?.to_owned(),
            fault_at: row.opt_timestamp(6)?,
        })
    };
    tx.query(PROVIDERS, &[])?.iter().map(read).collect()
}

/// Notes a provider that this control plane was started with. One that is new is looked at at once.
pub fn put_provider(tx: &mut Tx<'_>, slug: &str, kind: &str, address: &str, now: Timestamp) -> Result<(), StoreError> {
    tx.execute_one(PUT_PROVIDER, &[slug.into(), kind.into(), address.into(), now.into()])
}

/// Asks for a look at all machines of all providers. Says how many providers there are to look at anew.
pub fn want_sync(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64, StoreError> {
    tx.execute(WANT_SYNC, &[now.into()])
}

/// Keeps what a provider showed, in the place of what it showed before.
pub fn synced(tx: &mut Tx<'_>, slug: &str, machines: &[MachineRow], now: Timestamp) -> Result<(), StoreError> {
    tx.execute(FORGET_MACHINES, &[slug.into()])?;
    for machine in machines {
        let params = [
            machine.provider.as_str().into(),
            machine.machine_id.as_str().into(),
            machine.hostname.as_str().into(),
            machine.serial.as_deref().into(),
            machine.status.as_str().into(),
            machine.power.as_str().into(),
            machine.tags.as_str().into(),
            machine.mark.as_deref().into(),
            machine.locked.into(),
            machine.node_id.as_ref().into(),
            machine.findings.as_str().into(),
            machine.seen.into(),
        ];
        tx.execute_one(PUT_MACHINE, &params)?;
    }
    tx.execute_one(SYNCED, &[slug.into(), now.into()])
}

/// Notes that a provider could not be looked at. What it showed before stays.
pub fn not_synced(tx: &mut Tx<'_>, slug: &str, fault: &str, now: Timestamp) -> Result<(), StoreError> {
    tx.execute_one(NOT_SYNCED, &[slug.into(), fault.into(), now.into()])
}

/// Machines by provider and id, each with its place in the list.
pub fn machines(tx: &mut Tx<'_>, page: Page<'_>) -> Result<Vec<(String, MachineRow)>, StoreError> {
    let read = |row: &Row| {
        let machine = MachineRow {
            provider: row.text(0)?.to_owned(),
            machine_id: row.text(1)?.to_owned(),
            hostname: row.text(2)?.to_owned(),
            serial: row.opt_text(3)?.map(str::to_owned),
            status: row.text(4)?.to_owned(),
            power: row.text(5)?.to_owned(),
            tags: row.text(6)?.to_owned(),
            mark: row.opt_text(7)?.map(str::to_owned),
            locked: row.flag(8)?,
            node_id: row.opt_parse(9)?,
            findings: row.text(10)?.to_owned(),
            seen: row.timestamp(11)?,
        };
        Ok((row.text(12)?.to_owned(), machine))
    };
    tx.query(MACHINES, &[page.after.into(), page.rows().into()])?.iter().map(read).collect()
}
