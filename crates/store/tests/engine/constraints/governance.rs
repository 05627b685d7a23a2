//! Rules about the objects of governance: names, references, limits, and one default.

use super::{Case, Refusal::Check, Refusal::Reference, Refusal::Unique, after, case};

const TOPOLOGY: &str = "INSERT INTO topologies (id, slug, body, version, created_us) VALUES ('ga', 'rows', '{}', 1, 0)";
const FLAVOR: &str = "INSERT INTO flavors (id, slug, topology, pool, speed_milli, body, version, created_us) VALUES ('gb', 'fast', NULL, 'h200', 1000, '{}', 1, 0)";
const CLASS: &str = "INSERT INTO priority_classes (id, slug, value, is_default, body, version, created_us) VALUES ('gc', 'usual', 0, 1, '{}', 1, 0)";
const COHORT: &str = "INSERT INTO cohorts (id, slug, parent, weight_milli, body, version, created_us) VALUES ('gd', 'all', NULL, 1000, '{}', 1, 0)";
const QUEUE: &str = "INSERT INTO cluster_queues (id, slug, cohort, ordering, weight_milli, stop, body, version, created_us) VALUES ('ge', 'main', 'all', 'lifo', 1000, 'none', '{}', 1, 0)";
const QUOTA: &str = "INSERT INTO quotas (cohort, cluster_queue, flavor, resource, nominal, borrowing_limit, lending_limit) VALUES (NULL, 'main', 'fast', 'gpu', 8, 0, 0)";
const SHARED: &str = "INSERT INTO quotas (cohort, cluster_queue, flavor, resource, nominal, borrowing_limit, lending_limit) VALUES ('all', NULL, 'fast', 'gpu', 8, NULL, NULL)";
const LOCAL: &str = "INSERT INTO local_queues (id, tenant_id, project_id, slug, cluster_queue, is_default, stop, weight_milli, body, version, created_us) VALUES ('gf', 't1', 'p1', 'main', 'main', 1, 'hold', 0, '{}', 1, 0)";
const PROFILE: &str = "INSERT INTO hardware_profiles (id, slug, priority_class, body, version, created_us) VALUES ('gg', 'big', 'usual', '{}', 1, 0)";
const OFFERED: &str = "INSERT INTO hardware_profile_flavors (hardware_profile, flavor) VALUES ('big', 'fast')";

const HARDWARE: &[&str] = &[TOPOLOGY, FLAVOR, CLASS, PROFILE, OFFERED];
const QUEUES: &[&str] = &[FLAVOR, COHORT, QUEUE, QUOTA, SHARED, LOCAL];

