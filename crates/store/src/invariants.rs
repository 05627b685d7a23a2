//! The auditor: rules that hold in every committed state, checked by set-based queries over the whole store.
//!
//! The schema prevents most of what is looked for here; the auditor does not trust it. A violation names the rule, the
//! row and what is wrong with it. Nothing is repaired. What the store cannot show is checked elsewhere: what agents
//! journalled (part of I6), answers given before a commit (I7), bytes of refusals (I27).
//!
//! [`check_state`] looks at what is now (claims, slots, allocations, tasks, tenancy) and costs little;
//! [`check_history`] reads every event and audit row as well.

use model::event::Noun;
use model::proof::{Expected, Proof, WipeStep};
use model::{NodeId, SlotId};

use crate::{Row, StoreError, Tx, audit};

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which rule: `I1`, `I2`, ….
    pub invariant: &'static str,
    /// The row that breaks it.
    pub subject: String,
    /// What is wrong with it.
    pub detail: String,
}

/// What the store cannot know by itself and the auditor needs.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Whether a move is on the published graph of its noun; `None` for nouns without one.
    pub edge_exists: &'a dyn Fn(Noun, &str, &str) -> Option<bool>,
    /// Whether a proof carries a good signature for this public key.
    pub proof_signed: &'a dyn Fn(&str, &Proof) -> bool,
    /// At most this many violations a check.
    pub limit: i64,
}

impl std::fmt::Debug for Rules<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// A query that finds offenders: (subject, detail), at most `$1` of them.
struct Check {
    invariant: &'static str,
    sql: &'static str,
}

