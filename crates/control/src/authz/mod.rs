//! Who may do what. Policies are written in Cedar (`policies.cedar`), checked against a schema (`schema.cedarschema`) when
//! the process starts, and asked one question: may this caller exercise this [`Right`] on this [`Resource`]?
//!
//! Nothing here looks at rows or knows an operation; whether a thing exists, and whether a caller may know that it does,
//! is the front door's business. What no policy permits is refused, and so is what cannot be decided.

mod caller;
pub mod token;

pub use caller::{Caller, SignedIn, authenticate, unauthenticated};

use api::Right;
use cedar_policy::{
    Authorizer, Context, Decision, Entities, Entity, EntityId, EntityTypeName, EntityUid, Policy, PolicyId, PolicySet,
    Request, RestrictedExpression, Schema, ValidationMode, Validator,
};
use model::{PrincipalId, ProjectId, TenantId, identity::MemberRole};
use std::{
    collections::{HashMap, HashSet},
    str::FromStr,
};

const SCHEMA: &str = include_str!("schema.cedarschema");
const POLICIES: &str = include_str!("policies.cedar");

/// What a right is exercised on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource<'a> {
    /// The platform and its catalogue.
    Platform,
    /// A tenant.
    Tenant(&'a TenantId),
    /// A project of a tenant.
    Project(&'a TenantId, &'a ProjectId),
    /// A person or service account.
    Principal(&'a PrincipalId),
}

impl<'a> Resource<'a> {
    fn tenant(self) -> Option<&'a TenantId> {
        match self {
            Self::Tenant(tenant) | Self::Project(tenant, _) => Some(tenant),
            Self::Platform | Self::Principal(_) => None,
        }
    }
}

/// The policies do not hold together; the process must not start with them.
#[derive(Debug, thiserror::Error)]
#[error("the authorization policies are not valid: {0}")]
pub struct BadPolicies(String);

fn bad(error: impl std::fmt::Display) -> BadPolicies {
    BadPolicies(error.to_string())
}

/// The policies, ready to be asked.
pub struct Policies {
    authorizer: Authorizer,
    policies: PolicySet,
    kinds: Kinds,
    actions: HashMap<Right, EntityUid>,
}

struct Kinds {
    platform: EntityTypeName,
    tenant: EntityTypeName,
    project: EntityTypeName,
    principal: EntityTypeName,
}

impl std::fmt::Debug for Policies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Policies").finish_non_exhaustive()
    }
}

fn uid(kind: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
}

impl Policies {
    /// Reads the built-in policies and proves them against the schema.
    pub fn load() -> Result<Self, BadPolicies> {
        let (schema, warnings) = Schema::from_cedarschema_str(SCHEMA).map_err(bad)?;
        if let Some(warning) = warnings.into_iter().next() {
            return Err(bad(warning));
        }
        let policies = named(&PolicySet::from_str(POLICIES).map_err(bad)?)?;
        let result = Validator::new(schema).validate(&policies, ValidationMode::Strict);
        if let Some(error) = result.validation_errors().next() {
            return Err(bad(error));
        }
        if let Some(warning) = result.validation_warnings().next() {
            return Err(bad(warning));
        }
        let kind = |name: &str| EntityTypeName::from_str(name).map_err(bad);
        let kinds = Kinds {
            platform: kind("Platform")?,
            tenant: kind("Tenant")?,
            project: kind("Project")?,
            principal: kind("Principal")?,
        };
        let action = kind("Action")?;
        let actions = Right::ALL.iter().map(|right| (*right, uid(&action, right.as_str()))).collect();
        Ok(Self { authorizer: Authorizer::new(), policies, kinds, actions })
    }

    /// Whether the caller may exercise the right. A question that cannot be decided is answered no.
    pub fn allow(&self, caller: &Caller, right: Right, resource: Resource<'_>) -> bool {
        match self.decide(caller, right, resource) {
            Ok(allowed) => allowed,
            Err(error) => {
                tracing::error!(%error, %right, "authorization could not be decided; refused");
                false
            }
        }
    }

