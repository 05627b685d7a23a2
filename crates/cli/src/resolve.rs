//! From what people type to ids. An id is used as it is; a slug is looked up in the list it is unique in; a project may be
//! written `tenant/project`. Nothing is guessed: an ambiguous name is refused with the choices.

use api::{
    Endpoint, Nothing,
    catalog::{PoolList, PoolView, RegionList, RegionView, SkuList, SkuView},
    endpoint::Part,
    fleet::{NodeList, NodeView},
    identity::{OperatorList, PrincipalView, ServiceAccountList},
    page::{Page, PageQuery},
    tenancy::{ProjectList, ProjectView, TenantList, TenantPath, TenantView},
};
use model::{NodeId, PoolId, PrincipalId, ProjectId, RegionId, SkuId, TenantId, tenancy::State};

use crate::{failure::Failure, session::Session};

/// What can be named by something other than its id.
trait Named {
    const NOUN: &'static str;
    fn id(&self) -> &str;
    fn name(&self) -> &str;
    /// Whether it has ended, so that a living thing of the same name is meant.
    fn is_gone(&self) -> bool {
        false
    }
}

macro_rules! named {
    ($($view:ty, $noun:literal, $name:ident $(, gone when $gone:expr)?;)+) => { $(
        impl Named for $view {
            const NOUN: &'static str = $noun;
            fn id(&self) -> &str { self.id.as_str() }
            fn name(&self) -> &str { self.$name.as_ref_str() }
            $(fn is_gone(&self) -> bool { self.execution == $gone })?
        }
    )+ };
}

trait AsRefStr {
    fn as_ref_str(&self) -> &str;
}
impl AsRefStr for String {
    fn as_ref_str(&self) -> &str {
        self
    }
}
impl AsRefStr for model::text::Slug {
    fn as_ref_str(&self) -> &str {
        self.as_str()
    }
}

named! {
    TenantView, "tenant", slug, gone when State::Deleted;
    ProjectView, "project", slug, gone when State::Deleted;
    RegionView, "region", slug;
    PoolView, "pool", slug;
    SkuView, "SKU", slug;
    NodeView, "node", name;
    PrincipalView, "principal", name;
}

fn only<T: Named>(name: &str, items: Vec<T>) -> Result<T, Failure> {
    let mut same: Vec<T> = items.into_iter().filter(|item| item.name() == name).collect();
    if same.len() > 1 && same.iter().any(|item| !item.is_gone()) {
        same.retain(|item| !item.is_gone());
    }
    match same.len() {
        1 => same.pop().ok_or_else(|| nothing::<T>(name)),
        0 => Err(nothing::<T>(name)),
        _ => {
            let ids: Vec<&str> = same.iter().map(Named::id).collect();
            Err(Failure::Usage(format!(
                "more than one {} is called `{name}`; name it by id: {}",
                T::NOUN,
                ids.join(", ")
            )))
        }
    }
}

fn nothing<T: Named>(name: &str) -> Failure {
    Failure::NotFound(format!("there is no {} called `{name}` that you may see", T::NOUN))
}

async fn look_up<E, T>(session: &Session, path: E::Path, name: &str) -> Result<T, Failure>
where
    E: Endpoint<Query = PageQuery, Body = Nothing, Answer = Page<T>>,
    T: Named + Part,
{
    only(name, session.list::<E, T>(path).await?)
}

/// A tenant by id or slug.
pub async fn tenant(session: &Session, name: &str) -> Result<TenantId, Failure> {
    match name.parse() {
        Ok(id) => Ok(id),
        Err(_) => Ok(look_up::<TenantList, _>(session, Nothing {}, name).await?.id),
    }
}

/// A project by id, by `tenant/project`, or by a slug that only one visible project has.
pub async fn project(session: &Session, name: &str) -> Result<ProjectId, Failure> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    if let Some((owner, slug)) = name.split_once('/') {
        let tenant_id = tenant(session, owner).await?;
        return Ok(look_up::<ProjectList, _>(session, TenantPath { tenant_id }, slug).await?.id);
    }
    Ok(only(name, projects(session, None).await?)?.id)
}

/// The projects of one tenant, or of all that are visible.
pub async fn projects(session: &Session, owner: Option<&str>) -> Result<Vec<ProjectView>, Failure> {
    let tenants = match owner {
        Some(name) => vec![tenant(session, name).await?],
        None => session.list::<TenantList, _>(Nothing {}).await?.into_iter().map(|tenant| tenant.id).collect(),
    };
    let mut all = Vec::new();
    for tenant_id in tenants {
        all.extend(session.list::<ProjectList, _>(TenantPath { tenant_id }).await?);
    }
    Ok(all)
}

/// A region by id or slug.
pub async fn region(session: &Session, name: &str) -> Result<RegionId, Failure> {
    match name.parse() {
        Ok(id) => Ok(id),
        Err(_) => Ok(look_up::<RegionList, _>(session, Nothing {}, name).await?.id),
    }
}

/// A pool by id or slug.
pub async fn pool(session: &Session, name: &str) -> Result<PoolId, Failure> {
    match name.parse() {
        Ok(id) => Ok(id),
        Err(_) => Ok(look_up::<PoolList, _>(session, Nothing {}, name).await?.id),
    }
}

/// A SKU by id or slug.
pub async fn sku(session: &Session, name: &str) -> Result<SkuId, Failure> {
    match name.parse() {
        Ok(id) => Ok(id),
        Err(_) => Ok(look_up::<SkuList, _>(session, Nothing {}, name).await?.id),
    }
}

/// A node by id or host name.
pub async fn node(session: &Session, name: &str) -> Result<NodeId, Failure> {
    match name.parse() {
        Ok(id) => Ok(id),
        Err(_) => Ok(look_up::<NodeList, _>(session, Nothing {}, name).await?.id),
    }
}

/// An operator by id or e-mail address.
pub async fn operator(session: &Session, name: &str) -> Result<PrincipalId, Failure> {
    match name.parse() {
        Ok(id) => Ok(id),
        Err(_) => Ok(look_up::<OperatorList, _>(session, Nothing {}, name).await?.id),
    }
}

/// A service account by id or by `tenant/name`.
pub async fn service_account(session: &Session, name: &str) -> Result<PrincipalId, Failure> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let Some((owner, account)) = name.split_once('/') else {
        return Err(Failure::Usage(format!("`{name}` is not a service account; expected its id, or tenant/name")));
    };
    let tenant_id = tenant(session, owner).await?;
    Ok(look_up::<ServiceAccountList, _>(session, TenantPath { tenant_id }, account).await?.id)
}