const STATE: &[Check] = &[
    Check {
        invariant: "I1",
        sql: "SELECT slot_id, CAST(COUNT(*) AS TEXT) || ' active claims on one slot' FROM allocation_resource_claims \
              WHERE active_mode IS NOT NULL AND slot_id IS NOT NULL GROUP BY slot_id HAVING COUNT(*) > 1 LIMIT $1",
    },
    Check {
        invariant: "I2",
        sql: "SELECT x.node_id, 'claim ' || x.id || ' has the whole node beside claim ' || c.id \
              FROM allocation_resource_claims x JOIN allocation_resource_claims c ON c.node_id = x.node_id \
              AND c.active_mode IN ('sliced', 'exclusive') AND c.id <> x.id \
              WHERE x.active_mode = 'exclusive' LIMIT $1",
    },
    Check {
        invariant: "I2",
        sql: "SELECT c.node_id, 'claim ' || c.id || ' is ' || c.active_mode || ', the node ' || \
              COALESCE(o.mode, 'has no occupancy') FROM allocation_resource_claims c \
              LEFT JOIN node_occupancy o ON o.node_id = c.node_id \
              WHERE c.active_mode IS NOT NULL AND (o.mode IS NULL OR o.mode <> c.active_mode) LIMIT $1",
    },
    Check {
        invariant: "I2",
        sql: "SELECT o.node_id, 'is ' || o.mode || ' without an active claim' FROM node_occupancy o \
              WHERE o.mode <> 'free' AND NOT EXISTS (SELECT 1 FROM allocation_resource_claims c \
              WHERE c.node_id = o.node_id AND c.active_mode IN ('sliced', 'exclusive')) LIMIT $1",
    },
    Check {
        invariant: "I3",
        sql: "SELECT id, CASE WHEN released_us < claimed_us THEN 'ends before it begins' \
              ELSE 'is neither active nor ended, or both' END FROM allocation_resource_claims \
              WHERE released_us < claimed_us OR (active_mode IS NULL AND released_us IS NULL) \
              OR (active_mode IS NOT NULL AND released_us IS NOT NULL) LIMIT $1",
    },
    Check {
        invariant: "I3",
        sql: "SELECT id, 'begins before the last claim on slot ' || slot_id || ' ended' FROM (SELECT id, slot_id, \
              claimed_us, MAX(COALESCE(released_us, 9223372036854775807)) OVER (PARTITION BY slot_id \
              ORDER BY fence, claimed_us, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS held_until_us \
              FROM allocation_resource_claims WHERE slot_id IS NOT NULL) AS held \
              WHERE claimed_us < held_until_us LIMIT $1",
    },
    Check {
        invariant: "I3",
        sql: "SELECT c.id, 'overlaps claim ' || x.id || ' on the whole node' FROM allocation_resource_claims x \
              JOIN allocation_resource_claims c ON c.node_id = x.node_id AND c.id <> x.id \
              AND c.claimed_us < COALESCE(x.released_us, 9223372036854775807) \
              AND x.claimed_us < COALESCE(c.released_us, 9223372036854775807) \
              WHERE x.kind = 'node_exclusive' LIMIT $1",
    },
    Check {
        invariant: "I4",
        sql: "SELECT id, 'is ' || state || ' with ' || CAST(held AS TEXT) || ' active claims on ' || \
              CAST(nodes AS TEXT) || ' nodes instead of ' || CAST(expected AS TEXT) FROM (SELECT a.id, a.state, \
              CASE WHEN a.state NOT IN ('reserved', 'provisioning', 'running', 'releasing') THEN 0 \
                WHEN a.shape = 'baremetal' THEN 1 ELSE a.gpu_count END AS expected, \
              COALESCE(c.held, 0) AS held, COALESCE(c.nodes, 0) AS nodes FROM allocations a LEFT JOIN \
              (SELECT allocation_id, COUNT(*) AS held, COUNT(DISTINCT node_id) AS nodes \
                FROM allocation_resource_claims WHERE active_mode IS NOT NULL GROUP BY allocation_id) AS c \
              ON c.allocation_id = a.id) AS counted WHERE held <> expected OR nodes > 1 LIMIT $1",
    },
    Check {
        invariant: "I5",
        sql: "SELECT c.id, 'is active for allocation ' || c.allocation_id || ', which ' || \
              COALESCE('is ' || a.state, 'does not exist') FROM allocation_resource_claims c \
              LEFT JOIN allocations a ON a.id = c.allocation_id WHERE c.active_mode IS NOT NULL \
              AND (a.id IS NULL OR a.state IN ('released', 'refused', 'failed')) LIMIT $1",
    },
    Check {
        invariant: "I6",
        sql: "SELECT id, 'fence ' || CAST(fence AS TEXT) || ' on slot ' || slot_id || ' after fence ' || \
              CAST(before AS TEXT) FROM (SELECT id, slot_id, fence, LAG(fence) OVER (PARTITION BY slot_id \
              ORDER BY claimed_us, fence, id) AS before FROM allocation_resource_claims WHERE slot_id IS NOT NULL) \
              AS fenced WHERE fence <= before LIMIT $1",
    },
    // Each claim on a slot, or on its whole node, begins a new use of it; only the former carries the slot's number.
    Check {
        invariant: "I6",
        sql: "SELECT s.id, 'use generation ' || CAST(s.use_generation AS TEXT) || ', last fence ' || \
              CAST(COALESCE(c.fence, 0) AS TEXT) FROM node_resource_slots s LEFT JOIN (SELECT slot_id, \
              MAX(fence) AS fence FROM allocation_resource_claims WHERE slot_id IS NOT NULL GROUP BY slot_id) AS c \
              ON c.slot_id = s.id LEFT JOIN (SELECT node_id, COUNT(*) AS times FROM allocation_resource_claims \
              WHERE kind = 'node_exclusive' GROUP BY node_id) AS whole ON whole.node_id = s.node_id \
              WHERE s.use_generation < COALESCE(c.fence, 0) \
              OR s.use_generation > COALESCE(c.fence, 0) + COALESCE(whole.times, 0) LIMIT $1",
    },
    Check {
        invariant: "I6",
        sql: "SELECT n.id, 'use generation ' || CAST(n.use_generation AS TEXT) || ', last fence ' || \
              CAST(COALESCE(c.fence, 0) AS TEXT) FROM nodes n LEFT JOIN (SELECT node_id, MAX(fence) AS fence \
              FROM allocation_resource_claims WHERE kind = 'node_exclusive' GROUP BY node_id) AS c \
              ON c.node_id = n.id WHERE n.use_generation <> COALESCE(c.fence, 0) LIMIT $1",
    },
    Check {
        invariant: "I8",
        sql: "SELECT principal_id, CAST(COUNT(*) AS TEXT) || ' answers under key ' || idempotency_key \
              FROM idempotency GROUP BY principal_id, idempotency_key HAVING COUNT(*) > 1 LIMIT $1",
    },
    Check {
        invariant: "I10",
        sql: "SELECT s.id, 'is available after use ' || CAST(s.use_generation AS TEXT) || \
              ' without a proof of it and without an override' FROM node_resource_slots s WHERE s.state = 'available' AND s.use_generation > 0 \
              AND NOT EXISTS (SELECT 1 FROM wipe_proofs p WHERE p.slot_id = s.id \
              AND p.use_generation = s.use_generation AND p.nonce = s.wipe_nonce) AND NOT EXISTS \
              (SELECT 1 FROM wipe_overrides o WHERE o.slot_id = s.id AND o.use_generation = s.use_generation \
              AND o.state = 'used') LIMIT $1",
    },
    Check {
        invariant: "I10",
        sql: "SELECT id, 'was asked for and decided by the same person' FROM wipe_overrides \
              WHERE decided_by = requested_by LIMIT $1",
    },
    Check {
        invariant: "I10",
        sql: "SELECT id, CASE WHEN state = 'approved' THEN 'is approved and opened nothing' \
              ELSE 'was decided after it had expired' END FROM wipe_overrides \
              WHERE state = 'approved' OR decided_us >= expires_us LIMIT $1",
    },
    Check {
        invariant: "I19",
        sql: "SELECT a.id, 'is ' || a.state || ' and no decision says why' FROM allocations a \
              WHERE a.state IN ('reserved', 'provisioning', 'running', 'refused') AND NOT EXISTS \
              (SELECT 1 FROM decisions d WHERE d.subject_id = a.id \
              AND d.outcome = CASE WHEN a.state = 'refused' THEN 'refused' ELSE 'placed' END) LIMIT $1",
    },
    Check {
        invariant: "I20",
        sql: "SELECT id, 'is ' || state || CASE WHEN output IS NULL THEN ' without an answer' \
              ELSE ' with an answer' END FROM node_tasks \
              WHERE (state IN ('succeeded', 'failed') AND output IS NULL) \
              OR (state IN ('pending', 'delivered') AND output IS NOT NULL) LIMIT $1",
    },
    Check {
        invariant: "I20",
        sql: "SELECT allocation_id, CAST(COUNT(*) AS TEXT) || ' orders to provision it succeeded' FROM node_tasks \
              WHERE kind = 'slice.vm_provision' AND state = 'succeeded' GROUP BY allocation_id \
              HAVING COUNT(*) > 1 LIMIT $1",
    },
    Check {
        invariant: "I21",
        sql: "SELECT k.id, 'is ' || k.state || ' for allocation ' || a.id || ', which is ' || a.state \
              FROM node_tasks k JOIN allocations a ON a.id = k.allocation_id \
              WHERE k.state IN ('pending', 'delivered') AND k.kind = 'slice.vm_provision' \
              AND a.state IN ('released', 'refused', 'failed') LIMIT $1",
    },
    Check {
        invariant: "I21",
        sql: "SELECT s.id, 'is ' || s.state || ' without an active claim' FROM node_resource_slots s \
              LEFT JOIN allocation_resource_claims c ON c.slot_id = s.id AND c.active_mode IS NOT NULL \
              WHERE s.state IN ('reserved', 'in_use') AND c.id IS NULL AND NOT EXISTS \
              (SELECT 1 FROM allocation_resource_claims x WHERE x.node_id = s.node_id AND x.active_mode = 'exclusive') \
              LIMIT $1",
    },
    Check {
        invariant: "I21",
        sql: "SELECT s.id, 'is ' || s.state || ' under active claim ' || c.id FROM allocation_resource_claims c \
              JOIN node_resource_slots s ON s.id = c.slot_id WHERE c.active_mode IS NOT NULL \
              AND s.state NOT IN ('reserved', 'in_use', 'cleanup_blocked') LIMIT $1",
    },
    Check {
        invariant: "I21",
        sql: "SELECT o.id, 'is running for allocation ' || a.id || ', which is ' || a.state FROM operations o \
              JOIN allocations a ON a.id = o.subject_id WHERE o.state = 'running' \
              AND a.state IN ('released', 'refused', 'failed') LIMIT $1",
    },
    Check {
        invariant: "I21",
        sql: "SELECT k.id, 'is left in project ' || p.id || ', which is deleted' FROM ssh_keys k \
              JOIN projects p ON p.id = k.project_id WHERE p.state = 'deleted' LIMIT $1",
    },
    Check {
        invariant: "I21",
        sql: "SELECT i.id, 'leads to allocation ' || a.id || ', which is ' || a.state FROM ingresses i \
              JOIN allocations a ON a.id = i.allocation_id WHERE a.state IN ('released', 'refused', 'failed') LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT i.id, 'is in project ' || i.project_id || ', its allocation ' || a.id || ' in ' || a.project_id \
              FROM ingresses i JOIN allocations a ON a.id = i.allocation_id \
              WHERE a.tenant_id <> i.tenant_id OR a.project_id <> i.project_id LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT a.id, 'is in tenant ' || a.tenant_id || ', its project ' || \
              COALESCE('in ' || p.tenant_id, 'does not exist') FROM allocations a \
              LEFT JOIN projects p ON p.id = a.project_id WHERE p.id IS NULL OR p.tenant_id <> a.tenant_id LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT m.id, 'is in tenant ' || m.tenant_id || ', its project ' || \
              COALESCE('in ' || p.tenant_id, 'does not exist') FROM members m \
              LEFT JOIN projects p ON p.id = m.project_id WHERE m.project_id IS NOT NULL \
              AND (p.id IS NULL OR p.tenant_id <> m.tenant_id) LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT k.id, 'is in tenant ' || k.tenant_id || ', its project ' || \
              COALESCE('in ' || p.tenant_id, 'does not exist') FROM ssh_keys k \
              LEFT JOIN projects p ON p.id = k.project_id WHERE p.id IS NULL OR p.tenant_id <> k.tenant_id LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT a.id, 'takes the place of allocation ' || o.id || ' of another project' FROM allocations a \
              JOIN allocations o ON o.id = a.recreated_from WHERE o.project_id <> a.project_id LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT k.id, 'is narrowed to project ' || k.project_id || ' of another tenant' FROM tokens k \
              LEFT JOIN projects p ON p.id = k.project_id WHERE k.project_id IS NOT NULL \
              AND (p.id IS NULL OR p.tenant_id IS DISTINCT FROM k.tenant_id) LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT o.id, 'is in tenant ' || COALESCE(o.tenant_id, 'none') || ', its allocation in ' || a.tenant_id \
              FROM operations o JOIN allocations a ON a.id = o.subject_id \
              WHERE o.tenant_id IS DISTINCT FROM a.tenant_id OR o.project_id IS DISTINCT FROM a.project_id LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT a.id, 'is a member of workload ' || w.id || ' of another project' FROM allocations a \
              JOIN workloads w ON w.id = a.workload_id WHERE w.project_id <> a.project_id LIMIT $1",
    },
    Check {
        invariant: "I31",
        sql: "SELECT w.id, 'is ' || w.state || ', its member ' || a.id || ' ' || a.state FROM workloads w \
              JOIN allocations a ON a.workload_id = w.id WHERE CASE \
              WHEN w.state = 'queued' THEN a.state IN ('reserved', 'provisioning', 'running', 'releasing') \
              WHEN w.state IN ('admitted', 'running', 'preempting', 'stopping') THEN a.state = 'requested' \
              ELSE a.state NOT IN ('released', 'refused', 'failed') END LIMIT $1",
    },
    // What was launched again has a successor in its place.
    Check {
        invariant: "I31",
        sql: "SELECT id, 'has ' || CAST(found AS TEXT) || ' members instead of ' || CAST(members AS TEXT) FROM \
              (SELECT w.id, w.members, (SELECT COUNT(*) FROM allocations a WHERE a.workload_id = w.id AND NOT EXISTS \
              (SELECT 1 FROM allocations r WHERE r.recreated_from = a.id)) AS found FROM workloads w) AS counted \
              WHERE found <> members LIMIT $1",
    },
    Check {
        invariant: "I28",
        sql: "SELECT k.id, 'was given to node ' || k.node_id || ', where its allocation never had a claim' \
              FROM node_tasks k WHERE k.allocation_id IS NOT NULL \
              AND NOT EXISTS (SELECT 1 FROM allocation_resource_claims c \
              WHERE c.allocation_id = k.allocation_id AND c.node_id = k.node_id) LIMIT $1",
    },
    Check {
        invariant: "I28",
        sql: "SELECT p.slot_id, 'the proof of use ' || CAST(p.use_generation AS TEXT) || ' is by node ' || p.node_id || \
              ', the slot is on ' || s.node_id FROM wipe_proofs p JOIN node_resource_slots s ON s.id = p.slot_id \
              WHERE p.node_id <> s.node_id LIMIT $1",
    },
    Check {
        invariant: "I28",
        sql: "SELECT c.id, 'is on node ' || c.node_id || ', its slot on ' || s.node_id \
              FROM allocation_resource_claims c JOIN node_resource_slots s ON s.id = c.slot_id \
              WHERE c.node_id <> s.node_id LIMIT $1",
    },
];

