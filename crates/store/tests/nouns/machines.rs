//! Whole machines: which node is which, who has it, how far an order to its provider has come, and what providers showed.

use model::NodeId;
use model::supply::{NodeProfile, NodeState};
use store::machines::{self as rows, MachineRow, WorkRow};
use store::nodes::{self, MachineRef, NodeRow};
use store::testing::both_engines;
use store::{Db, Page, StoreError, living};

use crate::world::{changes, fresh, node, placed, read, site, tick, write};

fn row(db: &Db, id: &NodeId) -> NodeRow {
    let id = id.clone();
    read(db, move |tx| nodes::get(tx, &id)).unwrap()
}

fn link(db: &Db, id: &NodeId, machine: Option<&str>) -> Result<i64, StoreError> {
    let (node, provider) = (row(db, id), "maas".to_owned());
    let machine = machine.map(|id| MachineRef { provider: provider.clone(), machine_id: id.to_owned() });
    write(db, move |tx, stamp| nodes::set_machine(tx, stamp, &node, machine.as_ref()))
}

#[test]
fn a_machine_is_one_node_and_stays_it_while_a_tenant_has_it() {
    both_engines(|db| {
        let site = site(&db, 0);
        let (first, second) = (site.node_id.clone(), node(&db, &site.pool_id));
        link(&db, &first, Some("abc123")).unwrap();
        let twice = link(&db, &second, Some("abc123"));
        assert!(matches!(twice, Err(StoreError::UniqueViolation { .. })), "{twice:?}");
        link(&db, &second, Some("def456")).unwrap();
        let wanted = MachineRef { provider: "maas".to_owned(), machine_id: "abc123".to_owned() };
        let found = read(&db, move |tx| nodes::by_machine(tx, &wanted)).unwrap();
        assert_eq!(found.id, first);
        assert_eq!(read(&db, |tx| nodes::of_provider(tx, "maas", Page::first(9))).len(), 2);

        let before = row(&db, &first);
        let (seen, beaten) = (before.clone(), first.clone());
        write(&db, move |tx, stamp| nodes::hand_over(tx, stamp, &seen)).unwrap();
        let stale = before.clone();
        let again = write(&db, move |tx, stamp| nodes::hand_over(tx, stamp, &stale));
        assert_eq!(again, Err(StoreError::StaleVersion));
        let gone = row(&db, &first);
        assert!(gone.handed_over.is_some() && gone.is_without_identity() && gone.last_seen.is_none());
        assert!(gone.machine_mark.is_none() && gone.public_key != before.public_key);
        assert_eq!(link(&db, &first, None), Err(StoreError::StaleVersion), "a tenant has it");
        let now = tick();
        let moved = write(&db, move |tx, _| nodes::heartbeats_flush(tx, &[(beaten.clone(), now)], now, 30));
        assert_eq!(moved, Ok(0), "nobody is heard for it");
        assert_eq!(read(&db, |tx| living::census(tx, living::Living::Nodes)).first().unwrap().0, "enrolled");

        let node = row(&db, &first);
        write(&db, move |tx, stamp| nodes::set_identity(tx, stamp, &node, "new-key", Some("SN-1"))).unwrap();
        assert!(!row(&db, &first).is_without_identity(), "its host was enrolled again");
        let node = row(&db, &first);
        write(&db, move |tx, stamp| nodes::set_machine_mark(tx, stamp, &node, "tsk_1")).unwrap();
        let node = row(&db, &first);
        write(&db, move |tx, stamp| nodes::take_back(tx, stamp, &node)).unwrap();
        let back = row(&db, &first);
        assert_eq!((back.handed_over, back.machine_mark.as_deref()), (None, Some("tsk_1")));
        let twice = write(&db, move |tx, stamp| nodes::take_back(tx, stamp, &back));
        assert_eq!(twice, Err(StoreError::StaleVersion), "what is back is not taken back");
        assert_eq!(row(&db, &first).state, NodeState::Enrolled);
        let told = changes(&db, first.as_str());
        assert_eq!(told.len(), usize::try_from(row(&db, &first).version).unwrap(), "{told:?}");
    });
}

