//! What is asked of the tree, checked against it, and what is said when it cannot be had.

use super::{DomainIx, Domains, Eligible, Excluded, LeafIx, LevelIx, PerPod, ResourceIx};
use crate::amount::Amount;

/// At most so many layers of slices.
pub const LAYERS_MAX: usize = 3;

/// How near to each other the pods must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// All in one domain of the level.
    Required(LevelIx),
    /// All in one domain of the level, else of a coarser one, else over several of the coarsest.
    Preferred(LevelIx),
    /// Anywhere. The fullest leaves go first.
    Unconstrained,
}

/// Pods go in groups of a size, each group whole in one domain of the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layer {
    /// Of which level.
    pub level: LevelIx,
    /// So many pods a group.
    pub size: u32,
}

/// One request: equal pods, perhaps with one leader that is placed with them.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// What one pod takes.
    pub per_pod: &'a [(ResourceIx, Amount)],
    /// How many pods, without the leader.
    pub count: u32,
    /// What the leader takes and where it may run.
    pub leader: Option<(&'a [(ResourceIx, Amount)], &'a Eligible)>,
    /// How near to each other.
    pub spread: Spread,
    /// Slices, the largest first; each next one is finer and divides it.
    pub slices: &'a [Layer],
    /// Where the pods may run.
    pub eligible: &'a Eligible,
    /// Only inside this domain.
    pub within: Option<DomainIx>,
    /// Where pods prefer a level and need several domains below it, give each about as many.
    pub balanced: bool,
}

/// Whose level is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelOf {
    /// The one that the pods asked for.
    Pods,
    /// That of a layer of slices, 0 for the largest.
    Slices(usize),
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Single pods.
    Pods,
    /// Slices of the largest layer.
    Slices,
}

/// How many slices of one layer fit where most of them would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerFit {
    /// The layer.
    pub layer: Layer,
    /// So many fit.
    pub fits: u64,
    /// So many are needed.
    pub of: u64,
}

/// Why there is no placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// A level that the tree does not have.
    NoSuchLevel {
        /// Whose.
        of: LevelOf,
    },
    /// An amount of something that the tree does not count.
    NoSuchResource {
        /// Which.
        resource: ResourceIx,
    },
    /// Slices without a size.
    SliceWithoutSize {
        /// Which layer.
        layer: usize,
    },
    /// More layers of slices than there may be.
    TooManyLayers {
        /// So many.
        layers: usize,
    },
    /// Slices of a coarser level than all the pods together.
    SlicesAbove {
        /// The level of the slices.
        slices: LevelIx,
        /// The level of the pods.
        pods: LevelIx,
    },
    /// A layer that is not finer than the one before.
    LayerNotFiner {
        /// Which layer.
        layer: usize,
    },
    /// A layer whose size does not divide the one before.
    LayerNotDividing {
        /// Which layer.
        layer: usize,
        /// Its size.
        size: u32,
        /// The size of the one before.
        before: u32,
    },
    /// Pods that do not make whole slices.
    NotWhole {
        /// So many pods.
        count: u32,
        /// So many make a slice.
        size: u32,
    },
    /// A group of pod sets that is not one leader and its workers.
    NoLeaderAndWorkers,
    /// No node has the labels.
    NoDomains {
        /// The level that is empty.
        level: LevelIx,
    },
    /// Not enough room.
    DoesNotFit {
        /// So many fit.
        fits: u64,
        /// So many are needed.
        of: u64,
        /// So many what.
        unit: Unit,
        /// It would fit without its leader.
        for_leader: bool,
        /// With several layers of slices, how each fares.
        layers: Vec<LayerFit>,
        /// Leaves that could take nothing.
        excluded: Excluded,
    },
}

/// A request that makes sense for a tree, ready to be counted and placed.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) per_pod: PerPod,
    pub(super) leader: Option<PerPod>,
    pub(super) count: i64,
    pub(super) level: usize,
    pub(super) spread: Spread,
    pub(super) slice_level: usize,
    pub(super) size: i64,
    // By level: pods come to it in multiples of this; 1 where nothing is asked.
    pub(super) inner: Vec<i64>,
    pub(super) layers: Vec<Layer>,
    pub(super) balanced: bool,
    // By leaf.
    pub(super) open: Vec<bool>,
    pub(super) leader_open: Vec<bool>,
    pub(super) score: Vec<i64>,
    pub(super) excluded: Excluded,
}