const HISTORY: &[Check] = &[
    Check {
        invariant: "I20",
        sql: "SELECT subject_id, 'ended ' || CAST(COUNT(*) AS TEXT) || ' times' FROM events WHERE noun = 'task' \
              AND state_to IN ('succeeded', 'failed', 'expired') GROUP BY subject_id HAVING COUNT(*) > 1 LIMIT $1",
    },
    Check {
        invariant: "I22",
        sql: "SELECT 'events', CAST(numbered AS TEXT) || ' numbers between ' || CAST(low AS TEXT) || ' and ' || \
              CAST(high AS TEXT) FROM (SELECT COUNT(seq) AS numbered, MIN(seq) AS low, MAX(seq) AS high FROM events) \
              AS counted WHERE high - low + 1 <> numbered LIMIT $1",
    },
    Check {
        invariant: "I22",
        sql: "SELECT subject_id, 'version ' || CAST(object_version AS TEXT) || ' is numbered ' || CAST(seq AS TEXT) || \
              ', the version before it ' || COALESCE(CAST(before AS TEXT), 'not at all') FROM (SELECT subject_id, \
              object_version, seq, LAG(seq) OVER (PARTITION BY subject_id ORDER BY object_version) AS before \
              FROM events) AS ordered WHERE object_version > 1 AND seq IS NOT NULL \
              AND (before IS NULL OR before >= seq) LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT e.id, 'tells tenant ' || COALESCE(e.tenant_id, 'none') || ' about allocation ' || a.id \
              FROM allocations a JOIN events e ON e.subject_id = a.id WHERE e.tenant_id IS DISTINCT FROM a.tenant_id \
              OR e.project_id IS DISTINCT FROM a.project_id LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT e.id, 'tells tenant ' || COALESCE(e.tenant_id, 'none') || ' about workload ' || w.id \
              FROM workloads w JOIN events e ON e.subject_id = w.id WHERE e.tenant_id IS DISTINCT FROM w.tenant_id \
              OR e.project_id IS DISTINCT FROM w.project_id LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT e.id, 'tells tenant ' || COALESCE(e.tenant_id, 'none') || ' about project ' || p.id \
              FROM projects p JOIN events e ON e.subject_id = p.id \
              WHERE e.tenant_id IS DISTINCT FROM p.tenant_id LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT e.id, 'tells tenant ' || COALESCE(e.tenant_id, 'none') || ' about public key ' || k.id \
              FROM ssh_keys k JOIN events e ON e.subject_id = k.id WHERE e.tenant_id IS DISTINCT FROM k.tenant_id \
              OR e.project_id IS DISTINCT FROM k.project_id LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT u.id, 'is kept for tenant ' || COALESCE(u.tenant_id, 'none') || ', allocation ' || a.id || \
              ' is of ' || a.tenant_id FROM audit u JOIN allocations a ON a.id = u.subject \
              WHERE u.tenant_id IS DISTINCT FROM a.tenant_id LIMIT $1",
    },
    Check {
        invariant: "I26",
        sql: "SELECT u.id, 'is kept for tenant ' || COALESCE(u.tenant_id, 'none') || ', project ' || p.id || \
              ' is of ' || p.tenant_id FROM audit u JOIN projects p ON p.id = u.subject \
              WHERE u.tenant_id IS DISTINCT FROM p.tenant_id LIMIT $1",
    },
];

