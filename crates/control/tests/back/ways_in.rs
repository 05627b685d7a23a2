//! Ways in go with their allocation, whoever ends it.

use std::net::Ipv4Addr;

use model::{AllocationId, IngressId, allocation::State, supply::IngressProtocol};
use store::{
    allocations,
    ingresses::{self, IngressNew},
    testing::both_engines,
};

use crate::world::World;

fn open(world: &World, id: &AllocationId, port: u16) {
    let (id, region) = (id.clone(), world.region.clone());
    world
        .write(move |tx, stamp| {
            let row = allocations::get(tx, &id)?.unwrap();
            let new = IngressNew {
                id: &IngressId::from_parts(stamp.now, stamp.bits()),
                tenant_id: &row.tenant_id,
                project_id: &row.project_id,
                allocation_id: &row.id,
                region_id: &region,
                protocol: IngressProtocol::Tcp,
                address: Ipv4Addr::new(203, 0, 113, 9),
                public_port: port,
                guest_port: 443,
            };
            ingresses::insert(tx, stamp, new)
        })
        .unwrap();
}

fn left(world: &World) -> i64 {
    let project = world.project.clone();
    world.read(move |tx| ingresses::count(tx, &project))
}

#[test]
fn an_allocation_that_ends_leaves_no_way_in_behind_and_others_keep_theirs() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let (going, staying) = (world.run(1), world.run(1));
        for (at, id) in [(2000, &going), (2001, &going), (2002, &staying)] {
            open(&world, id, at);
        }
        world.release(&going).unwrap();
        world.settle();
        assert_eq!(left(&world), 3, "it is still there while it is being stopped");
        assert_eq!(world.nodes_work(), 1);
        world.settle();
        assert_eq!((world.allocation(&going).state, left(&world)), (State::Released, 1));
        world.check_history();
    });
}
