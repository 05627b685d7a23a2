//! What a launch brings with it, and what is read about it afterwards: keys, profiles, terms, leases, timelines, usage.

use model::allocation::{AllocationTerms, Desired, LaunchKey, PlacementWishes, State};
use model::event::Noun;
use model::image::{ImageFormat, ImageKind, ImageSpec, ImageState};
use model::placement::{CoTenancy, Spread};
use model::sku::CapacityShape;
use model::supply::GpuModel;
use model::task::TaskKind;
use model::text::ImageName;
use model::{AllocationId, ProjectId, SshKeyId, TenantId, Timestamp};
use store::allocations::{AllocationNew, Description};
use store::slot_profiles::{SlotNeeds, SlotProfileTerms};
use store::testing::both_engines;
use store::{
    Page, Stamp, StoreError, allocations, events, images, skus, slot_profiles, ssh_keys, tasks, timeline, usage,
};

use crate::world::{
    Site, allocation, bits, changes, enter, fresh, member, ordered, placed, project, read, released, request, scope,
    site, started, terms, tick, user, word, write,
};

pub fn image() -> ImageSpec {
    ImageSpec {
        id: "debian-12".into(),
        sha256: "ab".repeat(32),
        size_bytes: 512,
        format: ImageFormat::Raw,
        virtual_size_bytes: 512,
        minimum_disk_bytes: 512,
        kind: ImageKind::Base,
        signer_key_id: "key".into(),
        signature: "0".repeat(128),
    }
}

#[test]
fn an_image_stands_where_it_was_put_and_one_is_the_default() {
    both_engines(|db| {
        let by = fresh!(PrincipalId);
        let (name, other): (ImageName, ImageName) = ("debian-12".parse().unwrap(), "debian-13".parse().unwrap());
        write(&db, move |tx, stamp| {
            let key = "key".parse().unwrap();
            images::insert_key(tx, stamp, &key, &"cd".repeat(32).parse().unwrap(), &by)?;
            images::insert(tx, stamp, &image())?;
            images::insert(tx, stamp, &ImageSpec { id: "debian-13".into(), ..image() })?;
            assert_eq!(images::with_bytes(tx, &"ab".repeat(32))?, None, "nobody brought them yet");
            for id in [&name, &other] {
                let row = images::get(tx, id)?.unwrap();
                images::enter(tx, stamp, &row, ImageState::Available)?;
                let row = images::get(tx, id)?.unwrap();
                images::set_default(tx, stamp, &row, true)?;
            }
            assert_eq!(images::default(tx)?.map(|row| row.spec.id), Some("debian-13".to_owned()));
            assert_eq!(images::available(tx, ImageKind::Base, 10)?.len(), 2);
            assert!(images::with_bytes(tx, &"ab".repeat(32))?.is_some());
            let row = images::get(tx, &other)?.unwrap();
            images::enter(tx, stamp, &row, ImageState::Retired)?;
            assert_eq!((images::default(tx)?, images::list(tx, None, Page::first(9))?.len()), (None, 2));
            let key = images::get_key(tx, "key")?.unwrap();
            images::revoke_key(tx, stamp, &key)?;
            assert!(images::list_keys(tx, Page::first(9))?[0].revoked.is_some());
            Ok(())
        })
        .unwrap();
        assert_eq!(changes(&db, "image/debian-12"), ["created", "state_changed", "updated", "updated"]);
    });
}

const REAL: SlotNeeds = SlotNeeds { gpu: true, fabric: true };

pub fn add_key(
    db: &store::Db,
    of: (&TenantId, &ProjectId),
    name: &str,
    fingerprint: &str,
) -> Result<SshKeyId, StoreError> {
    let (id, tenant, project) = (fresh!(SshKeyId), of.0.clone(), of.1.clone());
    let (made, name, fingerprint) = (id.clone(), name.parse().unwrap(), fingerprint.to_owned());
    write(db, move |tx, stamp| {
        let new = ssh_keys::SshKeyNew {
            id: &made,
            tenant_id: &tenant,
            project_id: &project,
            name: &name,
            public_key: "ssh-ed25519 AAAA",
            fingerprint: &fingerprint,
        };
        ssh_keys::insert(tx, stamp, new)
    })?;
    Ok(id)
}