/// Every object whose version and events disagree: (id, version, how many events, the highest version among them). The
/// filter walks the index of events once for each object; only offenders are looked at closer.
const VERSIONS: &str = "SELECT t.id, t.version, (SELECT COUNT(*) FROM events e WHERE e.subject_id = t.id), \
      (SELECT COALESCE(MAX(e.object_version), 0) FROM events e WHERE e.subject_id = t.id) FROM (\
      SELECT id, version FROM tenants UNION ALL SELECT id, version FROM projects UNION ALL \
      SELECT id, version FROM principals UNION ALL SELECT id, version FROM members UNION ALL \
      SELECT id, version FROM tokens UNION ALL SELECT id, version FROM ssh_keys UNION ALL \
      SELECT id, version FROM regions UNION ALL SELECT id, version FROM pools UNION ALL \
      SELECT 'image/' || id, version FROM images UNION ALL SELECT 'image_key/' || key_id, version FROM image_keys UNION ALL \
      SELECT slug, version FROM slot_profiles UNION ALL SELECT id, version FROM skus UNION ALL \
      SELECT id, version FROM enrollment_tokens UNION ALL SELECT id, version FROM nodes UNION ALL \
      SELECT id, version FROM wipe_overrides UNION ALL SELECT id, version FROM ingresses UNION ALL \
      SELECT id, version FROM topologies UNION ALL SELECT id, version FROM flavors UNION ALL \
      SELECT id, version FROM priority_classes UNION ALL SELECT id, version FROM cohorts UNION ALL \
      SELECT id, version FROM cluster_queues UNION ALL SELECT id, version FROM local_queues UNION ALL \
      SELECT id, version FROM hardware_profiles UNION ALL SELECT id, version FROM workloads UNION ALL \
      SELECT id, version FROM webhooks UNION ALL \
      SELECT id, version FROM node_resource_slots UNION ALL SELECT id, version FROM allocations UNION ALL SELECT id, version FROM node_tasks) AS t \
    WHERE t.version <> (SELECT COUNT(*) FROM events e WHERE e.subject_id = t.id AND e.object_version <= t.version) \
      OR EXISTS (SELECT 1 FROM events e WHERE e.subject_id = t.id AND e.object_version > t.version) LIMIT $1";

