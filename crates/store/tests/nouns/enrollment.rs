//! How hosts come in: tokens that work once, certificates that can be revoked, incidents that are counted, and who speaks
//! for a node.

use model::event::Noun;
use model::supply::IncidentKind;
use model::{EnrollmentTokenId, NodeId, PoolId, Timestamp};
use store::enrollment::{EnrollmentTokenNew, EnrollmentTokenRow};
use store::testing::both_engines;
use store::{Db, Page, StoreError, certificates, enrollment, incidents, living, nodes, tasks};

use crate::world::{changes, fresh, node, read, site, tick, word, write};

pub fn token(db: &Db, pool_id: &PoolId, lifetime_s: i64) -> EnrollmentTokenId {
    let (id, pool_id, name, hash) = (fresh!(EnrollmentTokenId), pool_id.clone(), word("host"), word("hash"));
    let made = id.clone();
    write(db, move |tx, stamp| {
        let new = EnrollmentTokenNew {
            id: &made,
            pool_id: &pool_id,
            node_name: &name,
            hardware_serial: Some("board"),
            secret_hash: &hash,
            expires: stamp.now.plus_seconds(lifetime_s),
            created_by: "ada",
        };
        enrollment::insert(tx, stamp, new)?;
        assert_eq!(enrollment::find_by_hash(tx, &hash)?.unwrap().id, made);
        assert_eq!(enrollment::find_by_hash(tx, "another")?, None);
        Ok(())
    })
    .unwrap();
    id
}

fn get(db: &Db, id: &EnrollmentTokenId) -> EnrollmentTokenRow {
    let id = id.clone();
    read(db, move |tx| enrollment::get(tx, &id)).unwrap()
}

fn spend(db: &Db, row: &EnrollmentTokenRow, node_id: &NodeId) -> Result<i64, StoreError> {
    let (row, node_id) = (row.clone(), node_id.clone());
    write(db, move |tx, stamp| enrollment::spend(tx, stamp, &row, &node_id))
}

#[test]
fn a_token_works_once_and_not_after_its_end() {
    both_engines(|db| {
        let site = site(&db, 0);
        let id = token(&db, &site.pool_id, 600);
        let row = get(&db, &id);
        assert_eq!((row.used, row.node_id.as_ref(), row.revoked, row.version), (None, None, None, 1));
        assert_eq!(row.hardware_serial.as_deref(), Some("board"));
        assert_eq!(spend(&db, &row, &site.node_id), Ok(2));
        let used = get(&db, &id);
        assert_eq!(used.node_id, Some(site.node_id.clone()));
        assert!(used.used.is_some());
        for stale in [&row, &used] {
            assert_eq!(spend(&db, stale, &site.node_id), Err(StoreError::StaleVersion));
            let stale = stale.clone();
            let taken_back = write(&db, move |tx, stamp| enrollment::revoke(tx, stamp, &stale));
            assert_eq!(taken_back, Err(StoreError::StaleVersion), "what was used cannot be taken back");
        }
        assert_eq!(changes(&db, id.as_str()), ["created", "updated"]);

        let late = token(&db, &site.pool_id, 0);
        assert_eq!(spend(&db, &get(&db, &late), &site.node_id), Err(StoreError::StaleVersion));
        let back = token(&db, &site.pool_id, 600);
        let row = get(&db, &back);
        write(&db, move |tx, stamp| enrollment::revoke(tx, stamp, &row)).unwrap();
        assert_eq!(spend(&db, &get(&db, &back), &site.node_id), Err(StoreError::StaleVersion));
        assert_eq!(changes(&db, back.as_str()), ["created", "deleted"]);
        let listed = read(&db, |tx| enrollment::list(tx, Page::first(10)));
        assert_eq!(listed.iter().map(|row| &row.id).collect::<Vec<_>>(), [&id, &late, &back]);
        let noun = read(&db, |tx| {
            let sql = "SELECT COUNT(*) FROM events WHERE noun = $1";
            tx.query_one(sql, &[Noun::EnrollmentToken.as_str().into()])?.int(0)
        });
        assert_eq!(noun, 5);
    });
}