    fn decide(&self, caller: &Caller, right: Right, resource: Resource<'_>) -> Result<bool, BadPolicies> {
        let principal = uid(&self.kinds.principal, caller.principal_id.as_str());
        let (target, extra) = self.target(resource)?;
        let Some(action) = self.actions.get(&right) else { return Ok(false) };
        let mut entities = vec![self.principal(caller, resource)?];
        // Asking about oneself: the caller is already in the list.
        entities.extend(extra.filter(|entity| entity.uid() != principal));
        let entities = Entities::from_entities(entities, None).map_err(bad)?;
        let request = Request::new(principal, action.clone(), target, Context::empty(), None).map_err(bad)?;
        let answer = self.authorizer.is_authorized(&request, &self.policies, &entities);
        let deciding: Vec<String> = answer.diagnostics().reason().map(ToString::to_string).collect();
        for error in answer.diagnostics().errors() {
            tracing::error!(%error, %right, "a policy failed");
        }
        let allowed = answer.decision() == Decision::Allow;
        tracing::debug!(%right, principal = %caller.principal_id, allowed, policies = ?deciding, "authorized");
        Ok(allowed)
    }

    fn target(&self, resource: Resource<'_>) -> Result<(EntityUid, Option<Entity>), BadPolicies> {
        Ok(match resource {
            Resource::Platform => (uid(&self.kinds.platform, "platform"), None),
            Resource::Tenant(id) => (uid(&self.kinds.tenant, id.as_str()), None),
            Resource::Principal(id) => (uid(&self.kinds.principal, id.as_str()), None),
            Resource::Project(tenant, id) => {
                let target = uid(&self.kinds.project, id.as_str());
                let tenant = RestrictedExpression::new_entity_uid(uid(&self.kinds.tenant, tenant.as_str()));
                let attributes = HashMap::from([("tenant".to_owned(), tenant)]);
                let entity = Entity::new(target.clone(), attributes, HashSet::new()).map_err(bad)?;
                (target, Some(entity))
            }
        })
    }

    // Only roles in the tenant in question can matter to the answer, so only those are told: a principal with ten thousand
    // memberships costs as much as one with a single one.
    fn principal(&self, caller: &Caller, resource: Resource<'_>) -> Result<Entity, BadPolicies> {
        let relevant = || caller.bindings.iter().filter(|binding| Some(&binding.tenant_id) == resource.tenant());
        let tenants = |role: Option<MemberRole>| {
            let of_role = move |binding: &&store::members::Binding| {
                role.is_none_or(|role| binding.role == role && binding.project_id.is_none())
            };
            relevant()
                .filter(of_role)
                .map(|binding| uid(&self.kinds.tenant, binding.tenant_id.as_str()))
                .collect::<Vec<_>>()
        };
        let projects = |role: MemberRole| {
            let of_role = relevant().filter(move |binding| binding.role == role);
            of_role
                .filter_map(|binding| binding.project_id.as_ref())
                .map(|id| uid(&self.kinds.project, id.as_str()))
                .collect::<Vec<_>>()
        };
        let set = |uids: Vec<EntityUid>| {
            RestrictedExpression::new_set(uids.into_iter().map(RestrictedExpression::new_entity_uid))
        };
        let mut attributes = HashMap::from([
            ("admin_of".to_owned(), set(tenants(Some(MemberRole::TenantAdmin)))),
            ("viewer_of".to_owned(), set(tenants(Some(MemberRole::Viewer)))),
            ("works_in".to_owned(), set(tenants(None))),
            ("project_admin_of".to_owned(), set(projects(MemberRole::TenantAdmin))),
            ("project_member_of".to_owned(), set(projects(MemberRole::ProjectMember))),
            ("project_viewer_of".to_owned(), set(projects(MemberRole::Viewer))),
        ]);
        if let Some(role) = caller.platform_role {
            let role = RestrictedExpression::new_string(role.as_str().to_owned());
            attributes.insert("platform_role".to_owned(), role);
        }
        Entity::new(uid(&self.kinds.principal, caller.principal_id.as_str()), attributes, HashSet::new()).map_err(bad)
    }
}