/// Objects that are gone though no event says so; only what can be erased is looked at.
const ERASED: &str = "SELECT e.subject_id, e.noun FROM events e WHERE e.noun IN ('region', 'pool', 'sku', 'ssh_key', 'ingress', \
      'topology', 'flavor', 'priority_class', 'cohort', 'cluster_queue', 'local_queue', 'hardware_profile', 'webhook') \
    AND e.change <> 'deleted' AND NOT EXISTS (SELECT 1 FROM events n WHERE n.subject_id = e.subject_id \
      AND n.object_version > e.object_version) \
    AND NOT EXISTS (SELECT 1 FROM regions r WHERE r.id = e.subject_id) \
    AND NOT EXISTS (SELECT 1 FROM pools p WHERE p.id = e.subject_id) \
    AND NOT EXISTS (SELECT 1 FROM skus s WHERE s.id = e.subject_id) \
    AND NOT EXISTS (SELECT 1 FROM ssh_keys k WHERE k.id = e.subject_id) \
    AND NOT EXISTS (SELECT 1 FROM ingresses i WHERE i.id = e.subject_id) \
    AND NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.id = e.subject_id) \
    AND NOT EXISTS (SELECT 1 FROM (SELECT id FROM topologies UNION ALL SELECT id FROM flavors UNION ALL \
      SELECT id FROM priority_classes UNION ALL SELECT id FROM cohorts UNION ALL SELECT id FROM cluster_queues UNION ALL \
      SELECT id FROM local_queues UNION ALL SELECT id FROM hardware_profiles) AS g WHERE g.id = e.subject_id) LIMIT $1";