impl Plan {
    /// Checks a request against the tree.
    ///
    /// # Errors
    /// With what is wrong with the request. That there is no room is found out later.
    pub fn new(domains: &Domains, ask: &Ask<'_>) -> Result<Self, Refusal> {
        let (slice_level, size, inner, level) = levels(domains, ask)?;
        let leader_requests = ask.leader.map_or(&[][..], |(requests, _)| requests);
        let mut requests = ask.per_pod.iter().chain(leader_requests).map(|(what, _)| *what);
        if let Some(resource) = requests.find(|what| what.0 as usize >= domains.width) {
            return Err(Refusal::NoSuchResource { resource });
        }
        let mut excluded = ask.eligible.excluded.clone();
        // Of a tree with other leaves it knows nothing: what it does not name is closed.
        let leaves = domains.facts.len();
        let fitted = |open: &[bool]| open.iter().copied().chain(std::iter::repeat(false)).take(leaves).collect();
        let mut open: Vec<bool> = fitted(&ask.eligible.open);
        let mut score = ask.eligible.score.clone();
        score.resize(leaves, 0);
        if let Some(within) = ask.within {
            for (leaf, open) in (0_u32..).map(LeafIx).zip(&mut open) {
                let inside = (0..=domains.last()).any(|level| domains.domain_of(leaf, level_ix(level)) == Some(within));
                excluded.elsewhere += u32::from(*open && !inside);
                *open &= inside;
            }
        }
        Ok(Self {
            per_pod: domains.per_pod(ask.per_pod),
            leader: ask.leader.map(|(requests, _)| domains.per_pod(requests)),
            count: i64::from(ask.count),
            level,
            spread: ask.spread,
            slice_level,
            size,
            inner,
            layers: ask.slices.to_vec(),
            balanced: ask.balanced && matches!(ask.spread, Spread::Preferred(_)),
            leader_open: ask.leader.map_or_else(Vec::new, |(_, eligible)| fitted(&eligible.open)),
            open,
            score,
            excluded,
        })
    }

    /// What one pod takes, the leader apart.
    #[must_use]
    pub fn per_pod(&self) -> &PerPod {
        &self.per_pod
    }

    /// What the leader takes.
    #[must_use]
    pub fn leader(&self) -> Option<&PerPod> {
        self.leader.as_ref()
    }

    pub(super) fn set_count(&mut self, count: u32) -> Result<(), Refusal> {
        self.count = whole(count, self.size)?;
        Ok(())
    }

    // In slices of the largest layer.
    pub(super) fn need(&self) -> i64 {
        self.count / self.size
    }

    pub(super) fn least_free(&self) -> bool {
        self.spread == Spread::Unconstrained
    }

    pub(super) fn required(&self) -> bool {
        matches!(self.spread, Spread::Required(_))
    }
}

pub(super) fn level_ix(level: usize) -> LevelIx {
    u8::try_from(level).map_or(LevelIx::UNKNOWN, LevelIx)
}

fn whole(count: u32, size: i64) -> Result<i64, Refusal> {
    let pods = i64::from(count);
    if pods % size == 0 {
        return Ok(pods);
    }
    Err(Refusal::NotWhole { count, size: u32::try_from(size).unwrap_or(u32::MAX) })
}

// The level and size of the largest slices, what each level is rounded to, and the level of the pods.
fn levels(domains: &Domains, ask: &Ask<'_>) -> Result<(usize, i64, Vec<i64>, usize), Refusal> {
    let known = |level: LevelIx, of| {
        let level = usize::from(level.0);
        if level <= domains.last() { Ok(level) } else { Err(Refusal::NoSuchLevel { of }) }
    };
    if ask.slices.len() > LAYERS_MAX {
        return Err(Refusal::TooManyLayers { layers: ask.slices.len() });
    }
    if let Some(layer) = ask.slices.iter().position(|layer| layer.size == 0) {
        return Err(Refusal::SliceWithoutSize { layer });
    }
    let level = match ask.spread {
        Spread::Required(level) | Spread::Preferred(level) => known(level, LevelOf::Pods)?,
        // Slices may be anywhere in the tree, but each in its domain.
        Spread::Unconstrained if ask.slices.is_empty() => domains.last(),
        Spread::Unconstrained => 0,
    };
    let mut inner = vec![1; domains.last() + 2];
    let Some((first, finer)) = ask.slices.split_first() else {
        return Ok((domains.last(), 1, inner, level));
    };
    let slice_level = known(first.level, LevelOf::Slices(0))?;
    if level > slice_level {
        return Err(Refusal::SlicesAbove { slices: first.level, pods: level_ix(level) });
    }
    let (mut before, mut coarser) = (first.size, slice_level);
    for (layer, Layer { level, size }) in (1..).zip(finer) {
        let (at, size) = (known(*level, LevelOf::Slices(layer))?, *size);
        if at <= coarser {
            return Err(Refusal::LayerNotFiner { layer });
        }
        if before % size != 0 {
            return Err(Refusal::LayerNotDividing { layer, size, before });
        }
        inner[coarser + 1..=at].fill(i64::from(size));
        (before, coarser) = (size, at);
    }
    whole(ask.count, i64::from(first.size))?;
    Ok((slice_level, i64::from(first.size), inner, level))
}
