//! Objects of governance: kept whole, watched over by the database, counted together.

use model::governance::{Governance, Identity, Kind, Object};
use model::tenancy::State;
use model::{GovernedId, ProjectId, TenantId};
use serde_json::json;
use store::governance::{self, GovernedRow};
use store::testing::both_engines;
use store::{Db, Page, StoreError, projects};

use crate::world::{Site, changes, count, fresh, project, read, site, tenant, write};

/// One of everything, for a project.
fn world(project_id: &ProjectId) -> Governance {
    serde_json::from_value(json!({
        "topologies": [{"slug": "rows", "levels": ["rack", "host"]}],
        "flavors": [{"slug": "h200", "gpu_model": "h200-sxm", "topology": "rows", "labels": [{"key": "tier", "value": "a"}]}],
        "priority_classes": [{"slug": "usual", "value": 0, "default": true}],
        "cohorts": [{"slug": "all", "resource_groups": [{"flavors": [{"flavor": "h200", "quotas": [{"nominal": 4}]}]}]}],
        "cluster_queues": [{"slug": "vision", "cohort": "all", "resource_groups": [
            {"flavors": [{"flavor": "h200", "quotas": [{"nominal": 8, "borrowing_limit": 2, "lending_limit": 3}]}]}
        ]}],
        "local_queues": [{"project_id": project_id, "slug": "main", "cluster_queue": "vision", "default": true}],
        "hardware_profiles": [{"slug": "big", "name": "Big", "flavors": ["h200"], "priority_class": "usual"}]
    }))
    .unwrap()
}

fn insert(db: &Db, object: &Object, tenant_id: &TenantId) -> Result<GovernedId, StoreError> {
    let (id, object, tenant_id) = (fresh!(GovernedId), object.clone(), tenant_id.clone());
    let made = id.clone();
    let owner = move |object: &Object| matches!(object, Object::LocalQueue(_)).then(|| tenant_id.clone());
    write(db, move |tx, stamp| {
        governance::hold(tx)?;
        governance::insert(tx, stamp, &made, &object, owner(&object).as_ref())
    })?;
    Ok(id)
}

/// Something of every kind.
pub fn governed(db: &Db, site: &Site) {
    for object in world(&site.project_id).objects() {
        insert(db, &object, &site.tenant_id).unwrap();
    }
}

fn row(db: &Db, kind: Kind, project_id: Option<&ProjectId>, slug: &str) -> GovernedRow {
    let identity = Identity { kind, project_id: project_id.cloned(), slug: slug.parse().unwrap() };
    read(db, move |tx| governance::get(tx, &identity)).unwrap()
}

fn delete(db: &Db, row: &GovernedRow) -> Result<(), StoreError> {
    let row = row.clone();
    write(db, move |tx, stamp| governance::delete(tx, stamp, &row))
}

#[test]
fn everything_comes_back_as_it_was_written_and_is_counted() {
    both_engines(|db| {
        let (tenant_id, none) = (tenant(&db), read(&db, governance::all));
        assert_eq!((none.version, none.rows.len()), (1, 0));
        let project_id = project(&db, &tenant_id);
        let wanted = world(&project_id);
        for object in wanted.objects() {
            insert(&db, &object, &tenant_id).unwrap();
        }
        let all = read(&db, governance::all);
        assert_eq!((all.version, all.governance()), (8, wanted.clone()));
        for object in wanted.objects() {
            let identity = object.identity();
            let found = all.find(&identity).unwrap();
            let (kind, project) = (identity.kind, identity.project_id.clone());
            assert_eq!(*found, row(&db, kind, project.as_ref(), identity.slug.as_str()));
            let owner = (kind == Kind::LocalQueue).then(|| tenant_id.clone());
            assert_eq!((found.version, found.tenant_id.clone()), (1, owner));
            let listed = read(&db, move |tx| governance::list(tx, kind, Page::first(9)));
            assert_eq!(listed, [found.clone()]);
            assert_eq!(changes(&db, found.id.as_str()), ["created"]);
        }
        let of = project_id.clone();
        assert_eq!(read(&db, move |tx| governance::local_queues(tx, &of, Page::first(9))).len(), 1);
        assert_eq!(read(&db, move |tx| governance::local_queues(tx, &project_id, Page::after("main", 9))), []);
    });
}

