//! Tables for people: which columns a list of each noun has, and how a single object is laid out.
//!
//! Cells are taken out of the object of the API by JSON pointer, so a table can never show something that `-o json` does
//! not have.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table, presets};

use crate::{ordered::Ordered, output, safe};

/// The columns of one kind of list.
#[derive(Debug)]
pub struct Columns {
    /// What the list holds, in the plural.
    pub plural: &'static str,
    /// Heading and JSON pointer of each column.
    pub columns: &'static [(&'static str, &'static str)],
}

macro_rules! columns {
    ($($(#[$meta:meta])* $name:ident = $plural:literal [$($heading:literal $pointer:literal),+ $(,)?];)+) => {
        $($(#[$meta])* pub const $name: Columns = Columns { plural: $plural, columns: &[$(($heading, $pointer)),+] };)+
    };
}

columns! {
    /// Tenants.
    TENANTS = "tenants" ["ID" "/id", "SLUG" "/slug", "NAME" "/name", "STATE" "/execution", "PROJECTED" "/projected", "CREATED" "/created_at"];
    /// Projects.
    PROJECTS = "projects" ["ID" "/id", "SLUG" "/slug", "NAME" "/name", "STATE" "/execution", "GPU CAP" "/gpu_cap", "TENANT" "/tenant_id", "CREATED" "/created_at"];
    /// Memberships.
    MEMBERS = "members" ["ID" "/id", "NAME" "/principal_name", "KIND" "/principal_kind", "ROLE" "/role", "PROJECT" "/project_id", "PRINCIPAL" "/principal_id"];
    /// Service accounts and operators.
    SERVICE_ACCOUNTS = "service accounts" ["ID" "/id", "NAME" "/name", "TENANT" "/tenant_id", "CREATED" "/created_at"];
    /// Operators.
    OPERATORS = "operators" ["ID" "/id", "NAME" "/name", "ROLE" "/platform_role", "CREATED" "/created_at"];
    /// Tokens.
    TOKENS = "tokens" ["ID" "/id", "NAME" "/name", "SCOPE" "/scope", "PRINCIPAL" "/principal_id", "TENANT" "/tenant_id", "PROJECT" "/project_id", "EXPIRES" "/expires_at", "REVOKED" "/revoked_at"];
    /// Regions.
    REGIONS = "regions" ["ID" "/id", "SLUG" "/slug", "NAME" "/name", "ENABLED" "/enabled"];
    /// Pools.
    POOLS = "pools" ["ID" "/id", "SLUG" "/slug", "NAME" "/name", "GPU" "/gpu_model", "SLICES" "/slices_enabled", "RANGE" "/private_range", "REGION" "/region_id"];
    /// SKUs.
    SKUS = "SKUs" ["ID" "/id", "SLUG" "/slug", "SHAPE" "/shape", "GPU" "/gpu_model", "COUNTS" "/gpu_counts", "PROFILE" "/profile", "VCPUS/GPU" "/vcpus_per_gpu", "MIB/GPU" "/memory_mib_per_gpu", "MICROS/GPU/H" "/price_micros_per_gpu_hour", "ENABLED" "/enabled"];
    /// Slot profiles.
    SLOT_PROFILES = "slot profiles" ["SLUG" "/slug", "NAME" "/name", "GPU" "/gpu_model", "VCPUS" "/vcpus", "MIB" "/memory_mib", "DISK AT LEAST" "/min_disk_bytes", "HUGE PAGES KIB" "/hugepage_kib"];
    /// Queues with quota.
    CLUSTER_QUEUES = "queues" ["SLUG" "/spec/slug", "COHORT" "/spec/cohort", "ORDER" "/spec/ordering", "WEIGHT (1/1000)" "/spec/weight_milli", "STOP" "/spec/stop", "RECLAIMS" "/spec/preemption/reclaim_within_cohort", "VERSION" "/version"];
    /// Projects' ways into queues.
    LOCAL_QUEUES = "queues" ["SLUG" "/spec/slug", "QUEUE" "/spec/cluster_queue", "DEFAULT" "/spec/default", "STOP" "/spec/stop", "PROJECT" "/spec/project_id"];
    /// How much of their quota queues and cohorts use.
    QUEUE_USE = "queues" ["QUEUE" "/name", "KIND" "/kind", "FLAVOR" "/flavor", "RESOURCE" "/resource", "NOMINAL" "/nominal", "USED" "/used", "BORROWED" "/borrowed", "LENT" "/lent", "AVAILABLE" "/available", "SHARE (1/1000)" "/share_per_mille", "RUNNING" "/running", "WAITING" "/waiting"];
    /// What a change would do to workloads.
    EFFECTS = "workloads that would notice" ["WORKLOAD" "/workload_id", "NAME" "/name", "QUEUE" "/queue", "EFFECT" "/effect", "RULE" "/rule", "WHY" "/wait/sentence"];
    /// Workloads.
    WORKLOADS = "workloads" ["ID" "/id", "NAME" "/name", "STATE" "/execution", "QUEUE" "/cluster_queue", "PLACE" "/position", "PRIORITY" "/priority", "MEMBERS" "/member_count", "GPUS EACH" "/gpu_count", "BORROWED" "/borrowed_gpus", "PROJECT" "/project_id", "PROJECTED" "/projected"];
    /// Cohorts.
    COHORTS = "cohorts" ["SLUG" "/spec/slug", "PARENT" "/spec/parent", "WEIGHT (1/1000)" "/spec/weight_milli", "VERSION" "/version"];
    /// Flavors.
    FLAVORS = "flavors" ["SLUG" "/spec/slug", "GPU" "/spec/gpu_model", "POOL" "/spec/pool", "SPEED (1/1000)" "/spec/speed_milli", "TOPOLOGY" "/spec/topology"];
    /// Priority classes.
    PRIORITY_CLASSES = "priority classes" ["SLUG" "/spec/slug", "VALUE" "/spec/value", "PREEMPTS" "/spec/preempts", "DEFAULT" "/spec/default"];
    /// Hardware profiles.
    HARDWARE_PROFILES = "hardware profiles" ["SLUG" "/spec/slug", "NAME" "/spec/name", "FLAVORS" "/spec/flavors", "GPUS AT LEAST" "/spec/gpu_count_min", "AT MOST" "/spec/gpu_count_max", "ENABLED" "/spec/enabled"];
    /// Images.
    IMAGES = "images" ["ID" "/id", "STATE" "/state", "DEFAULT" "/is_default", "KIND" "/entry/kind", "FORMAT" "/entry/format", "BYTES" "/entry/size_bytes", "DISK AT LEAST" "/entry/minimum_disk_bytes", "KEY" "/entry/signer_key_id", "SHA-256" "/entry/sha256"];
    /// Keys that sign images.
    IMAGE_KEYS = "image keys" ["KEY" "/key_id", "PUBLIC KEY" "/public_key", "ADDED BY" "/added_by", "REVOKED" "/revoked_at", "CREATED" "/created_at"];
    /// What was not as it should be on a host.
    FINDINGS = "findings" ["KIND" "/kind", "DONE" "/action", "THING" "/thing", "SLOT" "/slot_id", "ALLOCATION" "/allocation_id", "DETAIL" "/detail"];
    /// What stands against a guest.
    REFUSALS = "refusals" ["CHECK" "/check", "SLOT" "/slot_id", "EXPECTED" "/expected", "FOUND" "/found"];
    /// Public keys.
    SSH_KEYS = "public keys" ["ID" "/id", "NAME" "/name", "FINGERPRINT" "/fingerprint", "PROJECT" "/project_id", "CREATED" "/created_at"];
    /// Decisions about an allocation.
    DECISIONS = "decisions" ["AT" "/at", "OUTCOME" "/outcome", "SET" "/kind", "FITTING" "/considered/nodes_fitting", "NODES" "/considered/nodes", "BECAUSE" "/because"];
    /// Decisions about an allocation, with hardware.
    PLACED_DECISIONS = "decisions" ["AT" "/decision/at", "OUTCOME" "/decision/outcome", "SET" "/decision/kind", "PLACES" "/places", "POLICY" "/policy", "BECAUSE" "/decision/because"];
    /// Steps of an allocation.
    TIMELINE = "steps" ["POSITION" "/position", "AT" "/at", "STEP" "/step", "STATE" "/state", "PERCENT" "/percent", "BYTES/S" "/bytes_per_s", "ETA" "/eta", "TRY" "/attempt", "DETAIL" "/detail"];
    /// Streams to a guest.
    STREAMS = "streams" ["ID" "/id", "KIND" "/kind", "STATE" "/state", "BY" "/opened_by", "FROM" "/from", "AT" "/wanted_at", "ENDED" "/ended_at", "HOW" "/ended_how", "TO GUEST" "/to_guest_bytes", "FROM GUEST" "/from_guest_bytes"];
    /// What was held.
    USAGE = "claims in this time" ["CLAIM" "/claim_id", "ALLOCATION" "/allocation_id", "SKU" "/sku", "GPUS" "/gpus", "MICROS/GPU/H" "/price_micros_per_gpu_hour", "FROM" "/from", "TO" "/to", "MICROS" "/micros"];
    /// How full pools are.
    OCCUPANCY = "pools" ["REGION" "/region", "POOL" "/pool", "GPU" "/gpu_model", "FREE" "/gpus_free", "HELD" "/gpus_held", "BLOCKED" "/gpus_blocked", "OUT OF SALE" "/gpus_disabled", "LARGEST" "/largest_slice_gpus", "WHOLE NODES" "/whole_nodes", "POSTURES" "/postures"];
    /// What stays on an evacuated node.
    STAYING = "allocations that stay" ["ALLOCATION" "/allocation_id", "GPUS" "/gpu_count", "REASON" "/reason", "PROJECTED" "/projected"];
    /// What leaves an evacuated node.
    LEAVING = "allocations that leave" ["ALLOCATION" "/allocation_id", "GPUS" "/gpu_count", "RECREATED" "/recreated", "PROJECT" "/project_id"];
    /// Allocations that got claims.
    BACKFILLED = "allocations that got claims" ["ALLOCATION" "/allocation_id", "NODE" "/node_id", "CLAIMS" "/claims"];
    /// Allocations that could not get claims.
    NOT_BACKFILLED = "allocations without claims" ["ALLOCATION" "/allocation_id", "BECAUSE" "/because"];
    /// Nodes.
    NODES = "nodes" ["ID" "/id", "NAME" "/name", "GPU" "/gpu_model", "STATE" "/execution", "POSTURE" "/posture", "WANTED" "/desired", "PROJECTED" "/projected", "LAST SEEN" "/last_seen_at"];
    /// Whole machines.
    MACHINES = "machines" ["MACHINE" "/machine", "HOST" "/hostname", "NODE" "/node_id", "STATUS" "/status", "POWER" "/power", "TAGS" "/tags", "DISAGREES" "/findings", "SEEN" "/seen_at"];
    /// Providers of machines.
    PROVIDERS = "providers" ["NAME" "/name", "KIND" "/kind", "ADDRESS" "/address", "SYNCED" "/synced_at", "FAULT" "/fault"];
    /// Slots of a node.
    SLOTS = "slots" ["ID" "/id", "STATE" "/execution", "GPU AT" "/gpu_pci_address", "MODULE" "/gpu_module_id", "NUMA" "/numa_node", "PROFILE" "/profile", "USES" "/use_generation", "HEALTH" "/health_state", "DRIFT" "/drift"];
    /// Slots of the whole fleet.
    SLOT_CELLS = "slots" ["ID" "/id", "NODE" "/node_id", "MODULE" "/gpu_module_id", "STATE" "/execution", "DRIFTED" "/drifted", "ALLOCATION" "/allocation_id"];
    /// What could become slots.
    CANDIDATES = "candidates" ["GPU AT" "/candidate/devices/gpu_pci_address", "MODULE" "/candidate/devices/gpu_module_id", "NUMA" "/candidate/devices/numa_node", "DISK" "/candidate/devices/nvme_identity", "FABRIC AT" "/candidate/devices/fabric_vf_pci_address", "MAC" "/candidate/devices/mgmt_mac", "IP" "/candidate/devices/private_ip", "PORT" "/candidate/suggestion/ovs_port", "SLOT" "/slot_id", "IN THE WAY" "/refusals"];
    /// Checks of readiness.
    READINESS = "checks" ["CHECK" "/check", "STATE" "/state", "NEEDED" "/required", "FOUND" "/detail", "WHAT TO DO" "/remedy", "REBOOT" "/reboot_required"];
    /// What agents did that honest ones do not.
    INCIDENTS = "incidents" ["KIND" "/kind", "TIMES" "/count", "DETAIL" "/detail", "FIRST" "/first_at", "LAST" "/last_at"];
    /// Wipe proofs of a slot.
    PROOFS = "proofs" ["ID" "/id", "USE" "/use_generation", "HOLDS" "/holds", "REFUSED" "/refused", "METHOD" "/method", "RECEIVED" "/received_at", "DETAIL" "/detail"];
    /// Checks of one proof.
    PROOF_CHECKS = "checks" ["CHECK" "/check", "HOLDS" "/ok", "FOUND" "/detail"];
    /// Steps of one proof.
    PROOF_STEPS = "steps" ["STEP" "/step", "DONE" "/ok", "EVIDENCE" "/evidence"];
    /// What became of an allocation's slots.
    WIPES = "slots" ["SLOT" "/slot_number", "OUTCOME" "/outcome", "METHOD" "/method", "PROVED" "/proved_at", "KEY" "/node_key_fingerprint", "SIGNATURE" "/signature"];
    /// Overrides.
    OVERRIDES = "overrides" ["ID" "/id", "SLOT" "/slot_id", "USE" "/use_generation", "STATE" "/execution", "ASKED BY" "/requested_by", "DECIDED BY" "/decided_by", "EXPIRES" "/expires_at", "REASON" "/reason"];
    /// Ways in.
    INGRESSES = "ways in" ["ID" "/id", "ALLOCATION" "/allocation_id", "PROTOCOL" "/protocol", "ADDRESS" "/address", "PORT" "/public_port", "GUEST PORT" "/guest_port", "STATE" "/execution"];
    /// Webhooks.
    WEBHOOKS = "webhooks" ["ID" "/id", "URL" "/url", "EVENTS" "/event_types", "PROJECT" "/project_id", "ENABLED" "/enabled", "POSITION" "/position", "OPEN" "/open_deliveries", "PROJECTED" "/projected"];
    /// Deliveries to a webhook.
    WEBHOOK_DELIVERIES = "deliveries" ["ID" "/id", "SEQUENCE" "/sequence", "EVENT" "/event_type", "STATE" "/state", "ATTEMPTS" "/attempts", "STATUS" "/last_status", "ERROR" "/last_error", "NEXT" "/next_attempt_at", "CREATED" "/created_at"];
    /// Disk grants.
    DISK_GRANTS = "disk grants" ["DISK" "/nvme_identity", "REASON" "/reason", "BY" "/granted_by", "AT" "/at"];
    /// Enrollment tokens.
    ENROLLMENT_TOKENS = "enrollment tokens" ["ID" "/id", "NODE NAME" "/node_name", "POOL" "/pool_id", "SERIAL" "/hardware_serial", "PROJECTED" "/projected", "EXPIRES" "/expires_at", "NODE" "/node_id"];
    /// What can be had.
    AVAILABILITY = "regions with pools" ["REGION" "/region", "GPU" "/gpu_model", "AS SLICES" "/slice_gpus", "LARGEST" "/largest_slice_gpus", "WHOLE NODES" "/whole_nodes", "PROJECTED" "/projected"];
    /// Claims on a node.
    CLAIMS = "claims" ["ID" "/id", "KIND" "/kind", "SLOT" "/slot_id", "ALLOCATION" "/allocation_id", "FENCE" "/fence", "CLAIMED" "/claimed_at", "RELEASED" "/released_at"];
    /// Orders to a node's agent.
    TASKS = "tasks" ["ID" "/id", "KIND" "/kind", "STATE" "/execution", "TRY" "/attempt", "ALLOCATION" "/allocation_id", "DEADLINE" "/deadline", "FAILURE" "/failure", "DETAIL" "/failure_detail"];
    /// Allocations.
    ALLOCATIONS = "allocations" ["ID" "/id", "NAME" "/name", "STATE" "/execution", "GPUS" "/gpu_count", "SHAPE" "/shape", "PROJECT" "/project_id", "PROJECTED" "/projected"];
    /// Operations.
    OPERATIONS = "operations" ["ID" "/id", "KIND" "/kind", "STATE" "/state", "SUBJECT" "/subject_id", "CREATED" "/created_at", "FINISHED" "/finished_at"];
    /// Events.
    EVENTS = "events" ["SEQ" "/sequence", "TIME" "/time", "NOUN" "/data/noun", "CHANGE" "/data/change", "SUBJECT" "/subject", "FROM" "/data/state_from", "TO" "/data/state_to", "REASON" "/data/reason"];
    /// Audited actions.
    AUDIT = "audited actions" ["SEQ" "/sequence", "AT" "/at", "ACTOR" "/actor", "ACTION" "/action", "SUBJECT" "/subject", "REQUEST" "/request_id"];
    /// What waits.
    WAITS = "waits" ["NOUN" "/noun", "SUBJECT" "/subject_id", "STATE" "/execution", "CODE" "/code", "BECAUSE" "/because", "SINCE" "/since", "UNTIL" "/until"];
    /// Broken rules.
    VIOLATIONS = "broken rules" ["RULE" "/rule", "SUBJECT" "/subject", "DETAIL" "/detail"];
}

fn text_of(value: Option<&Ordered>) -> String {
    match value {
        None | Some(Ordered::Null) => "-".to_owned(),
        Some(Ordered::Bool(flag)) => flag.to_string(),
        Some(Ordered::Number(number)) => number.to_string(),
        Some(Ordered::Text(text)) => safe::line(text).into_owned(),
        Some(Ordered::List(items)) if items.is_empty() => "-".to_owned(),
        Some(Ordered::List(items)) => items.iter().map(|item| text_of(Some(item))).collect::<Vec<_>>().join(","),
        Some(Ordered::Object(fields)) => fields
            .iter()
            .map(|(name, value)| format!("{}={}", safe::line(name), text_of(Some(value))))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

fn state_color(word: &str) -> Option<Color> {
    match word {
        "running" | "active" | "online" | "succeeded" | "available" | "ok" => Some(Color::Green),
        "failed" | "refused" | "cleanup_blocked" | "silent" | "expired" | "missing" => Some(Color::Red),
        "requested" | "reserved" | "provisioning" | "releasing" | "creating" | "deleting" | "suspended" | "wiping"
        | "pending" | "delivered" | "unknown" | "queued" | "admitted" | "preempting" | "stopping" => {
            Some(Color::Yellow)
        }
        _ => None,
    }
}

fn plain_table(coloured: bool) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if coloured {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    // On a terminal long sentences wrap; in a pipe every row stays on one line.
    let arrangement =
        if output::stdout_is_terminal() { ContentArrangement::Dynamic } else { ContentArrangement::Disabled };
    table.set_content_arrangement(arrangement);
    table
}

fn finish(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A list as a table with a heading.
pub fn rows(columns: &Columns, items: &[Ordered], coloured: bool) -> String {
    let mut table = plain_table(coloured);
    table.set_header(columns.columns.iter().map(|(heading, _)| Cell::new(heading).add_attribute(Attribute::Bold)));
    for item in items {
        table.add_row(columns.columns.iter().map(|(heading, pointer)| {
            let value = item.at(pointer);
            let text = text_of(value);
            let color = if *heading == "STATE" { state_color(&text) } else { None };
            let mut cell = Cell::new(&text);
            if matches!(value, Some(Ordered::Number(_))) {
                cell = cell.set_alignment(CellAlignment::Right);
            }
            if let Some(color) = color { cell.fg(color) } else { cell }
        }));
    }
    finish(table)
}

/// One row without a heading, for streams.
pub fn row(columns: &Columns, item: &Ordered) -> String {
    columns.columns.iter().map(|(_, pointer)| text_of(item.at(pointer))).collect::<Vec<_>>().join("  ")
}

/// One object as a card: a line for each field, nested fields with dots.
pub fn card(value: &Ordered, coloured: bool) -> String {
    let mut fields = Vec::new();
    flatten("", value, &mut fields);
    let mut table = plain_table(coloured);
    for (name, text) in fields {
        table.add_row([Cell::new(name).add_attribute(Attribute::Bold), Cell::new(text)]);
    }
    finish(table)
}

fn flatten(name: &str, value: &Ordered, fields: &mut Vec<(String, String)>) {
    let inner = |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    let nested = |item: &Ordered| matches!(item, Ordered::Object(_) | Ordered::List(_));
    match value {
        Ordered::Object(map) => {
            for (key, value) in map {
                flatten(&inner(&safe::line(key)), value, fields);
            }
        }
        Ordered::List(items) if items.iter().any(nested) => {
            for (index, item) in items.iter().enumerate() {
                flatten(&inner(&index.to_string()), item, fields);
            }
        }
        other => fields.push((name.to_owned(), text_of(Some(other)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Ordered {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_list_lines_up_and_shows_absent_fields_as_dashes() {
        let items = [
            json(r#"{"id":"rgn_1","slug":"eu-1","name":"Europe","enabled":true}"#),
            json(r#"{"id":"rgn_2","slug":"us"}"#),
        ];
        let text = rows(&REGIONS, &items, false);
        assert_eq!(text, "ID     SLUG  NAME    ENABLED\nrgn_1  eu-1  Europe  true\nrgn_2  us    -       -\n");
    }

    #[test]
    fn cells_cannot_carry_escapes_of_their_own() {
        let text = rows(&REGIONS, &[json(r#"{"id":"x","slug":"a\u001b[31m\nb","name":"n","enabled":false}"#)], false);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn states_are_coloured_when_wanted() {
        let item = [json(r#"{"id":"x","execution":"running"}"#)];
        assert!(rows(&ALLOCATIONS, &item, true).contains('\u{1b}'));
        assert!(!rows(&ALLOCATIONS, &item, false).contains('\u{1b}'));
    }

    #[test]
    fn a_card_keeps_the_order_and_names_nested_fields_with_dots() {
        let text = card(
            &json(r#"{"id":"x","observed":{"guest_up":true},"counts":[1,2],"bindings":[{"role":"viewer"}]}"#),
            false,
        );
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines,
            [["id", "x"], ["observed.guest_up", "true"], ["counts", "1,2"], ["bindings.0.role", "viewer"]]
        );
    }
}