/// The moves that were ever made.
const MOVES: &str =
    "SELECT DISTINCT noun, state_from, state_to FROM events WHERE change IN ('state_changed', 'preempted')";

/// One object that made a move.
const MOVED: &str = "SELECT subject_id FROM events WHERE change IN ('state_changed', 'preempted') AND noun = $1 \
    AND state_from IS NOT DISTINCT FROM $2 AND state_to IS NOT DISTINCT FROM $3 ORDER BY id LIMIT 1";

/// Proofs that stand behind an available slot, page by page, each with the key and the disk it was taken with: a host may
/// have been enrolled again since, and a clean slot may have got another disk.
const PROOFS: &str = "SELECT s.id, s.node_id, s.use_generation, s.wipe_nonce, p.public_key, p.body, p.disk_identity, \
    s.gpu_pci_address, s.fabric_vf_pci_address FROM node_resource_slots s JOIN wipe_proofs p ON p.slot_id = s.id \
    AND p.use_generation = s.use_generation AND p.nonce = s.wipe_nonce \
    WHERE s.id > $1 AND s.state = 'available' AND s.use_generation > 0 ORDER BY s.id LIMIT $2";

/// Checks everything.
pub fn check_all(tx: &mut Tx<'_>, rules: &Rules<'_>) -> Result<Vec<Violation>, StoreError> {
    let mut found = check_state(tx, rules)?;
    found.extend(check_history(tx, rules)?);
    Ok(found)
}

