//! A store to place in: 10,000 nodes of eight free slots, five hundred projects, and wishes in the usual mix of sizes.

use store::{Db, Dialect, StoreError, Tx};

// Ids are a fixed beginning and seven digits, so that one statement makes a hundred thousand of them on either engine.
macro_rules! id {
    ($prefix:literal, $number:literal) => {
        concat!("'", $prefix, "_01jh2n6f4zw8q9r0s1t' || CAST(1000000 + ", $number, " AS TEXT)")
    };
}
macro_rules! series {
    ($from:literal, $count:literal) => {
        concat!("WITH RECURSIVE n(i) AS (SELECT ", $from, " UNION ALL SELECT i + 1 FROM n WHERE i < ", $count, " - 1) ")
    };
}

const FLEET: &[&str] = &[
    concat!(
        "INSERT INTO regions (id, slug, name, enabled, version, created_us) VALUES (",
        id!("rgn", "0"),
        ", 'eu-1', 'EU 1', 1, 1, 1)"
    ),
    concat!(
        "INSERT INTO pools (id, region_id, slug, name, gpu_model, slices_enabled, version, created_us) VALUES (",
        id!("pol", "0"),
        ", ",
        id!("rgn", "0"),
        ", 'h200', 'H200', 'h200-sxm', 1, 1, 1)"
    ),
    concat!(
        "INSERT INTO skus (id, slug, name, shape, gpu_model, gpu_counts, vcpus_per_gpu, memory_mib_per_gpu, \
         price_micros_per_gpu_hour, enabled, version, created_us) VALUES (",
        id!("sku", "0"),
        ", 'h200-sxm-slice', 'Slice', 'gpu_slice', 'h200-sxm', '[1,2,4,8]', 24, 65536, 3000000, 1, 1, 1), (",
        id!("sku", "1"),
        ", 'h200-sxm-baremetal', 'Node', 'baremetal', 'h200-sxm', '[8]', 24, 65536, 2900000, 1, 1, 1)"
    ),
    concat!(
        series!("0", "10000"),
        "INSERT INTO nodes (id, pool_id, name, gpu_model, public_key, partitions, state, state_since_us, version, created_us, \
         number, pool_number, promoted_us) SELECT ",
        id!("nod", "i"),
        ", ",
        id!("pol", "0"),
        ", 'node-' || CAST(i AS TEXT), 'h200-sxm', 'key-' || CAST(i AS TEXT), '{\"board\":[1,2,3,4,5,6,7,8],\
         \"sets\":[[1,2,3,4,5,6,7,8],[1,2,3,4],[5,6,7,8],[1,2],[3,4],[5,6],[7,8],[1],[2],[3],[4],[5],[6],[7],[8]]}', 'online', 1, 1, 1, i + 1, i + 1, 1 FROM n"
    ),
    concat!(
        series!("0", "10000"),
        "INSERT INTO node_occupancy (node_id, mode) SELECT ",
        id!("nod", "i"),
        ", 'free' FROM n"
    ),
    concat!(
        series!("0", "80000"),
        "INSERT INTO node_resource_slots (id, node_id, profile, state, gpu_pci_address, gpu_uuid, gpu_module_id, \
         nvme_identity, mgmt_mac, private_ip, fabric_claim_mode, fabric_vf_pci_address, numa_node, partition_ids, \
         use_generation, capacity_metadata, health_state, health_detail, state_since_us, version, created_us, pcie_switch, \
         rail) SELECT ",
        id!("slt", "i"),
        ", ",
        id!("nod", "(i / 8)"),
        ", 'h200-sxm-slice', 'available', '0000:' || CAST(10 + i % 8 AS TEXT) || ':00.0', 'GPU-' || CAST(i AS TEXT), \
         i % 8 + 1, 'eui.' || CAST(i AS TEXT), 'mac-' || CAST(i AS TEXT), 'ip-' || CAST(i AS TEXT), 'per_slot_vf', \
         '0000:' || CAST(10 + i % 8 AS TEXT) || ':00.1', i % 8 / 4, '[]', 1, '{}', 'ok', '', 1, 1, 1, \
         i % 8 / 2, i % 8 FROM n"
    ),
];

const PEOPLE: &[&str] = &[
    concat!(
        "INSERT INTO tenants (id, slug, name, desired, observed, state, state_since_us, version, created_us) VALUES (",
        id!("tnt", "0"),
        ", 'acme', 'Acme', 'active', '{}', 'active', 1, 1, 1)"
    ),
    concat!(
        series!("0", "500"),
        "INSERT INTO projects (id, tenant_id, slug, name, gpu_cap, desired, observed, state, state_since_us, version, \
         created_us) SELECT ",
        id!("prj", "i"),
        ", ",
        id!("tnt", "0"),
        ", 'lab-' || CAST(i AS TEXT), 'Lab', 100000, 'active', '{}', 'active', 1, 1, 1 FROM n"
    ),
];