pub(super) const CASES: &[Case] = &[
    case("a second counter", Check, "INSERT INTO governance (one, version) VALUES (2, 1)"),
    case("a counter that counts nothing", Check, "UPDATE governance SET version = 0"),
    after(
        HARDWARE,
        "a topology twice",
        Unique("topologies_slug_key"),
        "INSERT INTO topologies (id, slug, body, version, created_us) VALUES ('x', 'rows', '{}', 1, 0)",
    ),
    after(
        HARDWARE,
        "a flavor twice",
        Unique("flavors_slug_key"),
        "INSERT INTO flavors (id, slug, speed_milli, body, version, created_us) VALUES ('x', 'fast', 1, '{}', 1, 0)",
    ),
    after(HARDWARE, "a flavor of no topology", Reference, "UPDATE flavors SET topology = 'zz'"),
    after(HARDWARE, "a flavor of no pool", Reference, "UPDATE flavors SET pool = 'zz'"),
    after(HARDWARE, "a flavor that stands still", Check, "UPDATE flavors SET speed_milli = 0"),
    after(
        HARDWARE,
        "a class twice",
        Unique("priority_classes_slug_key"),
        "INSERT INTO priority_classes (id, slug, value, is_default, body, version, created_us) VALUES ('x', 'usual', 0, 0, '{}', 1, 0)",
    ),
    after(
        HARDWARE,
        "two default classes",
        Unique("priority_classes_one_default"),
        "INSERT INTO priority_classes (id, slug, value, is_default, body, version, created_us) VALUES ('x', 'other', 0, 1, '{}', 1, 0)",
    ),
    after(HARDWARE, "half a default", Check, "UPDATE priority_classes SET is_default = 2"),
    after(
        HARDWARE,
        "a profile twice",
        Unique("hardware_profiles_slug_key"),
        "INSERT INTO hardware_profiles (id, slug, body, version, created_us) VALUES ('x', 'big', '{}', 1, 0)",
    ),
    after(HARDWARE, "a profile of no class", Reference, "UPDATE hardware_profiles SET priority_class = 'zz'"),
    after(HARDWARE, "a class that a profile has goes", Reference, "DELETE FROM priority_classes"),
    after(HARDWARE, "a flavor offered twice", Unique("hardware_profile_flavors_pkey"), OFFERED),
    after(HARDWARE, "no flavor offered", Reference, "UPDATE hardware_profile_flavors SET flavor = 'zz'"),
    after(HARDWARE, "offered by no profile", Reference, "UPDATE hardware_profile_flavors SET hardware_profile = 'zz'"),
    after(
        QUEUES,
        "a cohort twice",
        Unique("cohorts_slug_key"),
        "INSERT INTO cohorts (id, slug, weight_milli, body, version, created_us) VALUES ('x', 'all', 1, '{}', 1, 0)",
    ),
    after(QUEUES, "a cohort below nothing", Reference, "UPDATE cohorts SET parent = 'zz'"),
    after(QUEUES, "a cohort below itself", Check, "UPDATE cohorts SET parent = slug"),
    after(QUEUES, "a cohort of less weight than none", Check, "UPDATE cohorts SET weight_milli = -1"),
    after(QUEUES, "a cohort with members goes", Reference, "DELETE FROM cohorts"),
    after(
        QUEUES,
        "a queue twice",
        Unique("cluster_queues_slug_key"),
        "INSERT INTO cluster_queues (id, slug, ordering, weight_milli, stop, body, version, created_us) VALUES ('x', 'main', 'lifo', 1, 'none', '{}', 1, 0)",
    ),
    after(QUEUES, "a queue of no cohort", Reference, "UPDATE cluster_queues SET cohort = 'zz'"),
    after(QUEUES, "an unknown order", Check, "UPDATE cluster_queues SET ordering = 'random'"),
    after(QUEUES, "a queue of less weight than none", Check, "UPDATE cluster_queues SET weight_milli = -1"),
    after(QUEUES, "a queue half stopped", Check, "UPDATE cluster_queues SET stop = 'half'"),
    after(QUEUES, "quota in no flavor", Reference, "UPDATE quotas SET flavor = 'zz'"),
    after(QUEUES, "quota of no queue", Reference, "UPDATE quotas SET cluster_queue = 'zz' WHERE cohort IS NULL"),
    after(QUEUES, "quota of no cohort", Reference, "UPDATE quotas SET cohort = 'zz' WHERE cluster_queue IS NULL"),
    after(QUEUES, "quota of nobody", Check, "UPDATE quotas SET cohort = NULL, cluster_queue = NULL"),
    after(QUEUES, "quota of a queue twice", Unique("quotas_once_in_queue"), QUOTA),
    after(QUEUES, "quota of a cohort twice", Unique("quotas_once_in_cohort"), SHARED),
    after(QUEUES, "less quota than none", Check, "UPDATE quotas SET nominal = -1"),
    after(QUEUES, "to borrow less than nothing", Check, "UPDATE quotas SET borrowing_limit = -1"),
    after(QUEUES, "to lend less than nothing", Check, "UPDATE quotas SET lending_limit = -1"),
    after(
        QUEUES,
        "a local queue twice",
        Unique("local_queues_slug"),
        "INSERT INTO local_queues (id, tenant_id, project_id, slug, cluster_queue, is_default, stop, weight_milli, body, version, created_us) VALUES ('x', 't1', 'p1', 'main', 'main', 0, 'none', 1, '{}', 1, 0)",
    ),
    after(
        QUEUES,
        "two default queues of a project",
        Unique("local_queues_one_default"),
        "INSERT INTO local_queues (id, tenant_id, project_id, slug, cluster_queue, is_default, stop, weight_milli, body, version, created_us) VALUES ('x', 't1', 'p1', 'other', 'main', 1, 'none', 1, '{}', 1, 0)",
    ),
    after(QUEUES, "a local queue to nowhere", Reference, "UPDATE local_queues SET cluster_queue = 'zz'"),
    after(QUEUES, "a local queue of another tenant's project", Reference, "UPDATE local_queues SET tenant_id = 't2'"),
    after(QUEUES, "a local queue half default", Check, "UPDATE local_queues SET is_default = 2"),
    after(QUEUES, "a local queue half stopped", Check, "UPDATE local_queues SET stop = 'half'"),
    after(QUEUES, "a local queue of less weight than none", Check, "UPDATE local_queues SET weight_milli = -1"),
];
