//! What the queues of a world may use, counted apart from the engine that decides: nobody uses more than its own and what it
//! may borrow, and all of a cohort together never more than all of it has.
//!
//! The cohorts of worlds are flat. Quotas do not change while a world runs, so a queue that is over its quota was let over it.

use model::{governance::ResourceGroup, text::Slug};
use std::collections::BTreeMap;
use store::{StoreError, Tx, governance, invariants::Violation, workloads::WorkloadRow};

/// GPUs by queue or cohort, and flavor.
type ByFlavor = BTreeMap<(Slug, Slug), i64>;

/// What there is.
#[derive(Debug, Default)]
pub struct Quotas {
    // What each queue may use at most; absent where it may borrow all there is.
    queue_max: ByFlavor,
    // What all queues of a cohort have together.
    cohort_max: ByFlavor,
    cohorts: BTreeMap<Slug, Slug>,
}

fn gpus(groups: &[ResourceGroup]) -> impl Iterator<Item = (&Slug, &model::governance::Quota)> {
    let flavors = groups.iter().flat_map(|group| &group.flavors);
    let of = |flavor: &'_ model::governance::FlavorQuotas| {
        flavor.quotas.iter().position(|quota| quota.resource == Slug::gpu())
    };
    flavors.filter_map(move |flavor| Some((&flavor.flavor, flavor.quotas.get(of(flavor)?)?)))
}

impl Quotas {
    /// What the store says that there is.
    pub fn read(tx: &mut Tx<'_>) -> Result<Self, StoreError> {
        let objects = governance::all(tx)?.governance();
        let mut quotas = Self::default();
        for queue in &objects.cluster_queues {
            for (flavor, quota) in gpus(&queue.resource_groups) {
                let own = quota.nominal.get();
                if let Some(more) = quota.borrowing_limit {
                    quotas.queue_max.insert((queue.slug.clone(), flavor.clone()), own + more.get());
                }
                // A queue of its own is a cohort of one.
                let cohort = queue.cohort.as_ref().unwrap_or(&queue.slug);
                *quotas.cohort_max.entry((cohort.clone(), flavor.clone())).or_default() += own;
                quotas.cohorts.insert(queue.slug.clone(), cohort.clone());
            }
        }
        Ok(quotas)
    }

    /// Every queue and cohort that uses more than it may.
    pub fn overdrawn(&self, live: &[WorkloadRow]) -> Vec<Violation> {
        let (mut queues, mut cohorts) = (ByFlavor::new(), ByFlavor::new());
        for row in live {
            let Some(flavor) = &row.flavor else { continue };
            *queues.entry((row.queue.clone(), flavor.clone())).or_default() += row.gpus();
            let cohort = self.cohorts.get(&row.queue).unwrap_or(&row.queue);
            *cohorts.entry((cohort.clone(), flavor.clone())).or_default() += row.gpus();
        }
        // What nobody has described has nothing.
        let least = |all: &ByFlavor, of: &(Slug, Slug)| all.get(of).copied().unwrap_or_default();
        let queues = queues.into_iter().filter_map(|(of, used)| Some((self.queue_max.get(&of).copied()?, of, used)));
        let cohorts = cohorts.into_iter().map(|(of, used)| (least(&self.cohort_max, &of), of, used));
        let over = queues.chain(cohorts).filter(|(most, _, used)| used > most);
        over.map(|(most, (who, flavor), used)| Violation {
            invariant: "I15",
            subject: who.to_string(),
            detail: format!("uses {used} GPUs of {flavor} and may use {most}"),
        })
        .collect()
    }
}
