//! What has to be done so that the server has what the file describes: every object compared with the one of the same name.
//! Fields that the file leaves out are left as they are, and nothing is ever deleted. What cannot be done at all (a field
//! that is settled at creation differs, a name that nothing has) is refused here, before anything is touched.

use std::collections::BTreeSet;

use model::tenancy::{Desired, State};

use super::{
    file::{Described, Wanted},
    governance::{Coming, Governing},
    kinds::{Fields, Image, Kind, Known, Need, Pool, Project, Region, Sku, Tenant},
    report::{Action, Change, Item, Outcome},
};
use crate::{failure::Failure, ordered::Ordered, session::Session};

/// One object: what is wanted, what was seen, what is to be done.
#[derive(Debug)]
pub struct Step<K: Kind> {
    /// What is wanted.
    pub wish: K,
    /// The thing as it was when the plan was made; `None` when it did not exist.
    pub seen: Option<K::View>,
    /// What is told about it.
    pub item: Item,
}

/// Everything, in the order it is done in: what is referred to comes first.
#[derive(Debug)]
pub struct Plan {
    /// Regions.
    pub regions: Vec<Step<Region>>,
    /// Pools.
    pub pools: Vec<Step<Pool>>,
    /// SKUs.
    pub skus: Vec<Step<Sku>>,
    /// Entries of images.
    pub images: Vec<Step<Image>>,
    /// Tenants.
    pub tenants: Vec<Step<Tenant>>,
    /// Projects.
    pub projects: Vec<Step<Project>>,
    /// Governance, after all of them.
    pub governance: Governing,
    /// The ids of what exists.
    pub known: Known,
}

impl Plan {
    /// Reads what there is and compares.
    pub async fn make(session: &Session, described: Described) -> Result<Self, Failure> {
        let Described { regions, pools, skus, images, tenants, projects, governance } = described;
        let mut planner = Planner { session, known: Known::default(), there: BTreeSet::new(), refused: Vec::new() };
        let regions = planner.plan(regions, !pools.is_empty()).await?;
        let pools = planner.plan(pools, false).await?;
        let skus = planner.plan(skus, false).await?;
        let images = planner.plan(images, false).await?;
        let tenants = planner.plan(tenants, false).await?;
        let projects = planner.plan(projects, false).await?;
        let known = planner.done()?;
        let coming = Coming {
            pools: new(&pools).filter_map(|name| name.parse().ok()).collect(),
            tenants: new(&tenants).collect(),
            projects: new(&projects).collect(),
        };
        let governance = Governing::plan(session, governance, &coming).await?;
        Ok(Self { regions, pools, skus, images, tenants, projects, governance, known })
    }

    /// What is told about each object, in order.
    pub fn items(&self) -> Vec<&Item> {
        let Self { regions, pools, skus, images, tenants, projects, governance, known: _ } = self;
        let regions = regions.iter().map(|step| &step.item).chain(pools.iter().map(|step| &step.item));
        let sold = regions.chain(skus.iter().map(|step| &step.item)).chain(images.iter().map(|step| &step.item));
        let owners = tenants.iter().map(|step| &step.item).chain(projects.iter().map(|step| &step.item));
        sold.chain(owners).chain(&governance.items).collect()
    }
}

/// The names of what will be made.
fn new<K: Kind>(steps: &[Step<K>]) -> impl Iterator<Item = String> + '_ {
    steps.iter().filter(|step| step.seen.is_none()).map(|step| step.wish.name())
}

/// Why a plan cannot be made.
enum Refusal {
    NoSuchThing(String),
    NotPossible(String),
}

struct Planner<'a> {
    session: &'a Session,
    known: Known,
    // Kinds and names of what exists or will.
    there: BTreeSet<(&'static str, String)>,
    refused: Vec<Refusal>,
}

