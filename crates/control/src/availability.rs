//! What can be had now, for everybody who is signed in. Counted over a picture of the fleet like the one that placement uses,
//! read once and then brought up to date by events, so that whoever asks pays for what changed and for nothing else. The
//! answer is kept while nothing was committed, so that a portal that asks every second costs one small query. While much is
//! committed it is counted once a second at most: the answer is then up to a second old, and placement decides anyway.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use engine::{Inventory, Policy};

use api::supply::AvailabilityList;
use model::{PoolId, RegionId, Timestamp, supply::GpuModel, time::MICROS_PER_SECOND};
use store::{Page, StoreError, Tx, events, pools, regions, regions::RegionRow};

use crate::{
    snapshot::{self, Snapshot},
    views,
};

/// The picture and the last answer. Volatile.
#[derive(Debug, Default)]
pub(crate) struct AvailabilityMemo {
    // Whether a laboratory's nodes count.
    lab: bool,
    kept: Mutex<Option<Kept>>,
    picture: Mutex<Option<Snapshot>>,
}

#[derive(Debug)]
struct Kept {
    // How many events had been committed when it was counted, and when that was.
    events: i64,
    at: Timestamp,
    list: Arc<AvailabilityList>,
}

/// How long an answer serves although something was committed.
const AGE_US_MAX: i64 = MICROS_PER_SECOND;
const PAGE_ROWS: i64 = 200;

impl AvailabilityMemo {
    /// A memo that knows nothing yet.
    pub(crate) fn new(lab: bool) -> Self {
        Self { lab, ..Self::default() }
    }

    /// What can be had, by region and model.
    pub(crate) fn read(&self, tx: &mut Tx<'_>, now: Timestamp) -> Result<Arc<AvailabilityList>, StoreError> {
        let events = events::total(tx)?;
        {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let good = |kept: &&Kept| kept.events == events || (0..AGE_US_MAX).contains(&now.micros_since(kept.at));
            if let Some(kept) = kept.as_ref().filter(good) {
                return Ok(Arc::clone(&kept.list));
            }
        }
        let have = self.picture(tx)?.availability();
        let list = Arc::new(count(tx, have, self.lab)?);
        let kept = Kept { events, at: now, list: Arc::clone(&list) };
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        Ok(list)
    }

    /// The fleet as this transaction sees it, or newer. Others who want it wait while it is held. Not for transactions that
    /// have changed something themselves: what they change may never be.
    pub(crate) fn picture(&self, tx: &mut Tx<'_>) -> Result<Picture<'_>, StoreError> {
        let mut kept = self.picture.lock().unwrap_or_else(PoisonError::into_inner);
        // A picture that fails half-way is not kept.
        let known = match kept.take() {
            Some(known) => refreshed(tx, known)?,
            None => None,
        };
        *kept = Some(match known {
            Some(known) => known,
            None => snapshot::load(tx, self.lab)?,
        });
        Ok(Picture { kept, nothing: Inventory::new(&engine::Fleet::default(), Policy::default()) })
    }
}

impl Picture<'_> {
    /// To try something on, and to leave as it was.
    pub(crate) fn snapshot(&mut self) -> Option<&mut Snapshot> {
        self.kept.as_mut()
    }
}

/// The fleet, held for one question.
pub(crate) struct Picture<'a> {
    kept: MutexGuard<'a, Option<Snapshot>>,
    // Stands in for a picture that is not there, which cannot be.
    nothing: Inventory,
}

impl Deref for Picture<'_> {
    type Target = Inventory;
    fn deref(&self) -> &Inventory {
        self.kept.as_ref().map_or(&self.nothing, |snapshot| &snapshot.inventory)
    }
}

/// Brings a picture up to date; none when it is quicker to take another.
fn refreshed(tx: &mut Tx<'_>, mut known: Snapshot) -> Result<Option<Snapshot>, StoreError> {
    let Some((head, touched)) = snapshot::news(tx, known.version, events::Placed::Included)? else { return Ok(None) };
    let changed = known.changed(head, &touched);
    if changed.everything {
        return Ok(None);
    }
    if !changed.is_nothing() {
        let (nodes, rows) = snapshot::read_changed(tx, &changed)?;
        known.adopt(&nodes, &rows);
    }
    Ok(Some(known))
}

fn count(
    tx: &mut Tx<'_>,
    have: BTreeMap<(RegionId, GpuModel, PoolId), engine::Availability>,
    lab: bool,
) -> Result<AvailabilityList, StoreError> {
    let have = engine::availability::by_region(have);
    let sold = models_by_region(tx)?;
    let mut items = Vec::new();
    for region in all_regions(tx)? {
        for model in sold.get(&region.id).into_iter().flatten().filter(|model| lab || !model.is_lab()) {
            let have = have.get(&(region.id.clone(), *model)).copied().unwrap_or_default();
            items.push(views::availability(&region, *model, have));
        }
    }
    Ok(AvailabilityList { items })
}

fn all_regions(tx: &mut Tx<'_>) -> Result<Vec<RegionRow>, StoreError> {
    let mut all: Vec<RegionRow> = Vec::new();
    loop {
        let after = all.last().map(|row| row.id.to_string()).unwrap_or_default();
        let rows = regions::list(tx, Page::after(&after, PAGE_ROWS))?;
        if rows.is_empty() {
            return Ok(all);
        }
        all.extend(rows);
    }
}

// A region shows every model that it has a pool for, also when nothing of it is free.
fn models_by_region(tx: &mut Tx<'_>) -> Result<BTreeMap<RegionId, BTreeSet<GpuModel>>, StoreError> {
    let mut models: BTreeMap<RegionId, BTreeSet<GpuModel>> = BTreeMap::new();
    let mut after = String::new();
    loop {
        let rows = pools::list(tx, None, Page::after(&after, PAGE_ROWS))?;
        let Some(last) = rows.last() else { return Ok(models) };
        after = last.id.to_string();
        for row in rows {
            models.entry(row.region_id).or_default().insert(row.gpu_model);
        }
    }
}
