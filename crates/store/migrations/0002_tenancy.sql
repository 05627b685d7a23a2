-- Who owns, who works, and with what right. `look_us` is when the driver looks at a living thing next; NULL rests.

CREATE TABLE principals (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('user', 'service_account')),
  name TEXT NOT NULL,
  tenant_id TEXT,
  platform_role TEXT CHECK (platform_role IN ('platform_operator', 'operator_read_only')),
  removed_us BIGINT,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  CHECK (kind = 'user' OR platform_role IS NULL),
  CHECK (kind = 'user' OR tenant_id IS NOT NULL)
);
CREATE UNIQUE INDEX principals_user_name ON principals (name) WHERE kind = 'user' AND removed_us IS NULL;
CREATE UNIQUE INDEX principals_account_name ON principals (tenant_id, name) WHERE kind = 'service_account' AND removed_us IS NULL;

CREATE TABLE tenants (
  id TEXT PRIMARY KEY,
  slug TEXT NOT NULL,
  name TEXT NOT NULL,
  desired TEXT NOT NULL,
  observed TEXT NOT NULL,
  state TEXT NOT NULL,
  state_since_us BIGINT NOT NULL,
  wait_code TEXT, wait_because TEXT, wait_source TEXT, wait_until_us BIGINT,
  look_us BIGINT, faults BIGINT NOT NULL DEFAULT 0, last_fault TEXT,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);
CREATE UNIQUE INDEX tenants_slug ON tenants (slug) WHERE state <> 'deleted';
CREATE INDEX tenants_look ON tenants (look_us) WHERE look_us IS NOT NULL;

CREATE TABLE projects (
  id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL REFERENCES tenants (id),
  slug TEXT NOT NULL,
  name TEXT NOT NULL,
  gpu_cap BIGINT NOT NULL CHECK (gpu_cap >= 0),
  desired TEXT NOT NULL,
  observed TEXT NOT NULL,
  state TEXT NOT NULL,
  state_since_us BIGINT NOT NULL,
  wait_code TEXT, wait_because TEXT, wait_source TEXT, wait_until_us BIGINT,
  look_us BIGINT, faults BIGINT NOT NULL DEFAULT 0, last_fault TEXT,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  UNIQUE (tenant_id, id)
);
CREATE UNIQUE INDEX projects_slug ON projects (tenant_id, slug) WHERE state <> 'deleted';
CREATE INDEX projects_look ON projects (look_us) WHERE look_us IS NOT NULL;

CREATE TABLE members (
  id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL REFERENCES tenants (id),
  project_id TEXT,
  principal_id TEXT NOT NULL REFERENCES principals (id),
  role TEXT NOT NULL CHECK (role IN ('tenant_admin', 'project_member', 'viewer')),
  removed_us BIGINT,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id),
  CHECK (role <> 'project_member' OR project_id IS NOT NULL),
  CHECK (role <> 'tenant_admin' OR project_id IS NULL)
);
CREATE UNIQUE INDEX members_once_in_tenant ON members (tenant_id, principal_id) WHERE project_id IS NULL AND removed_us IS NULL;
CREATE UNIQUE INDEX members_once_in_project ON members (project_id, principal_id) WHERE project_id IS NOT NULL AND removed_us IS NULL;
CREATE INDEX members_by_principal ON members (principal_id);

CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  principal_id TEXT NOT NULL REFERENCES principals (id),
  tenant_id TEXT,
  project_id TEXT,
  name TEXT NOT NULL,
  secret_hash TEXT NOT NULL UNIQUE,
  scope TEXT NOT NULL CHECK (scope IN ('read', 'write')),
  expires_us BIGINT NOT NULL,
  revoked_us BIGINT,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);
CREATE INDEX tokens_by_principal ON tokens (principal_id);
CREATE INDEX tokens_by_tenant ON tokens (tenant_id);

CREATE TABLE operations (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  noun TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  tenant_id TEXT,
  project_id TEXT,
  created_by TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'succeeded', 'failed')),
  -- Space-separated states of the subject that end the operation well; any other resting end fails it.
  succeeds_in TEXT NOT NULL,
  fails_in TEXT NOT NULL,
  result TEXT,
  created_us BIGINT NOT NULL,
  finished_us BIGINT
);
CREATE INDEX operations_running ON operations (subject_id) WHERE state = 'running';
CREATE INDEX operations_by_tenant ON operations (tenant_id, id);