#[test]
fn keys_belong_to_a_project_and_are_there_once() {
    both_engines(|db| {
        let site = site(&db, 1);
        let (tenant, project_id) = (&site.tenant_id, &site.project_id);
        let other = project(&db, tenant);
        let id = add_key(&db, (tenant, project_id), "laptop", "SHA256:a").unwrap();
        for (name, fingerprint) in [("laptop", "SHA256:b"), ("desktop", "SHA256:a")] {
            let twice = add_key(&db, (tenant, project_id), name, fingerprint);
            assert!(matches!(twice, Err(StoreError::UniqueViolation { .. })), "{name}");
        }
        add_key(&db, (tenant, &other), "laptop", "SHA256:a").unwrap();
        let who = user(&db);
        member(&db, &who, tenant, Some(project_id), model::identity::MemberRole::Viewer);
        let (mine, own, foreign) = (scope(&who), id.clone(), other.clone());
        let (seen, count, theirs) = read(&db, move |tx| {
            let theirs = ssh_keys::of_project(tx, &foreign, Page::first(10))?;
            let hidden = ssh_keys::get_visible(tx, &mine, &theirs[0].id)?;
            Ok((ssh_keys::get_visible(tx, &mine, &own)?, ssh_keys::count(tx, &foreign)?, hidden))
        });
        assert_eq!((seen.as_ref().map(|key| key.name.as_str()), count, theirs), (Some("laptop"), 1, None));
        let row = seen.unwrap();
        write(&db, move |tx, stamp| ssh_keys::delete(tx, stamp, &row)).unwrap();
        assert_eq!(changes(&db, id.as_str()), ["created", "deleted"]);
    });
}

#[test]
fn a_profile_is_told_by_its_name_and_skus_refer_to_it() {
    both_engines(|db| {
        let slug: model::text::Slug = word("p").parse().unwrap();
        let of = SlotProfileTerms {
            name: "Slot".parse().unwrap(),
            vcpus: 24,
            memory_mib: 65_536,
            min_disk_bytes: 0,
            hugepage_kib: None,
        };
        let (made, made_of) = (slug.clone(), of.clone());
        write(&db, move |tx, stamp| slot_profiles::insert(tx, stamp, &made, (GpuModel::H200Sxm, REAL), &made_of))
            .unwrap();
        let (sku, name, profile) = (fresh!(SkuId), word("s").parse().unwrap(), slug.clone());
        let sold = skus::SkuTerms { profile: Some(slug.clone()), ..terms() };
        write(&db, move |tx, stamp| {
            skus::insert(tx, stamp, &sku, &name, (CapacityShape::GpuSlice, GpuModel::H200Sxm), &sold)
        })
        .unwrap();
        let (row, made_of, sold) = read(&db, move |tx| {
            let row = slot_profiles::get(tx, &profile)?.unwrap();
            let listed = slot_profiles::list(tx, Page::first(100))?;
            assert!(listed.contains(&row));
            Ok((row, skus::of_profile(tx, &profile)?, skus::for_sale(tx, GpuModel::H200Sxm, 100)?))
        });
        assert_eq!((row.terms.clone(), made_of.len()), (of, 1));
        assert!(sold.contains(&made_of[0]));
        let (sku, profile) = (made_of[0].clone(), slug.clone());
        write(&db, move |tx, stamp| {
            let without = skus::SkuTerms { profile: None, ..sku.terms.clone() };
            skus::update(tx, stamp, &sku, &without)?;
            let sku = skus::get(tx, &sku.id)?.unwrap();
            assert_eq!((&sku.terms, skus::of_profile(tx, &profile)?), (&without, vec![]));
            skus::update(tx, stamp, &sku, &skus::SkuTerms { profile: Some(profile.clone()), ..without })?;
            assert_eq!(skus::of_profile(tx, &profile)?.len(), 1);
            Ok(())
        })
        .unwrap();
        let changed = SlotProfileTerms { vcpus: 32, ..row.terms.clone() };
        let stale = row.clone();
        write(&db, move |tx, stamp| slot_profiles::update(tx, stamp, &row, &changed)).unwrap();
        let again = stale.terms.clone();
        assert_eq!(
            write(&db, move |tx, stamp| slot_profiles::update(tx, stamp, &stale, &again)),
            Err(StoreError::StaleVersion)
        );
        assert_eq!(changes(&db, slug.as_str()), ["created", "updated"]);
        let nothing = skus::SkuTerms { profile: Some("nothing".parse().unwrap()), ..terms() };
        let name = word("s").parse().unwrap();
        let refused = write(&db, move |tx, stamp| {
            skus::insert(tx, stamp, &fresh!(SkuId), &name, (CapacityShape::GpuSlice, GpuModel::H200Sxm), &nothing)
        });
        assert_eq!(refused, Err(StoreError::ForeignKeyViolation));
    });
}

