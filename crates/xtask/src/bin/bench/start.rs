//! How long a control plane takes from start to ready with 100,000 allocations and 200,000 claims in its store.

use crate::{
    figure::{Limit, Report, five},
    server::Server,
};
use store::{Dialect, StoreError, Tx, testing::Place};

/// Measures both engines; 2 s on SQLite and 5 s on PostgreSQL are the ceilings.
pub fn measure(report: &mut Report) -> Result<(), String> {
    for (dialect, name, ceiling_ms) in [(Dialect::Sqlite, "sqlite", 2000), (Dialect::Postgres, "postgres", 5000)] {
        let place = Place::new(dialect);
        let db = place.open();
        db.write(fill).map_err(|error: StoreError| error.to_string())?;
        drop(db);
        let runs = five(|| {
            let server = Server::start(&["serve", "--database", place.url(), "--listen", "127.0.0.1:0"])?;
            Ok(u64::try_from(server.ready_after.as_millis()).unwrap_or(u64::MAX))
        })?;
        report.figure(&format!("start_{name}_100k_allocations"), &runs, "ms", Limit::AtMost(ceiling_ms));
    }
    Ok(())
}

// Ids are a fixed beginning and seven digits, so that one statement makes a hundred thousand of them on either engine.
macro_rules! id {
    ($prefix:literal, $number:literal) => {
        concat!("'", $prefix, "_01jh2n6f4zw8q9r0s1t' || CAST(1000000 + ", $number, " AS TEXT)")
    };
}
macro_rules! series {
    ($count:literal) => {
        concat!("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ", $count, " - 1) ")
    };
}

const FILL: &[&str] = &[
    concat!(
        "INSERT INTO tenants (id, slug, name, desired, observed, state, state_since_us, version, created_us) VALUES (",
        id!("tnt", "0"),
        ", 'acme', 'Acme', 'active', '{}', 'active', 1, 1, 1)"
    ),
    concat!(
        "INSERT INTO projects (id, tenant_id, slug, name, gpu_cap, desired, observed, state, state_since_us, version, created_us) VALUES (",
        id!("prj", "0"),
        ", ",
        id!("tnt", "0"),
        ", 'lab', 'Lab', 100000, 'active', '{}', 'active', 1, 1, 1)"
    ),
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
        "INSERT INTO skus (id, slug, name, shape, gpu_model, gpu_counts, vcpus_per_gpu, memory_mib_per_gpu, price_micros_per_gpu_hour, enabled, version, created_us) VALUES (",
        id!("sku", "0"),
        ", 'h200-sxm-slice', 'Slice', 'gpu_slice', 'h200-sxm', '[1,2,4,8]', 24, 65536, 3000000, 1, 1, 1)"
    ),
    concat!(
        series!("1000"),
        "INSERT INTO nodes (id, pool_id, name, gpu_model, public_key, partitions, state, state_since_us, version, created_us) SELECT ",
        id!("nod", "i"),
        ", ",
        id!("pol", "0"),
        ", 'node-' || CAST(i AS TEXT), 'h200-sxm', 'key-' || CAST(i AS TEXT), '[]', 'online', 1, 1, 1 FROM n"
    ),
    concat!(
        series!("1000"),
        "INSERT INTO node_occupancy (node_id, mode) SELECT ",
        id!("nod", "i"),
        ", 'sliced' FROM n"
    ),
    concat!(
        series!("8000"),
        "INSERT INTO node_resource_slots (id, node_id, profile, state, gpu_pci_address, gpu_module_id, nvme_identity, mgmt_mac, private_ip, fabric_claim_mode, fabric_vf_pci_address, numa_node, partition_ids, use_generation, capacity_metadata, health_state, health_detail, state_since_us, version, created_us) SELECT ",
        id!("slt", "i"),
        ", ",
        id!("nod", "(i / 8)"),
        ", 'h200-sxm-slice', 'in_use', 'gpu-' || CAST(i AS TEXT), i % 8 + 1, 'nvme-' || CAST(i AS TEXT), 'mac-' || CAST(i AS TEXT), 'ip-' || CAST(i AS TEXT), 'per_slot_vf', 'vf-' || CAST(i AS TEXT), 0, '[]', 25, '{}', 'ok', '', 1, 1, 1 FROM n"
    ),
    concat!(
        series!("100000"),
        "INSERT INTO allocations (id, tenant_id, project_id, name, sku_id, region_id, shape, gpu_count, desired, observed, state, state_since_us, version, created_us) SELECT ",
        id!("alc", "i"),
        ", ",
        id!("tnt", "0"),
        ", ",
        id!("prj", "0"),
        ", 'run', ",
        id!("sku", "0"),
        ", ",
        id!("rgn", "0"),
        ", 'gpu_slice', 2, CASE WHEN i < 96000 THEN 'released' ELSE 'running' END, '{\"guest_up\":false}', CASE WHEN i < 96000 THEN 'released' ELSE 'running' END, 1, 1, 1 FROM n"
    ),
    // Two claims an allocation, walking over the slots again and again; the last 4,000 allocations still hold theirs.
    concat!(
        series!("200000"),
        "INSERT INTO allocation_resource_claims (id, allocation_id, node_id, slot_id, kind, active_mode, fence, claimed_us, released_us, snapshot) SELECT ",
        id!("clm", "i"),
        ", ",
        id!("alc", "(i / 2)"),
        ", ",
        id!("nod", "((i % 8000) / 8)"),
        ", ",
        id!("slt", "(i % 8000)"),
        ", 'slot', CASE WHEN i < 192000 THEN NULL ELSE 'sliced' END, i / 8000 + 1, i + 1, CASE WHEN i < 192000 THEN i + 2 ELSE NULL END, '{}' FROM n"
    ),
    concat!(
        series!("100000"),
        "INSERT INTO events (id, seq, noun, change, subject_id, object_version, tenant_id, project_id, state_to, at_us) SELECT ",
        id!("evt", "i"),
        ", i + 1, 'allocation', 'created', ",
        id!("alc", "i"),
        ", 1, ",
        id!("tnt", "0"),
        ", ",
        id!("prj", "0"),
        ", 'requested', 1 FROM n"
    ),
];

fn fill(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    for statement in FILL {
        tx.execute(statement, &[])?;
    }
    Ok(())
}
