//! What the groups of an identity provider mean here: each rule gives everybody in a group one role, over the platform, in a
//! tenant or in a project. Tenants and projects are named by their slugs, so rules can be written before either exists.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    identity::{MemberRole, PlatformRole},
    text::Slug,
};
use serde::Deserialize;

/// The rules, as their file states them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The claim in which the provider lists a person's groups.
    #[serde(default = "groups")]
    pub groups_claim: String,
    /// What is asked of the provider besides who the person is.
    #[serde(default = "scopes")]
    pub scopes: Vec<String>,
    /// The rules.
    pub rules: Vec<Rule>,
}

/// One rule: a group, and either `operator` or `tenant` with `role` and perhaps `project`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The group.
    pub group: String,
    /// A role over the platform.
    #[serde(default)]
    pub operator: Option<PlatformRole>,
    /// The tenant of a membership.
    #[serde(default)]
    pub tenant: Option<Slug>,
    /// The project of a membership; the whole tenant when absent.
    #[serde(default)]
    pub project: Option<Slug>,
    /// The role of a membership.
    #[serde(default)]
    pub role: Option<MemberRole>,
}

/// The rules do not hold together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule {number}, for the group `{group}`: expected {expected}")]
pub struct BadRules {
    /// Which one, from 1.
    pub number: usize,
    /// For whom.
    pub group: String,
    /// What would be accepted.
    pub expected: &'static str,
}

fn groups() -> String {
    "groups".to_owned()
}

fn scopes() -> Vec<String> {
    ["profile", "email", "groups"].map(str::to_owned).to_vec()
}

/// Where a membership holds: a tenant, and perhaps a project of it.
pub(super) type Place = (Slug, Option<Slug>);

/// What somebody's groups give them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) platform_role: Option<PlatformRole>,
    pub(super) memberships: BTreeMap<Place, MemberRole>,
}

impl Rules {
    /// Refuses rules that give nothing, or two things at once.
    pub fn check(&self) -> Result<(), BadRules> {
        for (at, rule) in self.rules.iter().enumerate() {
            rule.check().map_err(|expected| BadRules { number: at + 1, group: rule.group.clone(), expected })?;
        }
        Ok(())
    }

    /// What these groups give. Of several roles in one place the one that may do most counts.
    pub(super) fn given(&self, groups: &BTreeSet<String>) -> Given {
        let mut given = Given::default();
        for rule in self.rules.iter().filter(|rule| groups.contains(&rule.group)) {
            // Roles are declared with the strongest first.
            given.platform_role = [given.platform_role, rule.operator].into_iter().flatten().min();
            if let (Some(tenant), Some(role)) = (&rule.tenant, rule.role) {
                let held = given.memberships.entry((tenant.clone(), rule.project.clone())).or_insert(role);
                *held = role.min(*held);
            }
        }
        given
    }
}

impl Rule {
    fn check(&self) -> Result<(), &'static str> {
        match (self.operator, &self.tenant, self.role, &self.project) {
            (Some(_), None, None, None) | (None, Some(_), Some(MemberRole::Viewer), _) => Ok(()),
            (None, Some(_), Some(MemberRole::TenantAdmin), None) => Ok(()),
            (None, Some(_), Some(MemberRole::ProjectMember), Some(_)) => Ok(()),
            (None, Some(_), Some(MemberRole::TenantAdmin), Some(_)) => {
                Err("no project: tenant_admin holds in the whole tenant")
            }
            (None, Some(_), Some(MemberRole::ProjectMember), None) => Err("a project: project_member holds in one"),
            _ => Err("either `operator`, or `tenant` and `role`"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rules(text: serde_json::Value) -> Rules {
        serde_json::from_value(serde_json::json!({ "rules": text })).unwrap()
    }

    #[test]
    fn a_rule_gives_one_thing() {
        let good = rules(serde_json::json!([
            {"group": "a", "operator": "platform_operator"},
            {"group": "b", "tenant": "acme", "role": "tenant_admin"},
            {"group": "c", "tenant": "acme", "project": "web", "role": "project_member"},
            {"group": "d", "tenant": "acme", "role": "viewer"}
        ]));
        assert_eq!(good.check(), Ok(()));
        assert_eq!((good.groups_claim.as_str(), good.scopes.len()), ("groups", 3));
        for bad in [
            serde_json::json!({"group": "x"}),
            serde_json::json!({"group": "x", "tenant": "acme"}),
            serde_json::json!({"group": "x", "role": "viewer"}),
            serde_json::json!({"group": "x", "operator": "platform_operator", "tenant": "acme", "role": "viewer"}),
            serde_json::json!({"group": "x", "tenant": "acme", "role": "project_member"}),
            serde_json::json!({"group": "x", "tenant": "acme", "project": "web", "role": "tenant_admin"}),
        ] {
            assert_eq!(rules(serde_json::json!([bad])).check().unwrap_err().number, 1, "{bad}");
        }
    }

    #[test]
    fn the_strongest_role_counts_and_other_groups_give_nothing() {
        let rules = rules(serde_json::json!([
            {"group": "look", "operator": "operator_read_only"},
            {"group": "run", "operator": "platform_operator"},
            {"group": "look", "tenant": "acme", "role": "viewer"},
            {"group": "run", "tenant": "acme", "role": "tenant_admin"}
        ]));
        let of = |groups: &[&str]| rules.given(&groups.iter().map(|group| (*group).to_owned()).collect());
        assert_eq!(of(&["look"]).platform_role, Some(PlatformRole::OperatorReadOnly));
        let both = of(&["look", "run"]);
        assert_eq!(both.platform_role, Some(PlatformRole::PlatformOperator));
        assert_eq!(both.memberships.values().collect::<Vec<_>>(), [&MemberRole::TenantAdmin]);
        assert_eq!(of(&["Look", "others"]), Given::default());
    }
}