fn asked(db: &store::Db, site: &Site, asked: AllocationTerms, from: Option<&AllocationId>) -> AllocationId {
    let (id, site, from) = (fresh!(AllocationId), site.clone(), from.cloned());
    let made = id.clone();
    write(db, move |tx, stamp| {
        let new = AllocationNew {
            id: &made,
            tenant_id: &site.tenant_id,
            project_id: &site.project_id,
            name: &"train".parse().unwrap(),
            sku_id: &site.sku_id,
            region_id: &site.region_id,
            shape: CapacityShape::GpuSlice,
            gpu_count: 1,
            terms: &asked,
            recreated_from: from.as_ref(),
            workload_id: None,
        };
        allocations::insert(tx, stamp, new)
    })
    .unwrap();
    id
}

#[test]
fn the_terms_of_a_launch_come_back_and_change_with_events() {
    both_engines(|db| {
        let site = site(&db, 1);
        let key = LaunchKey {
            name: "k".parse().unwrap(),
            public_key: "ssh-ed25519 A".into(),
            fingerprint: "SHA256:a".into(),
        };
        let terms = AllocationTerms {
            placement: PlacementWishes {
                pool_id: Some(site.pool_id.clone()),
                group: Some("web".parse().unwrap()),
                spread: Spread::Require,
                co_tenancy: CoTenancy::SameTenant,
            },
            labels: serde_json::from_str(r#"[{"key":"team","value":"x"}]"#).unwrap(),
            ssh_keys: vec![key],
            lease_ends: Some(Timestamp::from_micros(9_000_000_000)),
            may_recreate: true,
            image: Some(image()),
            user_data: Some("#cloud-config".to_owned().try_into().unwrap()),
        };
        let id = asked(&db, &site, terms.clone(), None);
        let made = id.clone();
        let row = read(&db, move |tx| allocation(tx, &made));
        // What may hold secrets is not read along.
        let (written, shown) = (terms.user_data.clone(), AllocationTerms { user_data: None, ..terms.clone() });
        assert_eq!((row.terms.clone(), row.evacuating, row.recreated_as.clone()), (shown, false, None));
        let made = id.clone();
        assert!(row.has_user_data && read(&db, move |tx| allocations::user_data(tx, &made)) == written);
        let made = id.clone();
        write(&db, move |tx, stamp| {
            let (name, none) = ("other".parse().unwrap(), model::allocation::Labels::default());
            let row = allocation(tx, &made)?;
            allocations::describe(tx, stamp, &row, Description { name: &name, labels: &none, may_recreate: false })?;
            let row = allocation(tx, &made)?;
            allocations::warn_of_lease_end(tx, stamp, &row)?;
            assert!(allocation(tx, &made)?.lease_warned.is_some());
            let row = allocation(tx, &made)?;
            allocations::extend_lease(tx, stamp, &row, Timestamp::from_micros(10_000_000_000))?;
            let row = allocation(tx, &made)?;
            assert_eq!((row.lease_warned, row.terms.lease_ends), (None, Some(Timestamp::from_micros(10_000_000_000))));
            allocations::evacuate(tx, stamp, &row)?;
            let row = allocation(tx, &made)?;
            assert_eq!(
                (row.evacuating, row.desired, row.desired_reason.as_str()),
                (true, Desired::Released, "evacuated")
            );
            allocations::force_release(tx, stamp, &row, "burnt down")?;
            let row = allocation(tx, &made)?;
            assert_eq!((row.force_reason.as_deref(), row.evacuating), (Some("burnt down"), true));
            allocations::wish(tx, stamp, &row, Desired::Released, None)?;
            let row = allocation(tx, &made)?;
            assert_eq!(
                (row.force_reason.as_deref(), row.evacuating),
                (Some("burnt down"), false),
                "a word stays given"
            );
            Ok(())
        })
        .unwrap();
        let again = asked(&db, &site, terms, Some(&id));
        let made = id.clone();
        assert_eq!(read(&db, move |tx| allocation(tx, &made)).recreated_as, Some(again));
        let updates = changes(&db, id.as_str()).into_iter().filter(|change| change == "updated").count();
        assert_eq!(updates, 3);
    });
}

#[test]
fn an_allocation_is_launched_again_once_at_most() {
    both_engines(|db| {
        let site = site(&db, 1);
        let id = asked(&db, &site, AllocationTerms::default(), None);
        asked(&db, &site, AllocationTerms::default(), Some(&id));
        let (of, from) = (site.clone(), id.clone());
        let twice = write(&db, move |tx, stamp| {
            let new = AllocationNew {
                id: &fresh!(AllocationId),
                tenant_id: &of.tenant_id,
                project_id: &of.project_id,
                name: &"train".parse().unwrap(),
                sku_id: &of.sku_id,
                region_id: &of.region_id,
                shape: CapacityShape::GpuSlice,
                gpu_count: 1,
                terms: &AllocationTerms::default(),
                recreated_from: Some(&from),
                workload_id: None,
            };
            allocations::insert(tx, stamp, new)
        });
        assert!(matches!(twice, Err(StoreError::UniqueViolation { .. })), "{twice:?}");
    });
}

#[test]
fn a_timeline_has_the_allocation_and_its_orders_in_one_sequence() {
    both_engines(|db| {
        let site = site(&db, 2);
        let id = placed(&db, &site, &site.slot_ids[..1]);
        let other = placed(&db, &site, &site.slot_ids[1..]);
        let kind = TaskKind::SliceVmProvision;
        let (task, elsewhere) = (ordered(&db, &id, kind), ordered(&db, &other, kind).id);
        let ordered = task.id.clone();
        write(&db, move |tx, stamp| {
            let row = tasks::get(tx, &ordered)?.unwrap();
            tasks::begin_step(tx, stamp, &row, ("clone", "{}"))?;
            assert_eq!(tasks::begin_step(tx, stamp, &row, ("boot", "{}")), Err(StoreError::StaleVersion));
            events::number_batch(tx, 1000)
        })
        .unwrap();
        let (of, head) = (id.clone(), read(&db, events::head));
        let rows = read(&db, move |tx| timeline::of_allocation(tx, &of, (0, head), 100));
        assert!(rows.is_sorted_by(|one, next| one.seq < next.seq));
        assert!(rows.iter().all(|row| row.subject_id != other.as_str() && row.subject_id != elsewhere.as_str()));
        let of_task: Vec<_> = rows.iter().filter(|row| row.noun == Noun::Task).collect();
        assert!(of_task.iter().all(|row| row.kind.is_some() && row.attempt == Some(1)));
        assert_eq!(of_task.last().unwrap().reason.as_deref(), Some("clone"));
        let (of, last) = (id.clone(), rows.last().unwrap().seq);
        let after = read(&db, move |tx| timeline::of_allocation(tx, &of, (last, head), 100));
        assert!(!after.is_empty() && after.iter().all(|row| row.at == rows.last().unwrap().at), "its last moment");
        let of = id.clone();
        assert_eq!(read(&db, move |tx| timeline::end_of(tx, &of)), None);
    });
}

#[test]
fn a_timeline_goes_on_with_a_whole_moment_whatever_the_clocks_say() {
    both_engines(|db| {
        let site = site(&db, 1);
        let slow_clock = tick();
        let id = request(&db, &site, CapacityShape::GpuSlice, 1);
        write(&db, |tx, _| events::number_batch(tx, 1000)).unwrap();
        let before = read(&db, events::head);
        let made = id.clone();
        // Another leader, whose clock is behind.
        db.write(move |tx| {
            let mut ids = bits;
            let stamp = &mut Stamp::new(slow_clock, &mut ids);
            for _ in 0..2 {
                let row = allocation(tx, &made)?;
                allocations::wish(tx, stamp, &row, Desired::Released, None)?;
            }
            events::number_batch(tx, 1000)
        })
        .unwrap();
        let rows = read(&db, move |tx| timeline::of_allocation(tx, &id, (before + 1, before + 2), 100));
        assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [before + 1, before + 2]);
    });
}