impl Planner<'_> {
    async fn plan<K: Kind>(&mut self, wanted: Vec<Wanted<K>>, referred_to: bool) -> Result<Vec<Step<K>>, Failure> {
        if wanted.is_empty() && !referred_to {
            return Ok(Vec::new());
        }
        let views = K::existing(self.session, &self.known, &wanted).await?;
        let living = |view: &K::View| K::end(view).is_none_or(|(_, state)| state != State::Deleted);
        let views: Vec<K::View> = views.into_iter().filter(living).collect();
        for view in &views {
            K::learn(view, &mut self.known);
            self.there.insert((K::NOUN, K::reference(view).to_owned()));
        }
        self.there.extend(wanted.iter().map(|wanted| (K::NOUN, wanted.wish.name())));
        let mut steps = Vec::with_capacity(wanted.len());
        for Wanted { place, wish } in wanted {
            let seen = views.iter().find(|view| wish.is(view, &self.known)).cloned();
            self.check(&place, &wish, seen.as_ref());
            let changes = self.compare(&place, &wish, seen.as_ref())?;
            let item = Item::new::<K>(&wish, seen.as_ref(), changes);
            steps.push(Step { wish, seen, item });
        }
        Ok(steps)
    }

    fn check<K: Kind>(&mut self, place: &str, wish: &K, seen: Option<&K::View>) {
        if let Some(Need { field, noun, name }) = wish.need()
            && !self.there.contains(&(noun, name.clone()))
        {
            let why = format!("{place}.{field}: there is no {noun} {name}, neither in the file nor at the server");
            self.refused.push(Refusal::NoSuchThing(why));
        }
        if seen.and_then(K::end).is_some_and(|(desired, _)| desired == Desired::Deleted) {
            let why = format!("{place}: {} {} is being deleted; apply again when it is gone", K::NOUN, wish.name());
            self.refused.push(Refusal::NotPossible(why));
        }
    }

    fn compare<K: Kind>(&mut self, place: &str, wish: &K, seen: Option<&K::View>) -> Result<Vec<Change>, Failure> {
        let declared = wish.declared()?;
        let Some(view) = seen else { return Ok(changes(declared, None)) };
        let changes = changes(declared, Some(&K::shown(view, &self.known)?));
        for change in changes.iter().filter(|change| K::FIXED.contains(&change.field.as_str())) {
            let (noun, name) = (K::NOUN, wish.name());
            let why = format!("{place}.{change}: cannot be changed; give the new {noun} another slug than {name}");
            self.refused.push(Refusal::NotPossible(why));
        }
        Ok(changes)
    }

    fn done(self) -> Result<Known, Failure> {
        if self.refused.is_empty() {
            return Ok(self.known);
        }
        let unknown = self.refused.iter().any(|refusal| matches!(refusal, Refusal::NoSuchThing(_)));
        let lines = self.refused.into_iter().map(|refusal| match refusal {
            Refusal::NoSuchThing(why) | Refusal::NotPossible(why) => format!("\n  {why}"),
        });
        let text = format!("this cannot be applied; nothing was changed{}", lines.collect::<String>());
        Err(if unknown { Failure::NotFound(text) } else { Failure::Conflict(text) })
    }
}

/// The declared fields that differ from what is shown; all of them when nothing is.
pub fn changes(declared: Fields, shown: Option<&Fields>) -> Vec<Change> {
    let now = |field: &str| -> Option<Ordered> {
        shown?.iter().find(|(name, _)| name == field).map(|(_, value)| value.clone())
    };
    let change = |(field, to): (String, Ordered)| Change { from: now(&field), field, to };
    declared.into_iter().map(change).filter(|change| change.from.as_ref() != Some(&change.to)).collect()
}

impl Item {
    fn new<K: Kind>(wish: &K, seen: Option<&K::View>, changes: Vec<Change>) -> Self {
        let action = match seen {
            None => Action::Create,
            Some(_) if changes.is_empty() => Action::Unchanged,
            Some(_) => Action::Change,
        };
        let outcome = if action == Action::Unchanged { Outcome::Unchanged } else { Outcome::Planned };
        let id = seen.map(|view| K::id(view).to_owned());
        Self { kind: K::NOUN, name: wish.name(), action, outcome, id, changes, error: None }
    }
}