#[test]
fn a_change_raises_both_versions_and_a_stale_one_changes_nothing() {
    both_engines(|db| {
        let site = site(&db, 1);
        governed(&db, &site);
        let queue = row(&db, Kind::ClusterQueue, None, "vision");
        let mut other = world(&site.project_id).cluster_queues.remove(0);
        other.resource_groups.clear();
        other.cohort = None;
        let (seen, wanted) = (queue.clone(), Object::ClusterQueue(other));
        let wish = wanted.clone();
        assert_eq!(write(&db, move |tx, stamp| governance::update(tx, stamp, &seen, &wish)), Ok(2));
        assert_eq!(row(&db, Kind::ClusterQueue, None, "vision").object, wanted);
        assert_eq!(count(&db, "SELECT COUNT(*) FROM quotas WHERE cluster_queue = 'vision'"), 0);
        assert_eq!(count(&db, "SELECT COUNT(*) FROM quotas WHERE cohort = 'all'"), 1);
        let stale = write(&db, move |tx, stamp| governance::update(tx, stamp, &queue, &wanted));
        assert_eq!(stale, Err(StoreError::StaleVersion));
        assert_eq!(read(&db, governance::version), 9);
        let id = row(&db, Kind::ClusterQueue, None, "vision").id;
        assert_eq!(changes(&db, id.as_str()), ["created", "updated"]);
    });
}

#[test]
fn what_is_referred_to_stays_and_the_rest_goes_and_may_come_back() {
    both_engines(|db| {
        let site = site(&db, 1);
        governed(&db, &site);
        let platforms = [
            (Kind::Topology, "rows"),
            (Kind::Flavor, "h200"),
            (Kind::PriorityClass, "usual"),
            (Kind::Cohort, "all"),
            (Kind::ClusterQueue, "vision"),
        ];
        for (kind, slug) in platforms {
            assert_eq!(delete(&db, &row(&db, kind, None, slug)), Err(StoreError::ForeignKeyViolation), "{kind}");
        }
        assert_eq!(read(&db, governance::version), 8, "nothing happened");
        let local = row(&db, Kind::LocalQueue, Some(&site.project_id), "main");
        delete(&db, &local).unwrap();
        delete(&db, &row(&db, Kind::HardwareProfile, None, "big")).unwrap();
        for (kind, slug) in platforms.into_iter().rev() {
            delete(&db, &row(&db, kind, None, slug)).unwrap();
        }
        let all = read(&db, governance::all);
        assert_eq!((all.version, all.rows.len()), (15, 0));
        assert_eq!(changes(&db, local.id.as_str()), ["created", "deleted"]);
        governed(&db, &site);
        assert_eq!(read(&db, governance::all).rows.len(), 7, "a name can be used again");
    });
}

#[test]
fn queues_of_projects_that_are_no_more_neither_show_nor_hold() {
    both_engines(|db| {
        let tenant_id = tenant(&db);
        let project_id = project(&db, &tenant_id);
        for object in world(&project_id).objects() {
            insert(&db, &object, &tenant_id).unwrap();
        }
        let local = row(&db, Kind::LocalQueue, Some(&project_id), "main");
        let gone = project_id.clone();
        write(&db, move |tx, stamp| {
            let row = projects::get(tx, &gone)?.unwrap();
            projects::enter(tx, stamp, &row, State::Deleted, "{}", None)
        })
        .unwrap();
        assert!(read(&db, governance::all).rows.iter().all(|row| row.object.kind() != Kind::LocalQueue));
        delete(&db, &row(&db, Kind::ClusterQueue, None, "vision")).unwrap();
        assert_eq!(changes(&db, local.id.as_str()), ["created", "deleted"], "it went with its queue");
    });
}

#[test]
fn surroundings_are_what_there_is_and_what_is_in_use() {
    both_engines(|db| {
        let site = site(&db, 2);
        governed(&db, &site);
        let around = read(&db, governance::surroundings);
        assert_eq!(around.projects.get(&site.project_id), Some(&site.tenant_id));
        assert!(around.tenants.contains(&site.tenant_id) && around.pools.len() == 1);
        assert!(around.in_use.is_empty());
        crate::world::placed(&db, &site, &site.slot_ids[..2]);
        let used: Vec<i64> = read(&db, governance::surroundings).in_use.into_values().collect();
        assert_eq!(used, [2]);
    });
}
