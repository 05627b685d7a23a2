//! One change of governance, from what is wanted to what is written.

use api::{
    Code, Problem,
    governance::{FieldChangeView, FindingView, GovernanceChangeView},
};
use model::{
    GovernedId,
    governance::{
        Governance, Identity, Kind, LocalQueue, Object,
        check::{Finding, FindingCode, Surroundings, check},
        difference::{Action, Step, differences, steps},
    },
};
use std::collections::{BTreeMap, BTreeSet};
use store::governance::{self, Snapshot};

use crate::front_door::{Ctx, Refusal, internal};

/// What somebody wants.
pub(super) enum Wanted {
    /// One object, under a name that is settled.
    Object {
        /// Which.
        identity: Identity,
        /// What it shall say.
        object: Object,
    },
    /// Many objects.
    Document {
        /// What they shall say.
        document: Governance,
        /// Whether those that the document does not have go.
        prune: bool,
    },
}

/// A change that nobody else can come between.
pub(super) struct Changing {
    pub before: Snapshot,
    after: Governance,
    wanted: Wanted,
    around: Surroundings,
    found: Vec<Finding>,
}

impl Changing {
    /// Takes the counter and looks at the world as it is and as it would be.
    pub fn begin(ctx: &mut Ctx<'_, '_>, wanted: Wanted) -> Result<Self, Refusal> {
        governance::hold(ctx.tx)?;
        let before = governance::all(ctx.tx)?;
        let around = governance::surroundings(ctx.tx)?;
        let old = before.governance();
        let after = match &wanted {
            Wanted::Object { object, .. } => {
                let mut after = old.clone();
                after.put(object.clone());
                after
            }
            Wanted::Document { document, prune: true } => document.clone(),
            Wanted::Document { document, prune: false } => {
                let mut after = old.clone();
                // What the document says twice is to be found, so nothing is put in the place of its own.
                for object in document.objects() {
                    after.remove(&object.identity());
                }
                document.objects().into_iter().for_each(|object| after.push(object));
                after
            }
        };
        let mut found = new_findings(&old, &after, &around);
        found.extend(settled(&before, &wanted));
        Ok(Self { before, after, wanted, around, found })
    }

    /// All objects as they would be.
    pub fn after(&self) -> &Governance {
        &self.after
    }

    /// What is wrong, or worth knowing.
    pub fn findings(&self) -> Vec<FindingView> {
        self.found.iter().map(finding_view).collect()
    }

    /// What happens to each object that is wanted, and to those that go.
    pub fn changes(&self) -> Result<Vec<GovernanceChangeView>, Refusal> {
        let spoken_of: BTreeSet<Identity> = match &self.wanted {
            Wanted::Object { identity, .. } => BTreeSet::from([identity.clone()]),
            Wanted::Document { document, .. } => document.objects().iter().map(Object::identity).collect(),
        };
        let all = differences(&self.before.governance(), &self.after).map_err(|_| internal())?;
        let text = |value: &Option<serde_json::Value>| value.as_ref().map(serde_json::Value::to_string);
        let told = all.into_iter().filter(|it| it.action != Action::Keep || spoken_of.contains(&it.object));
        Ok(told
            .map(|it| GovernanceChangeView {
                kind: it.object.kind,
                project_id: it.object.project_id,
                slug: it.object.slug,
                action: it.action,
                fields: it
                    .fields
                    .iter()
                    .map(|it| FieldChangeView {
                        field: it.field.clone(),
                        before: text(&it.before),
                        after: text(&it.after),
                    })
                    .collect(),
            })
            .collect())
    }

    /// Refuses what does not fit together, field by field.
    pub fn refuse_unless_fitting(&self) -> Result<(), Refusal> {
        let places = self.places();
        let mut refusing: Vec<&Finding> = self.found.iter().filter(|finding| finding.refuses).collect();
        // What the request itself says comes first, then what it would do to others.
        refusing.sort_by_key(|finding| !places.contains_key(&finding.object));
        let Some(first) = refusing.first() else { return Ok(()) };
        let more = match refusing.len() - 1 {
            0 => String::new(),
            more => format!(" There is more: {more}."),
        };
        let Finding { object, field, code, .. } = first;
        let detail = format!("{object} cannot be like this: {code} at {field}.{more} Nothing was changed.");
        let mut problem = Problem::new(Code::GovernanceRefused, detail);
        for finding in refusing.into_iter().take(ERRORS_MAX) {
            let detail = format!("{}: {}", finding.code, finding.detail);
            problem = match places.get(&finding.object) {
                Some(place) => problem.with_field(format!("{place}{}", finding.field), detail),
                None => problem.with_field("", format!("{} at {}: {detail}", finding.object, finding.field)),
            };
        }
        Err(problem.into())
    }

