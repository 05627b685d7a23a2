-- What a workload that named a hardware profile may be served by, as JSON: the profile as it was when it was submitted.
ALTER TABLE workloads ADD COLUMN hardware TEXT;

-- How often it was stopped for others of late, since the first of these stops, and for whom last, as long as it waits.
ALTER TABLE workloads ADD COLUMN recent_stops BIGINT NOT NULL DEFAULT 0 CHECK (recent_stops >= 0);
ALTER TABLE workloads ADD COLUMN recent_stops_us BIGINT;
ALTER TABLE workloads ADD COLUMN displaced_by TEXT REFERENCES workloads (id);

-- Each time that a workload held quota, written when it gave it back: what local queues used of late is counted from this.
CREATE TABLE workload_runs (
  workload_id TEXT NOT NULL REFERENCES workloads (id),
  project_id TEXT NOT NULL,
  local_queue TEXT NOT NULL,
  queue TEXT NOT NULL,
  flavor TEXT NOT NULL,
  gpus BIGINT NOT NULL CHECK (gpus > 0),
  from_us BIGINT NOT NULL,
  to_us BIGINT NOT NULL,
  PRIMARY KEY (workload_id, from_us),
  CHECK (to_us >= from_us)
);
CREATE INDEX workload_runs_by_queue ON workload_runs (queue, to_us);

CREATE INDEX preemptions_for ON preemptions (by_workload_id, id) WHERE by_workload_id IS NOT NULL;