#[test]
fn of_two_that_use_a_token_at_once_one_wins() {
    both_engines(|db| {
        let site = site(&db, 0);
        let row = get(&db, &token(&db, &site.pool_id, 600));
        let tries: Vec<_> = (0..8)
            .map(|_| {
                let (db, row, node) = (db.clone(), row.clone(), site.node_id.clone());
                std::thread::spawn(move || spend(&db, &row, &node))
            })
            .collect();
        let won = tries.into_iter().map(|one| one.join().unwrap()).filter(Result::is_ok).count();
        assert_eq!(won, 1);
    });
}

#[test]
fn certificates_are_revoked_by_node_and_forgotten_after_their_end() {
    both_engines(|db| {
        let site = site(&db, 0);
        let other = node(&db, &site.pool_id);
        let (mine, theirs) = (site.node_id.clone(), other.clone());
        let start = Timestamp::from_micros(1_000_000_000);
        let at = move |s: i64| start.plus_seconds(s);
        db.write(move |tx| {
            certificates::insert(tx, "01", &mine, at(100), at(0))?;
            certificates::insert(tx, "02", &mine, at(200), at(50))?;
            certificates::insert(tx, "03", &theirs, at(100), at(0))?;
            assert_eq!(certificates::revoke_of_node(tx, &mine, at(60))?, 2);
            assert_eq!(certificates::revoke_of_node(tx, &mine, at(61))?, 0, "once");
            assert_eq!(certificates::revoked(tx, at(70))?, ["01", "02"]);
            assert_eq!(certificates::revoked(tx, at(150))?, ["02"], "what has expired needs no list");
            assert_eq!(certificates::get(tx, "01")?.unwrap().revoked, Some(at(60)));
            assert_eq!(certificates::get(tx, "03")?.unwrap().revoked, None);
            assert_eq!(certificates::get(tx, "04")?, None);
            assert_eq!(certificates::of_node(tx, &mine)?.len(), 2);
            assert_eq!(certificates::purge(tx, at(300), 10)?, 1, "the newest of each node stays");
            assert_eq!(certificates::of_node(tx, &mine)?[0].serial, "02");
            assert_eq!(certificates::of_node(tx, &theirs)?.len(), 1);
            Ok::<_, StoreError>(())
        })
        .unwrap();
    });
}

#[test]
fn incidents_are_one_row_a_kind_and_counted() {
    both_engines(|db| {
        let site = site(&db, 0);
        let id = site.node_id.clone();
        let rows = write(&db, move |tx, stamp| {
            let early = stamp.now;
            assert_eq!(incidents::add(tx, stamp, &id, IncidentKind::ClockFarOff, "one", 1)?, None);
            stamp.now = early.plus_seconds(5);
            let before = incidents::add(tx, stamp, &id, IncidentKind::ClockFarOff, "two", 3)?.unwrap();
            assert_eq!((before.count, before.last), (1, early));
            stamp.now = early.plus_seconds(2);
            incidents::add(tx, stamp, &id, IncidentKind::ClockFarOff, "late", 1)?;
            incidents::add(tx, stamp, &id, IncidentKind::ActedForAnother, "other", 1)?;
            let clock = incidents::find(tx, &id, IncidentKind::ClockFarOff)?.unwrap();
            assert_eq!((clock.count, clock.first, clock.last), (5, early, early.plus_seconds(5)));
            incidents::list(tx, &id, Page::first(10))
        })
        .unwrap();
        assert_eq!(rows.iter().map(|row| row.count).collect::<Vec<_>>(), [5, 1]);
        assert!(rows[0].id < rows[1].id);
        let nobody = fresh!(NodeId);
        let refused = write(&db, move |tx, stamp| {
            incidents::add(tx, stamp, &nobody, IncidentKind::ClockFarOff, "x", 1).map(drop)
        });
        assert_eq!(refused, Err(StoreError::ForeignKeyViolation));
    });
}

