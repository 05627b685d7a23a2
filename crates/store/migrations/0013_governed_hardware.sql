-- What a workload that named a hardware profile may be served by, as JSON: the profile as it was when it was submitted.
ALTER TABLE workloads ADD COLUMN hardware TEXT;
