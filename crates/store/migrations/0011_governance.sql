-- Who may have how much of which GPUs, and in which order: flavors, cohorts, queues, priorities and profiles of hardware.
-- Every object is kept whole as JSON; beside it stands what the database itself watches over. Everything refers to everything
-- else by short name, and a short name is for ever.

-- One row, locked by whoever changes any of it: what is read together was true together.
CREATE TABLE governance (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  version BIGINT NOT NULL CHECK (version >= 1)
);
INSERT INTO governance (one, version) VALUES (1, 1);

CREATE TABLE topologies (
  id TEXT PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);

CREATE TABLE flavors (
  id TEXT PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  topology TEXT REFERENCES topologies (slug),
  pool TEXT REFERENCES pools (slug),
  speed_milli BIGINT NOT NULL CHECK (speed_milli >= 1),
  body TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);
CREATE INDEX flavors_by_topology ON flavors (topology) WHERE topology IS NOT NULL;
CREATE INDEX flavors_by_pool ON flavors (pool) WHERE pool IS NOT NULL;

CREATE TABLE priority_classes (
  id TEXT PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  value BIGINT NOT NULL,
  is_default BIGINT NOT NULL CHECK (is_default IN (0, 1)),
  body TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);
CREATE UNIQUE INDEX priority_classes_one_default ON priority_classes (is_default) WHERE is_default = 1;

CREATE TABLE cohorts (
  id TEXT PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  parent TEXT REFERENCES cohorts (slug),
  weight_milli BIGINT NOT NULL CHECK (weight_milli >= 0),
  body TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  CHECK (parent <> slug)
);
CREATE INDEX cohorts_by_parent ON cohorts (parent) WHERE parent IS NOT NULL;

CREATE TABLE cluster_queues (
  id TEXT PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  cohort TEXT REFERENCES cohorts (slug),
  ordering TEXT NOT NULL CHECK (ordering IN ('strict_fifo', 'best_effort_fifo', 'lifo', 'priority')),
  weight_milli BIGINT NOT NULL CHECK (weight_milli >= 0),
  stop TEXT NOT NULL CHECK (stop IN ('none', 'hold', 'hold_and_drain')),
  body TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);
CREATE INDEX cluster_queues_by_cohort ON cluster_queues (cohort) WHERE cohort IS NOT NULL;

-- What a cohort or a queue has of one resource in one flavor.
CREATE TABLE quotas (
  cohort TEXT REFERENCES cohorts (slug),
  cluster_queue TEXT REFERENCES cluster_queues (slug),
  flavor TEXT NOT NULL REFERENCES flavors (slug),
  resource TEXT NOT NULL,
  nominal BIGINT NOT NULL CHECK (nominal >= 0),
  borrowing_limit BIGINT CHECK (borrowing_limit >= 0),
  lending_limit BIGINT CHECK (lending_limit >= 0),
  CHECK ((cohort IS NULL) <> (cluster_queue IS NULL))
);
CREATE UNIQUE INDEX quotas_once_in_cohort ON quotas (cohort, flavor, resource) WHERE cohort IS NOT NULL;
CREATE UNIQUE INDEX quotas_once_in_queue ON quotas (cluster_queue, flavor, resource) WHERE cluster_queue IS NOT NULL;
CREATE INDEX quotas_by_flavor ON quotas (flavor);

CREATE TABLE local_queues (
  id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  slug TEXT NOT NULL,
  cluster_queue TEXT NOT NULL REFERENCES cluster_queues (slug),
  is_default BIGINT NOT NULL CHECK (is_default IN (0, 1)),
  stop TEXT NOT NULL CHECK (stop IN ('none', 'hold', 'hold_and_drain')),
  weight_milli BIGINT NOT NULL CHECK (weight_milli >= 0),
  body TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)
);
CREATE UNIQUE INDEX local_queues_slug ON local_queues (project_id, slug);
CREATE UNIQUE INDEX local_queues_one_default ON local_queues (project_id) WHERE is_default = 1;
CREATE INDEX local_queues_by_queue ON local_queues (cluster_queue);

CREATE TABLE hardware_profiles (
  id TEXT PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  priority_class TEXT REFERENCES priority_classes (slug),
  body TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);
CREATE INDEX hardware_profiles_by_class ON hardware_profiles (priority_class) WHERE priority_class IS NOT NULL;

-- The flavors that a profile offers.
CREATE TABLE hardware_profile_flavors (
  hardware_profile TEXT NOT NULL REFERENCES hardware_profiles (slug),
  flavor TEXT NOT NULL REFERENCES flavors (slug),
  PRIMARY KEY (hardware_profile, flavor)
);
CREATE INDEX hardware_profile_flavors_by_flavor ON hardware_profile_flavors (flavor);