#[test]
fn usage_and_lease_ends_are_read_from_what_is_held() {
    both_engines(|db| {
        let site = site(&db, 2);
        let id = placed(&db, &site, &site.slot_ids);
        started(&db, &id);
        let made = id.clone();
        let ends = Timestamp::from_micros(4_000_000_000_000_000);
        write(&db, move |tx, stamp| {
            let row = allocation(tx, &made)?;
            allocations::extend_lease(tx, stamp, &row, ends)
        })
        .unwrap();
        let far = Timestamp::from_micros(5_000_000_000_000_000);
        let coming = read(&db, move |tx| usage::lease_ends(tx, (Timestamp::from_micros(0), far), 10));
        assert_eq!(coming.iter().map(|end| (end.gpus, end.at)).collect::<Vec<_>>(), [(2, ends)]);
        let of = site.project_id.clone();
        let open = read(&db, move |tx| usage::of_project(tx, &of, (Timestamp::from_micros(0), far), Page::first(10)));
        assert_eq!(open.len(), 2);
        assert!(open.iter().all(|row| row.to.is_none() && row.allocation_id == id));
        released(&db, &id);
        let of = site.project_id.clone();
        let ended = read(&db, move |tx| usage::of_project(tx, &of, (Timestamp::from_micros(0), far), Page::first(1)));
        assert!(ended[0].to.is_some());
        let (of, after) = (site.project_id.clone(), ended[0].to.unwrap());
        assert_eq!(read(&db, move |tx| usage::of_project(tx, &of, (after, far), Page::first(10))), []);
        assert_eq!(read(&db, move |tx| usage::lease_ends(tx, (Timestamp::from_micros(0), far), 10)), []);
    });
}

#[test]
fn what_holds_without_a_claim_is_found() {
    both_engines(|db| {
        let site = site(&db, 1);
        let held = placed(&db, &site, &site.slot_ids);
        let lost = request(&db, &site, CapacityShape::GpuSlice, 1);
        let (made, node) = (lost.clone(), site.node_id.clone());
        write(&db, move |tx, stamp| enter(tx, stamp, &made, State::Reserved, Some(&node))).unwrap();
        let found = read(&db, |tx| allocations::without_claims(tx, Page::first(1000)));
        let found: Vec<_> = found.into_iter().map(|row| row.id).collect();
        assert!(found.contains(&lost) && !found.contains(&held), "{found:?}");
    });
}
