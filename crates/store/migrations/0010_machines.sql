-- Whole machines: which node is which machine of which provider, who has it now, how far an order to its provider has come,
-- and what the provider last showed.

ALTER TABLE nodes ADD COLUMN provider TEXT;
ALTER TABLE nodes ADD COLUMN machine_id TEXT;
-- The mark under which the platform's own host was installed; none while a tenant has the machine, or when a person installed it.
ALTER TABLE nodes ADD COLUMN machine_mark TEXT;
-- Since when the machine is a tenant's; it ends when the host is enrolled and looked at again.
ALTER TABLE nodes ADD COLUMN handed_over_us BIGINT;
-- What the node is being turned into; one profile, or none.
ALTER TABLE nodes ADD COLUMN converting_to TEXT;
ALTER TABLE nodes ADD COLUMN converting_us BIGINT;
CREATE UNIQUE INDEX nodes_machine ON nodes (provider, machine_id);

-- How far the control plane has come with an order to a provider. It can be lost: everything in it is found again by
-- looking at the machine.
CREATE TABLE machine_work (
  task_id TEXT PRIMARY KEY REFERENCES node_tasks (id),
  phase TEXT NOT NULL,
  phase_since_us BIGINT NOT NULL,
  status TEXT NOT NULL,
  status_since_us BIGINT NOT NULL,
  failures BIGINT NOT NULL CHECK (failures >= 0),
  fault TEXT NOT NULL,
  look_us BIGINT NOT NULL
);

-- Providers that a control plane was started with, and how the last look at all their machines went.
CREATE TABLE providers (
  slug TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  address TEXT NOT NULL,
  sync_wanted_us BIGINT NOT NULL,
  synced_us BIGINT,
  fault TEXT NOT NULL DEFAULT '',
  fault_us BIGINT
);

-- What a provider showed at the last look, machine by machine, with what does not agree with the platform.
CREATE TABLE provider_machines (
  provider TEXT NOT NULL REFERENCES providers (slug),
  machine_id TEXT NOT NULL,
  hostname TEXT NOT NULL,
  serial TEXT,
  status TEXT NOT NULL,
  power TEXT NOT NULL,
  tags TEXT NOT NULL,
  mark TEXT,
  locked BIGINT NOT NULL CHECK (locked IN (0, 1)),
  node_id TEXT REFERENCES nodes (id),
  findings TEXT NOT NULL,
  seen_us BIGINT NOT NULL,
  PRIMARY KEY (provider, machine_id)
);
