-- What a workload that named a hardware profile may be served by, as JSON: the profile as it was when it was submitted.
ALTER TABLE workloads ADD COLUMN hardware TEXT;

-- How often it was stopped for others of late, since the first of these stops, and for whom last, as long as it waits.
ALTER TABLE workloads ADD COLUMN recent_stops BIGINT NOT NULL DEFAULT 0 CHECK (recent_stops >= 0);
ALTER TABLE workloads ADD COLUMN recent_stops_us BIGINT;
ALTER TABLE workloads ADD COLUMN displaced_by TEXT REFERENCES workloads (id);