#[test]
fn who_speaks_for_a_node_is_noted_and_forgotten_with_its_key() {
    both_engines(|db| {
        let site = site(&db, 0);
        let id = site.node_id.clone();
        write(&db, move |tx, stamp| {
            let row = nodes::get(tx, &id)?.unwrap();
            nodes::set_agent(tx, stamp, &row, "1.0", 3, "abc")?;
            assert_eq!(nodes::agents(tx)?, [(id.clone(), 3, "abc".to_owned())]);
            nodes::set_agent_version(tx, &id, "1.1")?;
            let row = nodes::get(tx, &id)?.unwrap();
            assert_eq!((row.agent_version.as_str(), row.version), ("1.1", 2));
            nodes::set_identity(tx, stamp, &row, "another key", Some("board"))?;
            let row = nodes::get(tx, &id)?.unwrap();
            assert_eq!((row.agent_boot, row.agent_session.as_str()), (0, ""));
            assert_eq!(nodes::by_hardware_serial(tx, "board")?.unwrap().id, id);
            assert_eq!(nodes::by_hardware_serial(tx, "none")?, None);
            nodes::note_revoked(tx, stamp, &row).map(drop)
        })
        .unwrap();
        assert_eq!(changes(&db, site.node_id.as_str()), ["created", "updated", "updated", "updated"]);
    });
}

#[test]
fn nodes_with_open_orders_are_told_from_the_rest() {
    both_engines(|db| {
        let site = site(&db, 0);
        let idle = node(&db, &site.pool_id);
        let id = site.node_id.clone();
        let open = |db: &Db| read(db, tasks::nodes_with_open);
        assert_eq!(open(&db), []);
        let task = model::task::Task {
            id: fresh!(TaskId),
            node_id: id.clone(),
            input: model::task::TaskInput::NodeReadiness {},
            fence: model::task::Fence { incarnation: 1, generation: 0, attempt: 1 },
            deadline: tick().plus_seconds(60),
        };
        write(&db, move |tx, stamp| tasks::insert(tx, stamp, tasks::TaskNew { task: &task, owner: None })).unwrap();
        assert_eq!(open(&db), [(id.clone(), true)]);
        let of = id.clone();
        write(&db, move |tx, stamp| {
            let all = tasks::open_for_node(tx, &of, 10)?;
            tasks::deliver_all(tx, stamp, &all)
        })
        .unwrap();
        assert_eq!(open(&db), [(id.clone(), false)]);
        write(&db, move |tx, stamp| {
            let all = tasks::open_for_node(tx, &id, 10)?;
            tasks::expire(tx, stamp, &all[0], None).map(drop)
        })
        .unwrap();
        assert_eq!(open(&db), []);
        drop(idle);
    });
}

#[test]
fn a_healthy_node_is_not_looked_at_before_its_lease_could_run_out() {
    both_engines(|db| {
        let site = site(&db, 0);
        let id = site.node_id.clone();
        write(&db, move |tx, stamp| {
            let row = nodes::get(tx, &id)?.unwrap();
            nodes::enter(tx, stamp, &row, model::supply::NodeState::Online, None)?;
            let mut beat = stamp.now;
            let mut after = |tx: &mut store::Tx<'_>, look_s: i64| {
                let now = beat.plus_seconds(1);
                let look = now.plus_seconds(look_s);
                tx.execute("UPDATE nodes SET look_us = $2 WHERE id = $1", &[(&id).into(), look.into()])?;
                nodes::heartbeats_flush(tx, &[(id.clone(), beat)], now, 30)?;
                let moved = nodes::get(tx, &id)?.unwrap().life.look.unwrap();
                let (kept, pushed) = (moved == look, moved == beat.plus_seconds(30));
                beat = beat.plus_seconds(1);
                Ok::<_, StoreError>((kept, pushed))
            };
            assert_eq!(after(tx, 10)?, (false, true), "it came near and is pushed on");
            assert_eq!(after(tx, 20)?, (true, false), "it is far away");
            assert_eq!(after(tx, 0)?, (true, false), "it is due: somebody may have asked");
            assert_eq!(after(tx, 1)?, (true, false), "and this is as good as due");
            let row = nodes::get(tx, &id)?.unwrap();
            living::fault(tx, living::Living::Nodes, id.as_str(), row.life.faults, "it failed", stamp.now)?;
            assert_eq!(after(tx, 10)?, (true, false), "one that failed is tried again when its pause is over");
            Ok(())
        })
        .unwrap();
    });
}