    /// Where the request speaks of each object.
    fn places(&self) -> BTreeMap<Identity, String> {
        match &self.wanted {
            Wanted::Object { object, identity } => {
                BTreeMap::from([(object.identity(), String::new()), (identity.clone(), String::new())])
            }
            Wanted::Document { document, .. } => {
                let mut places = BTreeMap::new();
                let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
                for object in document.objects() {
                    let at = counts.entry(object.kind()).or_default();
                    places.insert(object.identity(), format!("/governance/{}/{at}", object.kind().list()));
                    *at += 1;
                }
                places
            }
        }
    }

    /// Writes it.
    pub fn carry_out(&self, ctx: &mut Ctx<'_, '_>) -> Result<(), Refusal> {
        for step in steps(&self.before.governance(), &self.after) {
            match step {
                Step::Create(object) => {
                    let id = GovernedId::from_parts(ctx.stamp.now, ctx.stamp.bits());
                    let tenant_id = match &object {
                        Object::LocalQueue(queue) => {
                            Some(self.around.projects.get(&queue.project_id).ok_or_else(internal)?)
                        }
                        _ => None,
                    };
                    governance::insert(ctx.tx, &mut ctx.stamp, &id, &object, tenant_id)?;
                }
                Step::Update(object) => {
                    let row = governance::get(ctx.tx, &object.identity())?.ok_or_else(internal)?;
                    governance::update(ctx.tx, &mut ctx.stamp, &row, &object)?;
                }
                Step::Delete(identity) => {
                    let row = governance::get(ctx.tx, &identity)?.ok_or_else(internal)?;
                    let gone = governance::delete(ctx.tx, &mut ctx.stamp, &row);
                    gone.map_err(super::super::still_in_use("There is still work in a queue that would go."))?;
                }
            }
        }
        Ok(())
    }
}

/// So many fields are named in one refusal.
const ERRORS_MAX: usize = 100;

/// What is wrong after the change and was not before: a tenant that was deleted since does not keep others from changing.
fn new_findings(old: &Governance, after: &Governance, around: &Surroundings) -> Vec<Finding> {
    let before: BTreeSet<Finding> = check(old, around).into_iter().filter(|finding| finding.refuses).collect();
    check(after, around).into_iter().filter(|finding| !before.contains(finding)).collect()
}

/// Fields that are settled when an object is made, and its name.
fn settled(before: &Snapshot, wanted: &Wanted) -> Vec<Finding> {
    let finding = |object: &Identity, field: &str, code: FindingCode, detail: String| Finding {
        object: object.clone(),
        field: field.to_owned(),
        code,
        detail,
        refuses: true,
    };
    let mut found = Vec::new();
    let queues: Vec<LocalQueue> = match wanted {
        Wanted::Object { object: Object::LocalQueue(queue), .. } => vec![queue.clone()],
        Wanted::Object { .. } => Vec::new(),
        Wanted::Document { document, .. } => document.local_queues.clone(),
    };
    for queue in queues {
        let identity = Object::LocalQueue(queue.clone()).identity();
        let leads_to = before.find(&identity).map(|row| &row.object);
        if let Some(Object::LocalQueue(old)) = leads_to
            && old.cluster_queue != queue.cluster_queue
        {
            let accepted = format!("{}: make another local queue instead", old.cluster_queue);
            found.push(finding(&identity, "/cluster_queue", FindingCode::Settled, accepted));
        }
    }
    if let Wanted::Object { identity, object } = wanted {
        let given = object.identity();
        if given.slug != identity.slug {
            let accepted = format!("{}: a short name is for ever; make another object instead", identity.slug);
            found.push(finding(&given, "/slug", FindingCode::Renamed, accepted));
        }
        if let (Some(wanted), true) = (&identity.project_id, given.project_id != identity.project_id) {
            let accepted = format!("{wanted}: the project of the path");
            found.push(finding(&given, "/project_id", FindingCode::Renamed, accepted));
        }
    }
    found
}

fn finding_view(finding: &Finding) -> FindingView {
    FindingView {
        kind: finding.object.kind,
        project_id: finding.object.project_id.clone(),
        slug: finding.object.slug.clone(),
        field: finding.field.clone(),
        code: finding.code,
        detail: finding.detail.clone(),
        refuses: finding.refuses,
    }
}