// What 20,000 allocations of four slots each left behind. A store that has just been made would show neither engine as it
// works: planners take small tables for empty ones, and read them from end to end.
const PAST: &[&str] = &[
    concat!(
        series!("0", "20000"),
        "INSERT INTO allocations (id, tenant_id, project_id, name, sku_id, region_id, shape, gpu_count, desired, observed, \
         state, state_since_us, version, created_us) SELECT ",
        id!("alc", "5000000 + i"),
        ", ",
        id!("tnt", "0"),
        ", ",
        id!("prj", "(i % 500)"),
        ", 'past', ",
        id!("sku", "0"),
        ", ",
        id!("rgn", "0"),
        ", 'gpu_slice', 4, 'released', '{}', 'released', 1, 3, 1 FROM n"
    ),
    concat!(
        series!("0", "80000"),
        "INSERT INTO allocation_resource_claims (id, allocation_id, node_id, slot_id, kind, fence, claimed_us, released_us, \
         snapshot) SELECT ",
        id!("clm", "5000000 + i"),
        ", ",
        id!("alc", "5000000 + i / 4"),
        ", ",
        id!("nod", "(i / 8)"),
        ", ",
        id!("slt", "i"),
        ", 'slot', 1, 1, 2, '{}' FROM n"
    ),
    concat!(
        series!("0", "60000"),
        "INSERT INTO events (id, seq, noun, change, subject_id, object_version, tenant_id, project_id, at_us) SELECT ",
        id!("evt", "5000000 + i"),
        ", i + 1, 'allocation', 'state_changed', ",
        id!("alc", "5000000 + i / 3"),
        ", i % 3 + 1, ",
        id!("tnt", "0"),
        ", ",
        id!("prj", "(i / 3 % 500)"),
        ", 1 FROM n"
    ),
    concat!(
        series!("0", "20000"),
        "INSERT INTO decisions (id, subject_id, outcome, body, snapshot_version, at_us) SELECT ",
        id!("dec", "5000000 + i"),
        ", ",
        id!("alc", "5000000 + i"),
        ", 'placed', '{}', 1, 1 FROM n"
    ),
    concat!(
        series!("0", "20000"),
        "INSERT INTO audit (id, seq, actor, action, subject, tenant_id, request_id, body, at_us, prev_hash, hash) SELECT ",
        id!("aud", "5000000 + i"),
        ", i + 1, 'system:past', 'allocation_release', ",
        id!("alc", "5000000 + i"),
        ", ",
        id!("tnt", "0"),
        ", 'past', '{}', 1, 'past', 'past' FROM n"
    ),
];

// Of twenty wishes ten are for one GPU, four for two, three for four, two for eight, and one for a whole node.
const WISHES: &str = concat!(
    series!("0", "24000"),
    "INSERT INTO allocations (id, tenant_id, project_id, name, sku_id, region_id, shape, gpu_count, desired, observed, \
     state, state_since_us, look_us, version, created_us) SELECT ",
    id!("alc", "i"),
    ", ",
    id!("tnt", "0"),
    ", ",
    id!("prj", "(i * 7 % 500)"),
    ", 'run', CASE WHEN i * 7 % 20 = 19 THEN ",
    id!("sku", "1"),
    " ELSE ",
    id!("sku", "0"),
    " END, ",
    id!("rgn", "0"),
    ", CASE WHEN i * 7 % 20 = 19 THEN 'baremetal' ELSE 'gpu_slice' END, CASE WHEN i * 7 % 20 < 10 THEN 1 \
     WHEN i * 7 % 20 < 14 THEN 2 WHEN i * 7 % 20 < 17 THEN 4 ELSE 8 END, 'running', '{}', 'requested', 1, 1, 1, 1 FROM n"
);

/// Makes the fleet.
pub fn fleet(db: &Db) -> Result<(), String> {
    run(db, FLEET)
}

/// What a server that has run for a while knows about its tables.
pub fn settle(db: &Db) -> Result<(), String> {
    match db.dialect() {
        Dialect::Sqlite => Ok(()),
        Dialect::Postgres => run(db, &["ANALYZE"]),
    }
}

/// Makes the tenant and its projects, and what they left behind.
pub fn people(db: &Db) -> Result<(), String> {
    run(db, PEOPLE)?;
    run(db, PAST)
}

/// Makes 24,000 wishes: 64,800 GPUs of 80,000.
pub fn wishes(db: &Db) -> Result<(), String> {
    run(db, &[WISHES])
}

fn run(db: &Db, statements: &'static [&'static str]) -> Result<(), String> {
    let run = move |tx: &mut Tx<'_>| statements.iter().try_for_each(|sql| tx.execute(sql, &[]).map(drop));
    db.write(run).map_err(|error: StoreError| error.to_string())
}
