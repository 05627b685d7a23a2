-- What waits in a queue and is admitted as a whole, with its members, and each time that one was told to go.

CREATE TABLE workloads (
  id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  name TEXT NOT NULL,
  local_queue TEXT NOT NULL,
  -- The cluster queue as it was when this was submitted.
  queue TEXT NOT NULL,
  priority_class TEXT,
  priority BIGINT NOT NULL,
  members BIGINT NOT NULL CHECK (members BETWEEN 1 AND 64),
  sku_id TEXT NOT NULL REFERENCES skus (id),
  region_id TEXT NOT NULL REFERENCES regions (id),
  shape TEXT NOT NULL,
  -- Of each member.
  gpu_count BIGINT NOT NULL CHECK (gpu_count BETWEEN 1 AND 64),
  if_unavailable TEXT NOT NULL CHECK (if_unavailable IN ('refuse', 'queue')),
  max_run_s BIGINT CHECK (max_run_s > 0),
  desired TEXT NOT NULL CHECK (desired IN ('running', 'released')),
  state TEXT NOT NULL CHECK (state IN ('queued', 'admitted', 'running', 'preempting', 'stopping', 'finished', 'cancelled',
    'refused', 'failed')),
  state_since_us BIGINT NOT NULL,
  wait_code TEXT, wait_because TEXT, wait_source TEXT, wait_until_us BIGINT,
  look_us BIGINT, faults BIGINT NOT NULL DEFAULT 0, last_fault TEXT,
  -- Its place in the queue; kept when it is preempted.
  queued_us BIGINT NOT NULL,
  -- Not to be admitted before.
  due_us BIGINT,
  -- How often it was stopped and queued again.
  stops BIGINT NOT NULL DEFAULT 0 CHECK (stops >= 0),
  -- An admission gate is closed.
  gated BIGINT NOT NULL DEFAULT 0 CHECK (gated IN (0, 1)),
  flavor TEXT REFERENCES flavors (slug),
  borrowed_gpus BIGINT NOT NULL DEFAULT 0 CHECK (borrowed_gpus BETWEEN 0 AND members * gpu_count),
  admitted_us BIGINT,
  -- Why it waits, as JSON, and since when that is so.
  wait TEXT,
  wait_us BIGINT,
  -- The queues again while it lives: a queue with work in it cannot go, and one without can.
  live_local_queue TEXT,
  live_queue TEXT REFERENCES cluster_queues (slug),
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  CHECK (CASE WHEN state IN ('finished', 'cancelled', 'refused', 'failed') THEN live_queue IS NULL AND live_local_queue IS NULL
    ELSE live_queue IS NOT NULL AND live_queue = queue AND live_local_queue IS NOT NULL AND live_local_queue = local_queue END),
  CHECK ((flavor IS NOT NULL) = (state IN ('admitted', 'running', 'preempting', 'stopping'))),
  CHECK ((admitted_us IS NOT NULL) = (state IN ('admitted', 'running', 'preempting', 'stopping'))),
  CHECK (borrowed_gpus = 0 OR flavor IS NOT NULL),
  CHECK ((wait IS NULL) = (wait_us IS NULL)),
  CHECK (wait IS NULL OR state = 'queued'),
  FOREIGN KEY (project_id, live_local_queue) REFERENCES local_queues (project_id, slug),
  FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)
);
CREATE INDEX workloads_by_project ON workloads (project_id, id);
CREATE INDEX workloads_by_tenant ON workloads (tenant_id, id);
CREATE INDEX workloads_by_queue ON workloads (queue, id);
CREATE INDEX workloads_in_queue ON workloads (live_queue) WHERE live_queue IS NOT NULL;
CREATE INDEX workloads_in_local_queue ON workloads (project_id, live_local_queue) WHERE live_local_queue IS NOT NULL;
CREATE INDEX workloads_by_flavor ON workloads (flavor) WHERE flavor IS NOT NULL;
CREATE INDEX workloads_live ON workloads (id) WHERE state NOT IN ('finished', 'cancelled', 'refused', 'failed');
-- The order of a queue.
CREATE INDEX workloads_waiting ON workloads (queue, priority DESC, queued_us, id) WHERE state = 'queued';
CREATE INDEX workloads_look ON workloads (look_us) WHERE look_us IS NOT NULL;

ALTER TABLE allocations ADD COLUMN workload_id TEXT REFERENCES workloads (id);
CREATE INDEX allocations_by_workload ON allocations (workload_id, id) WHERE workload_id IS NOT NULL;

CREATE TABLE preemptions (
  id TEXT PRIMARY KEY,
  workload_id TEXT NOT NULL REFERENCES workloads (id),
  by_workload_id TEXT REFERENCES workloads (id),
  rule TEXT NOT NULL CHECK (rule IN ('within_queue', 'reclaim', 'borrow_within_cohort', 'fair_share', 'drain')),
  notice_s BIGINT NOT NULL CHECK (notice_s >= 0),
  grace_s BIGINT NOT NULL CHECK (grace_s >= 0),
  noticed_us BIGINT NOT NULL,
  -- When it is stopped, unless it has saved its work before.
  stop_us BIGINT NOT NULL,
  -- When the guest said that its work is saved.
  checkpointed_us BIGINT,
  stopped_us BIGINT,
  gone_us BIGINT,
  body TEXT NOT NULL,
  CHECK (by_workload_id <> workload_id),
  CHECK (stop_us >= noticed_us),
  CHECK (gone_us IS NULL OR stopped_us IS NOT NULL)
);
CREATE UNIQUE INDEX preemptions_one_open ON preemptions (workload_id) WHERE gone_us IS NULL;
CREATE INDEX preemptions_by_workload ON preemptions (workload_id, id);

-- What an event tells besides its states and its reason, as JSON.
ALTER TABLE events ADD COLUMN detail TEXT;