/// Checks what is now: I1–I6, I8, I10, I19 (every answer about a place has its reasons), I20, I21, I26, I28 and I31 without
/// reading the history.
pub fn check_state(tx: &mut Tx<'_>, rules: &Rules<'_>) -> Result<Vec<Violation>, StoreError> {
    let mut found = run(tx, STATE, rules.limit)?;
    check_proofs(tx, rules, &mut found)?;
    Ok(found)
}

/// Checks what was written down: I9, I20, I22, I26 over events and audit rows, and the audit chain (I30).
pub fn check_history(tx: &mut Tx<'_>, rules: &Rules<'_>) -> Result<Vec<Violation>, StoreError> {
    let mut found = run(tx, HISTORY, rules.limit)?;
    check_versions(tx, rules, &mut found)?;
    check_moves(tx, rules, &mut found)?;
    if let Err(broken) = audit::verify_chain(tx, None)? {
        found.push(Violation { invariant: "I30", subject: format!("audit {}", broken.seq), detail: broken.why.into() });
    }
    Ok(found)
}

fn run(tx: &mut Tx<'_>, checks: &[Check], limit: i64) -> Result<Vec<Violation>, StoreError> {
    let mut found = Vec::new();
    for check in checks {
        for row in &tx.query(check.sql, &[limit.into()])? {
            found.push(Violation {
                invariant: check.invariant,
                subject: row.text(0)?.to_owned(),
                detail: row.text(1)?.to_owned(),
            });
        }
    }
    Ok(found)
}

