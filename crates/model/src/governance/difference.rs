//! What differs between two moments of governance, and in which order it can be carried out, so that nothing ever refers to
//! what is not there and no two objects are the default at once.

use std::collections::{BTreeMap, BTreeSet};

use super::{Governance, Identity, Kind, Object};
use crate::text::Slug;

text_enum! {
    #[schemars(rename = "GovernanceAction")]
    /// What happens to an object.
    Action {
        /// It is made.
        Create = "create",
        /// It says something else.
        Update = "update",
        /// It goes.
        Delete = "delete",
        /// It stays as it is.
        Keep = "keep",
    }
}

/// One field that says something else; both as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDifference {
    /// Its name.
    pub field: String,
    /// What it said.
    pub before: Option<serde_json::Value>,
    /// What it says.
    pub after: Option<serde_json::Value>,
}

/// What happens to one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which.
    pub object: Identity,
    /// What.
    pub action: Action,
    /// Field by field; all fields of what is made, none of what goes.
    pub fields: Vec<FieldDifference>,
}

/// What differs, kind by kind and by name.
pub fn differences(before: &Governance, after: &Governance) -> Result<Vec<Difference>, serde_json::Error> {
    let (old, new) = (by_identity(before), by_identity(after));
    let mut all = Vec::new();
    for identity in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        let (action, fields) = match (old.get(identity), new.get(identity)) {
            (Some(old), Some(new)) if old == new => (Action::Keep, Vec::new()),
            (Some(old), Some(new)) => (Action::Update, fields(Some(old), new)?),
            (None, Some(new)) => (Action::Create, fields(None, new)?),
            (Some(_), None) => (Action::Delete, Vec::new()),
            (None, None) => continue,
        };
        all.push(Difference { object: identity.clone(), action, fields });
    }
    Ok(all)
}

fn by_identity(all: &Governance) -> BTreeMap<Identity, Object> {
    all.objects().into_iter().map(|object| (object.identity(), object)).collect()
}

fn fields(old: Option<&Object>, new: &Object) -> Result<Vec<FieldDifference>, serde_json::Error> {
    let of = |object: &Object| -> Result<serde_json::Map<String, serde_json::Value>, serde_json::Error> {
        Ok(object.to_json()?.as_object().cloned().unwrap_or_default())
    };
    let before = old.map(of).transpose()?.unwrap_or_default();
    let after = of(new)?;
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differing = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    Ok(differing
        .map(|name| FieldDifference {
            field: name.clone(),
            before: before.get(name).cloned(),
            after: after.get(name).cloned(),
        })
        .collect())
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Make it.
    Create(Object),
    /// Let it say this.
    Update(Object),
    /// Take it away.
    Delete(Identity),
}

/// How to get from one moment to another. First defaults are given up; then what is new is made, owners before what hangs
/// below them; then what stays says what it has to; then the rest goes, the other way round.
pub fn steps(before: &Governance, after: &Governance) -> Vec<Step> {
    let (old, new) = (by_identity(before), by_identity(after));
    let mut all = Vec::new();
    for (identity, object) in &old {
        let stays_default = new.get(identity).is_some_and(Object::is_default);
        if object.is_default() && !stays_default {
            all.push(Step::Update(object.clone().without_default()));
        }
    }
    let created = new.iter().filter(|(identity, _)| !old.contains_key(*identity)).map(|(_, object)| object);
    all.extend(ranked(created, after).into_iter().map(|object| Step::Create(object.clone())));
    for (identity, object) in &new {
        let given_up = old.get(identity).map(|old| match object.is_default() {
            true => old.clone(),
            false => old.clone().without_default(),
        });
        if given_up.is_some_and(|old| old != *object) {
            all.push(Step::Update(object.clone()));
        }
    }
    let gone = old.iter().filter(|(identity, _)| !new.contains_key(*identity)).map(|(_, object)| object);
    all.extend(ranked(gone, before).into_iter().rev().map(|object| Step::Delete(object.identity())));
    all
}

/// Objects by kind, and cohorts by their distance from the root.
fn ranked<'a>(objects: impl Iterator<Item = &'a Object>, all: &Governance) -> Vec<&'a Object> {
    let parents: BTreeMap<&Slug, Option<&Slug>> = all.cohorts.iter().map(|it| (&it.slug, it.parent.as_ref())).collect();
    let depth = |object: &Object| {
        let mut above = if let Object::Cohort(cohort) = object { cohort.parent.as_ref() } else { None };
        let mut depth = 0_usize;
        // A tree is no deeper than it has nodes; what is no tree was refused before.
        while let Some(parent) = above.filter(|_| depth <= parents.len()) {
            depth += 1;
            above = parents.get(parent).copied().flatten();
        }
        depth
    };
    let mut ranked: Vec<(Kind, usize, &Object)> = objects.map(|it| (it.kind(), depth(it), it)).collect();
    ranked.sort_by(|a, b| (a.0, a.1, a.2.slug()).cmp(&(b.0, b.1, b.2.slug())));
    ranked.into_iter().map(|(_, _, object)| object).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(document: serde_json::Value) -> Governance {
        serde_json::from_value(document).unwrap()
    }

    fn told(steps: &[Step]) -> Vec<String> {
        steps
            .iter()
            .map(|step| match step {
                Step::Create(object) => format!("+{}", object.slug()),
                Step::Update(object) => format!("~{}", object.slug()),
                Step::Delete(identity) => format!("-{}", identity.slug),
            })
            .collect()
    }

    #[test]
    fn fields_are_compared_one_by_one() {
        let before = read(json!({"cohorts": [{"slug": "a"}, {"slug": "b"}], "flavors": [{"slug": "f"}]}));
        let after = read(json!({"cohorts": [{"slug": "a", "parent": "c"}, {"slug": "b"}, {"slug": "c"}]}));
        let all = differences(&before, &after).unwrap();
        let actions: Vec<(&str, Action)> = all.iter().map(|it| (it.object.slug.as_str(), it.action)).collect();
        assert_eq!(actions, [("f", Action::Delete), ("a", Action::Update), ("b", Action::Keep), ("c", Action::Create)]);
        let parent = FieldDifference { field: "parent".to_owned(), before: None, after: Some(json!("c")) };
        assert_eq!(all[1].fields, [parent]);
        assert_eq!(all[3].fields.len(), 2, "all that is said of a new one");
    }

    #[test]
    fn owners_come_first_and_go_last() {
        let tree = read(json!({
            "flavors": [{"slug": "f"}],
            "cohorts": [{"slug": "a", "parent": "b"}, {"slug": "b", "parent": "c"}, {"slug": "c"}],
            "cluster_queues": [{"slug": "q", "cohort": "a"}]
        }));
        let nothing = Governance::default();
        assert_eq!(told(&steps(&nothing, &tree)), ["+f", "+c", "+b", "+a", "+q"]);
        assert_eq!(told(&steps(&tree, &nothing)), ["-q", "-a", "-b", "-c", "-f"]);
        assert_eq!(steps(&tree, &tree), []);
    }

    #[test]
    fn a_default_is_given_up_before_it_is_taken() {
        let class = |slug: &str, default: bool| json!({"slug": slug, "value": 1, "default": default});
        let one = read(json!({"priority_classes": [class("a", true), class("b", false)]}));
        let other = read(json!({"priority_classes": [class("a", false), class("b", true)]}));
        assert_eq!(told(&steps(&one, &other)), ["~a", "~b"]);
        let new = read(json!({"priority_classes": [class("b", false), class("z", true)]}));
        assert_eq!(told(&steps(&one, &new)), ["~a", "+z", "-a"]);
    }
}
