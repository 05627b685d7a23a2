//! What can be had now, for everybody who is signed in. Counted over the same picture of the fleet that placement uses, and
//! kept while nothing was committed, so that a portal that asks every second costs one small query. While much is committed
//! it is counted once a second at most: the answer is then up to a second old, and placement decides anyway.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use api::supply::AvailabilityList;
use model::{RegionId, Timestamp, supply::GpuModel, time::MICROS_PER_SECOND};
use store::{Page, StoreError, Tx, events, pools, regions, regions::RegionRow};

use crate::{snapshot, views};

/// The last answer. Volatile.
#[derive(Debug, Default)]
pub(crate) struct AvailabilityMemo(Mutex<Option<Kept>>);

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
    /// What can be had, by region and model.
    pub(crate) fn read(&self, tx: &mut Tx<'_>, now: Timestamp) -> Result<Arc<AvailabilityList>, StoreError> {
        let events = events::total(tx)?;
        {
            let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let good = |kept: &&Kept| kept.events == events || (0..AGE_US_MAX).contains(&now.micros_since(kept.at));
            if let Some(kept) = kept.as_ref().filter(good) {
                return Ok(Arc::clone(&kept.list));
            }
        }
        let list = Arc::new(count(tx)?);
        let kept = Kept { events, at: now, list: Arc::clone(&list) };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        Ok(list)
    }
}

fn count(tx: &mut Tx<'_>) -> Result<AvailabilityList, StoreError> {
    let have = engine::availability(&snapshot::load(tx)?.fleet);
    let sold = models_by_region(tx)?;
    let mut items = Vec::new();
    for region in all_regions(tx)? {
        for model in sold.get(&region.id).into_iter().flatten() {
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
