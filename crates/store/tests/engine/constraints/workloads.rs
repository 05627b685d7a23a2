//! Rules about workloads, their members, and those that were told to go.

use super::{Case, Refusal::Check, Refusal::Reference, Refusal::Unique, after};

const FLAVOR: &str =
    "INSERT INTO flavors (id, slug, speed_milli, body, version, created_us) VALUES ('gb', 'fast', 1000, '{}', 1, 0)";
const QUEUE: &str = "INSERT INTO cluster_queues (id, slug, ordering, weight_milli, stop, body, version, created_us) VALUES ('ge', 'main', 'lifo', 1000, 'none', '{}', 1, 0)";
const LOCAL: &str = "INSERT INTO local_queues (id, tenant_id, project_id, slug, cluster_queue, is_default, stop, weight_milli, body, version, created_us) VALUES ('gf', 't1', 'p1', 'mine', 'main', 1, 'none', 0, '{}', 1, 0)";
const WORK: &str = "INSERT INTO workloads (id, tenant_id, project_id, name, local_queue, queue, priority, members, sku_id, region_id, shape, gpu_count, if_unavailable, desired, state, state_since_us, queued_us, live_local_queue, live_queue, version, created_us) VALUES ('y1', 't1', 'p1', 'x', 'mine', 'main', 0, 2, 'q1', 'r1', 'gpu_slice', 1, 'queue', 'running', 'queued', 0, 0, 'mine', 'main', 1, 0), ('y2', 't1', 'p1', 'x', 'mine', 'main', 0, 2, 'q1', 'r1', 'gpu_slice', 1, 'queue', 'running', 'queued', 0, 0, 'mine', 'main', 1, 0)";
const ADMITTED: &str = "UPDATE workloads SET state = 'admitted', flavor = 'fast', admitted_us = 0";
const TOLD: &str = "INSERT INTO preemptions (id, workload_id, by_workload_id, rule, notice_s, grace_s, noticed_us, stop_us, body) VALUES ('z1', 'y1', 'y2', 'reclaim', 0, 0, 5, 5, '{}')";

const RUN: &str = "INSERT INTO workload_runs (workload_id, project_id, local_queue, queue, flavor, gpus, from_us, to_us) VALUES ('y1', 'p1', 'mine', 'main', 'fast', 2, 5, 9)";

const RAN: &[&str] = &[FLAVOR, QUEUE, LOCAL, WORK, RUN];
const WAITING: &[&str] = &[FLAVOR, QUEUE, LOCAL, WORK];
const HOLDING: &[&str] = &[FLAVOR, QUEUE, LOCAL, WORK, ADMITTED];
const GOING: &[&str] = &[FLAVOR, QUEUE, LOCAL, WORK, TOLD];

pub(super) const CASES: &[Case] = &[
    after(WAITING, "a workload in another tenant than its project", Reference, "UPDATE workloads SET tenant_id = 't2'"),
    after(WAITING, "a workload of no SKU", Reference, "UPDATE workloads SET sku_id = 'zz'"),
    after(WAITING, "a workload of no region", Reference, "UPDATE workloads SET region_id = 'zz'"),
    after(WAITING, "a workload in no queue", Reference, "UPDATE workloads SET queue = 'zz', live_queue = 'zz'"),
    after(
        WAITING,
        "a workload in no queue of its project",
        Reference,
        "UPDATE workloads SET local_queue = 'zz', live_local_queue = 'zz'",
    ),
    after(WAITING, "a workload without members", Check, "UPDATE workloads SET members = 0"),
    after(WAITING, "a workload without GPUs", Check, "UPDATE workloads SET gpu_count = 0"),
    after(WAITING, "a workload that does something else", Check, "UPDATE workloads SET if_unavailable = 'wait'"),
    after(WAITING, "a workload that runs no time", Check, "UPDATE workloads SET max_run_s = 0"),
    after(WAITING, "a workload that is wanted somehow", Check, "UPDATE workloads SET desired = 'maybe'"),
    after(WAITING, "a workload in no state", Check, "UPDATE workloads SET state = 'odd'"),
    after(WAITING, "a workload stopped less than never", Check, "UPDATE workloads SET stops = -1"),
    after(WAITING, "a gate half closed", Check, "UPDATE workloads SET gated = 2"),
    after(WAITING, "a workload that waits and uses a flavor", Check, "UPDATE workloads SET flavor = 'fast'"),
    after(WAITING, "a workload that waits and was admitted", Check, "UPDATE workloads SET admitted_us = 0"),
    after(WAITING, "a workload that waits and borrows", Check, "UPDATE workloads SET borrowed_gpus = 1"),
    after(WAITING, "a reason to wait since never", Check, "UPDATE workloads SET wait = '{}'"),
    after(WAITING, "a workload that waits outside of its queue", Check, "UPDATE workloads SET live_queue = NULL"),
    after(HOLDING, "a workload of no flavor", Reference, "UPDATE workloads SET flavor = 'zz'"),
    after(HOLDING, "a workload that borrows more than it has", Check, "UPDATE workloads SET borrowed_gpus = 3"),
    after(HOLDING, "a workload that was admitted and waits", Check, "UPDATE workloads SET wait = '{}', wait_us = 0"),
    after(WAITING, "a member of no workload", Reference, "UPDATE allocations SET workload_id = 'zz'"),
    after(
        GOING,
        "a workload told to go twice at once",
        Unique("preemptions_one_open"),
        "INSERT INTO preemptions (id, workload_id, rule, notice_s, grace_s, noticed_us, stop_us, body) VALUES ('z2', 'y1', 'drain', 0, 0, 5, 5, '{}')",
    ),
    after(GOING, "nobody told to go", Reference, "UPDATE preemptions SET workload_id = 'zz'"),
    after(GOING, "told to go for nobody", Reference, "UPDATE preemptions SET by_workload_id = 'zz'"),
    after(GOING, "told to go for itself", Check, "UPDATE preemptions SET by_workload_id = 'y1'"),
    after(GOING, "told to go under no rule", Check, "UPDATE preemptions SET rule = 'whim'"),
    after(GOING, "notice before it is given", Check, "UPDATE preemptions SET notice_s = -1"),
    after(GOING, "grace below nothing", Check, "UPDATE preemptions SET grace_s = -1"),
    after(GOING, "stopped before it was told", Check, "UPDATE preemptions SET stop_us = 4"),
    after(GOING, "gone and never stopped", Check, "UPDATE preemptions SET gone_us = 9"),
    after(WAITING, "stopped of late less than never", Check, "UPDATE workloads SET recent_stops = -1"),
    after(WAITING, "displaced by nobody", Reference, "UPDATE workloads SET displaced_by = 'zz'"),
    after(RAN, "a run of no workload", Reference, "UPDATE workload_runs SET workload_id = 'zz'"),
    after(RAN, "a run without GPUs", Check, "UPDATE workload_runs SET gpus = 0"),
    after(RAN, "a run that ends before it begins", Check, "UPDATE workload_runs SET to_us = 4"),
    after(
        RAN,
        "two runs of one workload at once",
        Unique("workload_runs_pkey"),
        "INSERT INTO workload_runs (workload_id, project_id, local_queue, queue, flavor, gpus, from_us, to_us) VALUES ('y1', 'p1', 'mine', 'main', 'fast', 1, 5, 8)",
    ),
];
