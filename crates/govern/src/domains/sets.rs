//! The pod sets of one workload: each counts what the ones before it were given, a leader goes with its workers, and pods
//! that lost their node find another.

use super::{Ask, Domains, Eligible, Layer, LevelIx, Load, PerPod, Placed, Placement, Plan, Refusal, ResourceIx, Room};
use super::{DomainIx, Spread};
use crate::amount::Amount;
use std::collections::BTreeMap;

/// One pod set of a workload.
#[derive(Debug, Clone, Copy)]
pub struct PodSet<'a> {
    /// What one pod takes.
    pub per_pod: &'a [(ResourceIx, Amount)],
    /// How many pods.
    pub count: u32,
    /// How near to each other.
    pub spread: Spread,
    /// Slices, the largest first.
    pub slices: &'a [Layer],
    /// Where its pods may run.
    pub eligible: &'a Eligible,
    /// Pod sets of one group, a leader of one pod and its workers, are placed together as the workers ask.
    pub group: Option<u32>,
}

impl<'a> PodSet<'a> {
    fn ask(&self, balanced: bool) -> Ask<'a> {
        let Self { per_pod, count, spread, slices, eligible, .. } = *self;
        Ask { per_pod, count, leader: None, spread, slices, eligible, within: None, balanced }
    }
}

/// Pod sets that could not be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Their places in the list: one, or all of a group.
    pub sets: Vec<usize>,
    /// Why.
    pub why: Refusal,
}

/// Where the pod sets of a workload go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetsPlaced {
    /// In the order of the list; none for those that were refused or not tried any more.
    pub placed: Vec<Option<Placement>>,
    /// The first that could not be placed. Without it the workload fits.
    pub refused: Option<Refused>,
}

/// Where the pod sets of one workload go, in their order up to the first that cannot be placed. What is given to one counts for
/// the next; the load is at the end as it was.
pub fn place_all(domains: &Domains, load: &mut Load, sets: &[PodSet<'_>], balanced: bool) -> SetsPlaced {
    let mut answer = SetsPlaced { placed: vec![None; sets.len()], refused: None };
    let mut taken: Vec<Part> = vec![];
    for at in 0..sets.len() {
        let together: Vec<usize> = match sets[at].group {
            Some(group) => (0..sets.len()).filter(|other| sets[*other].group == Some(group)).collect(),
            None => vec![at],
        };
        if together[0] != at {
            continue;
        }
        match place_group(domains, load, sets, &together, balanced) {
            Ok(parts) => {
                for part in parts {
                    load.place(domains, &part.per_pod, &part.placement);
                    answer.placed[part.set] = Some(part.placement.clone());
                    taken.push(part);
                }
            }
            Err(why) => {
                answer.refused = Some(Refused { sets: together, why });
                break;
            }
        }
    }
    for part in taken {
        load.unplace(domains, &part.per_pod, &part.placement);
    }
    answer
}

struct Part {
    set: usize,
    per_pod: PerPod,
    placement: Placement,
}

fn place_group(
    domains: &Domains,
    load: &Load,
    sets: &[PodSet<'_>],
    together: &[usize],
    balanced: bool,
) -> Result<Vec<Part>, Refusal> {
    // The smaller one leads; of two equal ones the second.
    let (workers, leader) = match *together {
        [workers] => (workers, None),
        [first, second] if sets[second].count > sets[first].count => (second, Some(first)),
        [first, second] => (first, Some(second)),
        _ => return Err(Refusal::NoLeaderAndWorkers),
    };
    if leader.is_some_and(|leader| sets[leader].count != 1) {
        return Err(Refusal::NoLeaderAndWorkers);
    }
    let mut ask = sets[workers].ask(balanced);
    ask.leader = leader.map(|leader| (sets[leader].per_pod, sets[leader].eligible));
    let room = Room::new(domains, load, Plan::new(domains, &ask)?);
    let Placed { pods, leader: host } = room.place(domains, load)?;
    let mut parts = vec![Part { set: workers, per_pod: room.plan().per_pod().clone(), placement: pods }];
    if let (Some(set), Some(host), Some(per_pod)) = (leader, host, room.plan().leader()) {
        parts.push(Part { set, per_pod: per_pod.clone(), placement: Placement(vec![(host, 1)]) });
    }
    Ok(parts)
}

/// Places pods anew that lost their node, so that with those that stay (`kept`, which the load counts) the pod set is as it
/// was asked for: inside the domain that a required level or a broken slice demands. Gives the places of all its pods.
///
/// # Errors
/// When the tree has no such place.
pub fn replace(
    domains: &Domains,
    load: &Load,
    set: &PodSet<'_>,
    kept: &Placement,
    lost: u32,
) -> Result<Placement, Refusal> {
    let broken = set.slices.iter().rev().find(|layer| layer.size > 0 && !lost.is_multiple_of(layer.size));
    let outermost_broken = set.slices.first().is_some_and(|layer| layer.size > 0 && !lost.is_multiple_of(layer.size));
    let first = kept.0.first().map(|(leaf, _)| *leaf);
    let within = match (broken.filter(|_| outermost_broken), set.spread) {
        (Some(layer), _) => incomplete(domains, kept, lost, layer),
        (None, Spread::Required(level)) => first.and_then(|leaf| domains.domain_of(leaf, level)),
        _ => None,
    };
    // Inside the domain of a broken slice only the layers that the lost pods fill count.
    let finest = set.slices.iter().rev().find(|layer| layer.size > 0 && lost.is_multiple_of(layer.size)).copied();
    let finest: Vec<Layer> = finest.into_iter().collect();
    let slices = if outermost_broken && within.is_some() { &finest } else { set.slices };
    let ask = Ask { count: lost, slices, within, ..set.ask(false) };
    let placed = Room::new(domains, load, Plan::new(domains, &ask)?).place(domains, load)?;
    let mut all: BTreeMap<_, u32> = kept.0.iter().copied().collect();
    for (leaf, pods) in placed.pods.0 {
        *all.entry(leaf).or_default() += pods;
    }
    Ok(Placement(all.into_iter().collect()))
}

// The first domain in which the lost pods make its slices whole again.
fn incomplete(domains: &Domains, kept: &Placement, lost: u32, layer: &Layer) -> Option<DomainIx> {
    let mut pods: BTreeMap<DomainIx, u64> = BTreeMap::new();
    for (leaf, count) in &kept.0 {
        let level: LevelIx = layer.level;
        *pods.entry(domains.domain_of(*leaf, level)?).or_default() += u64::from(*count);
    }
    let whole = |count: u64| (count + u64::from(lost)).is_multiple_of(u64::from(layer.size));
    pods.into_iter().find(|(_, count)| whole(*count)).map(|(domain, _)| domain)
}
