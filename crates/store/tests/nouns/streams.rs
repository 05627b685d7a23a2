//! Streams to guests: taken once, by their node; counted while they live; ended once.

use model::stream::{StreamEnding, StreamKind, StreamState};
use model::{AllocationId, StreamId, Timestamp, TokenId};
use store::streams::{self, End, Live, Recording, StreamNew, StreamRow};
use store::testing::both_engines;
use store::{Db, Page};

use crate::world::{Site, bits, member, narrowed, node, placed, project, read, scope, site, tick, user, write};

fn wanted(db: &Db, site: &Site, allocation: &AllocationId, (now, alive): (Timestamp, Timestamp)) -> StreamId {
    let (id, principal) = (StreamId::from_parts(now, bits()), user(db));
    let token = TokenId::from_parts(now, bits());
    let (made, allocation, node) = (id.clone(), allocation.clone(), site.node_id.clone());
    let (tenant, project) = (site.tenant_id.clone(), site.project_id.clone());
    write(db, move |tx, _| {
        let new = StreamNew {
            id: &made,
            allocation_id: &allocation,
            tenant_id: &tenant,
            project_id: &project,
            node_id: &node,
            kind: StreamKind::Console,
            principal_id: &principal,
            token_id: &token,
            request_id: "req",
            came_from: "192.0.2.1",
            replica: "east-1",
            agent_address: Some("https://east-1:7443"),
            open_by: now.plus_seconds(15),
            alive_until: alive,
        };
        streams::insert(tx, new, now)
    })
    .unwrap();
    id
}

fn row(db: &Db, id: &StreamId) -> StreamRow {
    let id = id.clone();
    read(db, move |tx| streams::get(tx, &id)).unwrap()
}

fn live(db: &Db, site: &Site, allocation: &AllocationId, now: Timestamp) -> Live {
    let (allocation, tenant, node) = (allocation.clone(), site.tenant_id.clone(), site.node_id.clone());
    read(db, move |tx| streams::live(tx, (&allocation, &tenant, &node), now))
}

#[test]
fn a_stream_is_taken_once_by_its_node_and_ended_once() {
    both_engines(|db| {
        let site = site(&db, 1);
        let allocation = placed(&db, &site, &site.slot_ids);
        let now = tick();
        let id = wanted(&db, &site, &allocation, (now, now.plus_seconds(60)));
        let found = |at: Timestamp| read(&db, move |tx| streams::wanted(tx, at)).iter().any(|row| row.id == id);
        assert!(found(now) && !found(now.plus_seconds(15)), "what is late is not asked for any more");

        let other = node(&db, &site.pool_id);
        let take = |by: &model::NodeId| {
            let (id, by) = (id.clone(), by.clone());
            write(&db, move |tx, _| streams::take(tx, &id, &by, now)).unwrap()
        };
        assert!(!take(&other), "another node");
        assert_eq!(row(&db, &id).state, StreamState::Wanted);
        assert!(take(&site.node_id));
        assert!(!take(&site.node_id), "a second time");
        assert_eq!((row(&db, &id).state, row(&db, &id).opened, found(now)), (StreamState::Open, Some(now), false));

        let recording = Some(Recording { bytes: 3, sha256: "ab".into(), cut: true });
        let first = End { to_guest_bytes: 1, from_guest_bytes: 2, recording, ..End::bare(StreamEnding::Closed) };
        let end = |end: End| {
            let id = id.clone();
            write(&db, move |tx, _| streams::end(tx, &id, &end, now.plus_seconds(1))).unwrap()
        };
        assert!(end(first.clone()));
        assert!(!end(End::bare(StreamEnding::ReplicaLost)), "the first end stays");
        let ended = row(&db, &id);
        assert_eq!(ended.ended, Some((now.plus_seconds(1), StreamEnding::Closed)));
        assert_eq!((ended.to_guest_bytes, ended.from_guest_bytes, ended.recording), (1, 2, first.recording));
        assert_eq!(ended.agent_address.as_deref(), Some("https://east-1:7443"));
    });
}

#[test]
fn only_streams_that_live_count_and_what_fell_silent_is_found() {
    both_engines(|db| {
        let site = site(&db, 2);
        let [one, two] = [0, 1].map(|at| placed(&db, &site, &site.slot_ids[at..=at]));
        let now = tick();
        let kept = wanted(&db, &site, &one, (now, now.plus_seconds(60)));
        let silent = wanted(&db, &site, &two, (now, now.plus_seconds(10)));
        assert_eq!(live(&db, &site, &one, now), Live { of_allocation: 1, of_tenant: 2, of_node: 2 });
        let later = now.plus_seconds(30);
        assert_eq!(live(&db, &site, &two, later), Live { of_allocation: 0, of_tenant: 1, of_node: 1 });
        let lost = |at: Timestamp| -> Vec<StreamId> {
            let all = read(&db, move |tx| streams::lost(tx, at, 100));
            all.into_iter().map(|row| row.id).filter(|id| [&kept, &silent].contains(&id)).collect()
        };
        assert_eq!(lost(later), [silent.clone()]);
        let (ids, until) = (vec![silent.clone()], later.plus_seconds(60));
        write(&db, move |tx, _| streams::alive(tx, &ids, until)).unwrap();
        assert_eq!(lost(later), []);
        let id = kept.clone();
        write(&db, move |tx, _| streams::end(tx, &id, &End::bare(StreamEnding::NotOpened), now)).unwrap();
        assert_eq!(live(&db, &site, &one, now), Live { of_allocation: 0, of_tenant: 1, of_node: 1 });
        assert_eq!(lost(later.plus_seconds(3600)), [silent.clone()], "what has ended is not lost");
    });
}

#[test]
fn streams_are_listed_by_allocation_and_hidden_from_strangers() {
    both_engines(|db| {
        let site = site(&db, 1);
        let allocation = placed(&db, &site, &site.slot_ids);
        let now = tick();
        let first = wanted(&db, &site, &allocation, (now, now));
        let second = wanted(&db, &site, &allocation, (now.plus_seconds(1), now));
        let page = |after: &str| -> Vec<StreamId> {
            let (after, allocation) = (after.to_owned(), allocation.clone());
            let rows = read(&db, move |tx| streams::of_allocation(tx, &allocation, Page::after(&after, 1)));
            rows.into_iter().map(|row| row.id).collect()
        };
        assert_eq!(
            (page(""), page(first.as_str()), page(second.as_str())),
            (vec![first.clone()], vec![second], vec![])
        );

        let (insider, stranger) = (user(&db), user(&db));
        member(&db, &insider, &site.tenant_id, Some(&site.project_id), model::identity::MemberRole::Viewer);
        let sees = |scope: store::Scope| {
            let id = first.clone();
            read(&db, move |tx| streams::get_visible(tx, &scope, &id)).is_some()
        };
        let elsewhere = project(&db, &site.tenant_id);
        assert!(sees(scope(&insider)) && sees(store::Scope::All));
        assert!(!sees(scope(&stranger)) && !sees(narrowed(&insider, &elsewhere)));
    });
}