/// The same policies under the names of their `@id` annotations, so that logs say which one decided.
fn named(policies: &PolicySet) -> Result<PolicySet, BadPolicies> {
    let rename = |policy: &Policy| {
        let name = policy.annotation("id").ok_or_else(|| BadPolicies("a policy without an @id".to_owned()))?;
        Ok(policy.new_id(PolicyId::new(name)))
    };
    let renamed = policies.policies().map(rename).collect::<Result<Vec<_>, BadPolicies>>()?;
    PolicySet::from_policies(renamed).map_err(bad)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use model::{Timestamp, identity::PlatformRole};
    use store::members::Binding;

    fn tenant(n: u8) -> TenantId {
        TenantId::from_parts(Timestamp::from_micros(1), [n; 10])
    }
    fn project(n: u8) -> ProjectId {
        ProjectId::from_parts(Timestamp::from_micros(1), [n; 10])
    }

    fn rights(caller: &Caller, resource: Resource<'_>) -> Vec<Right> {
        let policies = Policies::load().unwrap();
        Right::ALL.iter().copied().filter(|right| policies.allow(caller, *right, resource)).collect()
    }

    fn member(role: MemberRole, project_id: Option<ProjectId>) -> Caller {
        Caller::for_tests(None, vec![Binding { tenant_id: tenant(1), project_id, role }])
    }

    #[test]
    fn the_policies_are_valid_and_every_right_is_an_action_of_the_schema() {
        Policies::load().unwrap();
        let (schema, _) = Schema::from_cedarschema_str(SCHEMA).unwrap();
        let mut declared: Vec<String> = schema.actions().map(|action| action.id().unescaped().to_owned()).collect();
        let mut rights: Vec<String> = Right::ALL.iter().map(ToString::to_string).collect();
        declared.sort();
        rights.sort();
        assert_eq!(declared, rights);
    }

    #[test]
    fn a_tenant_admin_runs_the_tenant_and_nothing_else() {
        let admin = member(MemberRole::TenantAdmin, None);
        assert_eq!(
            rights(&admin, Resource::Tenant(&tenant(1))),
            [Right::TenantRead, Right::TenantManage, Right::AuditRead]
        );
        let all_of_project = [Right::ProjectRead, Right::ProjectManage, Right::ProjectUse];
        assert_eq!(rights(&admin, Resource::Project(&tenant(1), &project(1))), all_of_project);
        assert_eq!(rights(&admin, Resource::Tenant(&tenant(2))), []);
        assert_eq!(rights(&admin, Resource::Project(&tenant(2), &project(1))), []);
        assert_eq!(rights(&admin, Resource::Platform), [Right::CatalogRead]);
    }

    #[test]
    fn members_and_viewers_stay_in_their_project() {
        let worker = member(MemberRole::ProjectMember, Some(project(1)));
        assert_eq!(
            rights(&worker, Resource::Project(&tenant(1), &project(1))),
            [Right::ProjectRead, Right::ProjectUse]
        );
        assert_eq!(rights(&worker, Resource::Project(&tenant(1), &project(2))), []);
        assert_eq!(rights(&worker, Resource::Tenant(&tenant(1))), [Right::TenantRead]);
        let viewer = member(MemberRole::Viewer, Some(project(1)));
        assert_eq!(rights(&viewer, Resource::Project(&tenant(1), &project(1))), [Right::ProjectRead]);
        let tenant_viewer = member(MemberRole::Viewer, None);
        assert_eq!(rights(&tenant_viewer, Resource::Project(&tenant(1), &project(2))), [Right::ProjectRead]);
        assert_eq!(rights(&tenant_viewer, Resource::Tenant(&tenant(1))), [Right::TenantRead]);
    }

    #[test]
    fn operators_reach_everything_and_read_only_ones_change_nothing() {
        let operator = Caller::for_tests(Some(PlatformRole::PlatformOperator), vec![]);
        assert_eq!(rights(&operator, Resource::Tenant(&tenant(1))), Right::ALL);
        let auditor = Caller::for_tests(Some(PlatformRole::OperatorReadOnly), vec![]);
        let reads: Vec<Right> = Right::ALL.iter().copied().filter(|right| right.as_str().ends_with("_read")).collect();
        assert_eq!(rights(&auditor, Resource::Platform), reads);
        let me = auditor.principal_id.clone();
        assert!(rights(&auditor, Resource::Principal(&me)).contains(&Right::SelfManage));
    }

    #[test]
    fn somebody_else_is_not_oneself() {
        let caller = member(MemberRole::TenantAdmin, None);
        let other = PrincipalId::from_parts(Timestamp::from_micros(2), [9; 10]);
        assert_eq!(rights(&caller, Resource::Principal(&other)), []);
        let me = caller.principal_id.clone();
        assert_eq!(rights(&caller, Resource::Principal(&me)), [Right::SelfRead, Right::SelfManage]);
    }
}