#[test]
fn a_conversion_is_kept_until_it_ends_and_takes_the_evidence_with_it() {
    both_engines(|db| {
        let id = site(&db, 0).node_id;
        let node = row(&db, &id);
        write(&db, move |tx, stamp| nodes::set_converting(tx, stamp, &node, Some(NodeProfile::Baremetal))).unwrap();
        let node = row(&db, &id);
        assert_eq!(node.converting.map(|(to, _)| to), Some(NodeProfile::Baremetal));
        write(&db, move |tx, stamp| nodes::set_readiness(tx, stamp, &node, "{}")).unwrap();
        let node = row(&db, &id);
        write(&db, move |tx, stamp| nodes::converted(tx, stamp, &node, r#"["gpuaas-profile-baremetal"]"#)).unwrap();
        let node = row(&db, &id);
        assert_eq!((node.converting, node.promoted, node.readiness), (None, None, None));
        assert_eq!(node.profiles, r#"["gpuaas-profile-baremetal"]"#);
    });
}

#[test]
fn how_far_an_order_has_come_is_written_over() {
    both_engines(|db| {
        let site = site(&db, 1);
        let allocation = placed(&db, &site, &site.slot_ids);
        let task = crate::world::ordered(&db, &allocation, model::task::TaskKind::SliceVmProvision);
        let (id, now) = (task.id.clone(), tick());
        let nothing = id.clone();
        assert_eq!(read(&db, move |tx| rows::work(tx, &nothing)), None);
        let work = |phase: &str, failures| WorkRow {
            task_id: id.clone(),
            phase: phase.to_owned(),
            phase_since: now,
            status: "Ready".to_owned(),
            status_since: now,
            failures,
            fault: String::new(),
            look: now,
        };
        for (phase, failures) in [("free", 0), ("install", 3)] {
            let written = work(phase, failures);
            let put = written.clone();
            write(&db, move |tx, _| rows::put_work(tx, &put)).unwrap();
            let wanted = id.clone();
            assert_eq!(read(&db, move |tx| rows::work(tx, &wanted)), Some(written));
        }
        let unknown = WorkRow { task_id: fresh!(TaskId), ..work("free", 0) };
        let refused = write(&db, move |tx, _| rows::put_work(tx, &unknown));
        assert_eq!(refused, Err(StoreError::ForeignKeyViolation));
    });
}

#[test]
fn what_a_provider_showed_is_replaced_whole_and_a_failed_look_keeps_it() {
    both_engines(|db| {
        let at = tick();
        let machine = |id: &str| MachineRow {
            provider: "maas".to_owned(),
            machine_id: id.to_owned(),
            hostname: format!("host-{id}"),
            serial: None,
            status: "Ready".to_owned(),
            power: "off".to_owned(),
            tags: "[]".to_owned(),
            mark: None,
            locked: false,
            node_id: None,
            findings: "[]".to_owned(),
            seen: at,
        };
        let listed = |db: &Db| -> Vec<String> {
            let all = read(db, |tx| rows::machines(tx, Page::first(9)));
            all.into_iter().map(|(_, machine)| machine.machine_id).collect()
        };
        write(&db, move |tx, _| rows::put_provider(tx, "maas", "maas", "https://a", at)).unwrap();
        write(&db, move |tx, _| rows::put_provider(tx, "maas", "maas", "https://b", tick())).unwrap();
        let shown: Vec<MachineRow> = ["b", "A", "c"].map(machine).to_vec();
        write(&db, move |tx, stamp| rows::synced(tx, "maas", &shown, stamp.now)).unwrap();
        assert_eq!(listed(&db), ["A", "b", "c"]);
        let rest = read(&db, |tx| rows::machines(tx, Page::after("maas_b", 9)));
        assert_eq!(rest.len(), 1, "pages go on behind a machine");
        write(&db, |tx, stamp| rows::not_synced(tx, "maas", "no answer", stamp.now)).unwrap();
        assert_eq!(listed(&db).len(), 3);
        let provider = read(&db, rows::providers).remove(0);
        assert_eq!(
            (provider.address.as_str(), provider.sync_wanted, provider.fault.as_str()),
            ("https://b", at, "no answer")
        );
        let wanted = write(&db, |tx, stamp| rows::want_sync(tx, stamp.now));
        assert_eq!(wanted, Ok(1));
        write(&db, |tx, stamp| rows::synced(tx, "maas", &[], stamp.now)).unwrap();
        let provider = read(&db, rows::providers).remove(0);
        assert!(provider.fault.is_empty() && provider.synced.is_some() && listed(&db).is_empty());
    });
}
