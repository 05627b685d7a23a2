//! The statements of each kind of object. They are alike but for the columns that the database watches over, which come in
//! the order in which `watched` gives their values.

use model::governance::Kind;

pub(super) struct Texts {
    pub all: &'static str,
    pub get: &'static str,
    pub list: &'static str,
    pub insert: &'static str,
    pub update: &'static str,
    pub delete: &'static str,
}

pub(super) const fn texts(kind: Kind) -> &'static Texts {
    match kind {
        Kind::Topology => &TOPOLOGIES,
        Kind::Flavor => &FLAVORS,
        Kind::PriorityClass => &PRIORITY_CLASSES,
        Kind::Cohort => &COHORTS,
        Kind::ClusterQueue => &CLUSTER_QUEUES,
        Kind::LocalQueue => &LOCAL_QUEUES,
        Kind::HardwareProfile => &HARDWARE_PROFILES,
    }
}

macro_rules! platforms {
    ($table:literal, $columns:literal, $values:literal, $sets:literal) => {
        Texts {
            all: concat!(platforms!(@selected $table), " ORDER BY slug"),
            get: concat!(platforms!(@selected $table), " WHERE slug = $1"),
            list: concat!(platforms!(@selected $table), " WHERE slug > $1 ORDER BY slug LIMIT $2"),
            insert: concat!(
                "INSERT INTO ",
                $table,
                " (id, slug, body, created_us, version",
                $columns,
                ") VALUES ($1, $2, $3, $4, 1",
                $values,
                ")"
            ),
            update: concat!(
                "UPDATE ",
                $table,
                " SET body = $3, version = version + 1",
                $sets,
                " WHERE id = $1 AND version = $2"
            ),
            delete: concat!("DELETE FROM ", $table, " WHERE id = $1 AND version = $2"),
        }
    };
    (@selected $table:literal) => {
        concat!("SELECT id, body, version, created_us, CAST(NULL AS TEXT) FROM ", $table)
    };
}

const TOPOLOGIES: Texts = platforms!("topologies", "", "", "");
const FLAVORS: Texts = platforms!(
    "flavors",
    ", topology, pool, speed_milli",
    ", $5, $6, $7",
    ", topology = $4, pool = $5, speed_milli = $6"
);
const PRIORITY_CLASSES: Texts =
    platforms!("priority_classes", ", value, is_default", ", $5, $6", ", value = $4, is_default = $5");
const COHORTS: Texts = platforms!("cohorts", ", parent, weight_milli", ", $5, $6", ", parent = $4, weight_milli = $5");
const CLUSTER_QUEUES: Texts = platforms!(
    "cluster_queues",
    ", cohort, ordering, weight_milli, stop",
    ", $5, $6, $7, $8",
    ", cohort = $4, ordering = $5, weight_milli = $6, stop = $7"
);
const HARDWARE_PROFILES: Texts = platforms!("hardware_profiles", ", priority_class", ", $5", ", priority_class = $4");

macro_rules! local {
    () => {
        "SELECT q.id, q.body, q.version, q.created_us, q.tenant_id FROM local_queues q"
    };
}

const LOCAL_QUEUES: Texts = Texts {
    all: concat!(
        local!(),
        " JOIN projects p ON p.id = q.project_id WHERE p.state <> 'deleted' ORDER BY q.project_id, q.slug"
    ),
    get: concat!(local!(), " WHERE q.slug = $1 AND q.project_id = $2"),
    list: concat!(local!(), " WHERE q.id > $1 ORDER BY q.id LIMIT $2"),
    insert: "INSERT INTO local_queues (id, slug, body, created_us, version, cluster_queue, is_default, stop, weight_milli, \
             tenant_id, project_id) VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9, $10)",
    update: "UPDATE local_queues SET body = $3, cluster_queue = $4, is_default = $5, stop = $6, weight_milli = $7, \
             version = version + 1 WHERE id = $1 AND version = $2",
    delete: "DELETE FROM local_queues WHERE id = $1 AND version = $2",
};

/// The local queues of a project by short name.
pub(super) const OF_PROJECT: &str =
    concat!(local!(), " WHERE q.slug > $1 AND q.project_id = $3 ORDER BY q.slug LIMIT $2");

/// The local queues into a queue whose projects are no more.
pub(super) const LEFT_BEHIND: &str = concat!(
    local!(),
    " JOIN projects p ON p.id = q.project_id WHERE p.state = 'deleted' AND q.cluster_queue = $1 ORDER BY q.id"
);

pub(super) const POOLS: &str = "SELECT slug FROM pools ORDER BY slug";
pub(super) const TENANTS: &str = "SELECT id FROM tenants WHERE state <> 'deleted' ORDER BY id";
pub(super) const PROJECTS: &str = "SELECT id, tenant_id FROM projects WHERE state <> 'deleted' ORDER BY id";
pub(super) const IN_USE: &str = "SELECT q.cluster_queue, k.gpu_model, CAST(SUM(a.gpu_count) AS BIGINT) FROM allocations a \
    JOIN skus k ON k.id = a.sku_id JOIN local_queues q ON q.project_id = a.project_id AND q.is_default = 1 \
    WHERE a.state NOT IN ('released', 'refused', 'failed') GROUP BY q.cluster_queue, k.gpu_model";