// A version that is ahead of the last event is a skipped version as well as a missing event: from the rows alone the
// two cannot be told apart, so both rules report it.
fn check_versions(tx: &mut Tx<'_>, rules: &Rules<'_>, found: &mut Vec<Violation>) -> Result<(), StoreError> {
    for row in &tx.query(VERSIONS, &[rules.limit.into()])? {
        let (version, told, top) = (row.int(1)?, row.int(2)?, row.int(3)?);
        let detail = format!("is at version {version} with {told} events up to version {top}");
        let subject = row.text(0)?;
        if top != version || told != top {
            found.push(Violation { invariant: "I9", subject: subject.to_owned(), detail: detail.clone() });
        }
        if told != version {
            found.push(Violation { invariant: "I22", subject: subject.to_owned(), detail });
        }
    }
    for row in &tx.query(ERASED, &[rules.limit.into()])? {
        let detail = format!("the {} is gone and no event says so", row.text(1)?);
        found.push(Violation { invariant: "I22", subject: row.text(0)?.to_owned(), detail });
    }
    Ok(())
}

fn check_moves(tx: &mut Tx<'_>, rules: &Rules<'_>, found: &mut Vec<Violation>) -> Result<(), StoreError> {
    for row in &tx.query(MOVES, &[])? {
        let noun: Noun = row.parse(0)?;
        let (from, to) = (row.opt_text(1)?, row.opt_text(2)?);
        let on_graph = from.zip(to).and_then(|(from, to)| (rules.edge_exists)(noun, from, to));
        if on_graph != Some(true) {
            let example = tx.query_one(MOVED, &[noun.as_str().into(), from.into(), to.into()])?;
            let (from, to) = (from.unwrap_or("nothing"), to.unwrap_or("nothing"));
            let detail = format!("moved from {from} to {to}, which is on no graph of a {noun}");
            found.push(Violation { invariant: "I9", subject: example.text(0)?.to_owned(), detail });
        }
    }
    Ok(())
}

fn check_proofs(tx: &mut Tx<'_>, rules: &Rules<'_>, found: &mut Vec<Violation>) -> Result<(), StoreError> {
    const ROWS: i64 = 1000;
    let mut after = String::new();
    let mut left = rules.limit;
    loop {
        let rows = tx.query(PROOFS, &[after.as_str().into(), ROWS.into()])?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.text(0)?.to_owned();
        for row in &rows {
            let Some(detail) = proof_fault(row, rules)? else { continue };
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            found.push(Violation { invariant: "I10", subject: row.text(0)?.to_owned(), detail });
        }
    }
}

fn proof_fault(row: &Row, rules: &Rules<'_>) -> Result<Option<String>, StoreError> {
    let Ok(proof) = serde_json::from_str::<Proof>(row.text(5)?) else {
        return Ok(Some("its proof cannot be read".into()));
    };
    let (slot_id, node_id): (SlotId, NodeId) = (row.parse(0)?, row.parse(1)?);
    let expected = Expected {
        node_id: &node_id,
        slot_id: &slot_id,
        use_generation: row.int(2)?,
        // What was proved before disks were named stays proved.
        disk_identity: row.text(6)?,
        nonce: row.opt_text(3)?.unwrap_or(""),
        steps: &WipeStep::needed(row.opt_text(7)?.is_some(), row.opt_text(8)?.is_some()),
    };
    let signed = (rules.proof_signed)(row.text(4)?, &proof);
    Ok(proof.fault(&expected, signed).map(|fault| format!("its proof is no proof: {fault}")))
}
