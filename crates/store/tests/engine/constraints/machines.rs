//! Rules about whole machines and their providers.

use super::{Case, Refusal::Check, Refusal::Reference, Refusal::Unique, after, case};

const WORK: &str = "INSERT INTO machine_work (task_id, phase, phase_since_us, status, status_since_us, failures, fault, look_us) VALUES ('w1', 'free', 0, '', 0, 0, '', 0)";
const PROVIDER: &str = "INSERT INTO providers (slug, kind, address, sync_wanted_us) VALUES ('maas', 'maas', 'x', 0)";
const MACHINE: &str = "INSERT INTO provider_machines (provider, machine_id, hostname, status, power, tags, locked, node_id, findings, seen_us) VALUES ('maas', 'm1', 'h', 'Ready', 'on', '[]', 0, 'n1', '[]', 0)";

pub(super) const CASES: &[Case] = &[
    after(
        &["UPDATE nodes SET provider = 'maas', machine_id = 'm1' WHERE id = 'n1'"],
        "a machine that is two nodes",
        Unique("nodes_machine"),
        "UPDATE nodes SET provider = 'maas', machine_id = 'm1' WHERE id = 'n2'",
    ),
    after(&[WORK], "work on an order twice", Unique("machine_work_pkey"), WORK),
    after(&[WORK], "work on no order", Reference, "UPDATE machine_work SET task_id = 'zz'"),
    after(&[WORK], "fewer failures than none", Check, "UPDATE machine_work SET failures = -1"),
    after(&[PROVIDER], "a provider twice", Unique("providers_pkey"), PROVIDER),
    case("a machine of no provider", Reference, MACHINE),
    after(&[PROVIDER, MACHINE], "a machine twice", Unique("provider_machines_pkey"), MACHINE),
    after(&[PROVIDER, MACHINE], "a machine that is no node", Reference, "UPDATE provider_machines SET node_id = 'zz'"),
    after(&[PROVIDER, MACHINE], "a machine half locked", Check, "UPDATE provider_machines SET locked = 2"),
];
