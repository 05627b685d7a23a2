//! The kinds of objects that `apply` knows. A kind says how its things are named, read, created and changed through the
//! public API; comparing, ordering and reporting are the same for all. Whoever adds a kind writes one `impl` here, one list
//! in the file and one line in the plan.

use api::{
    Endpoint, Nothing,
    catalog::{
        Cidr, PoolCreate, PoolCreateBody, PoolList, PoolPath, PoolShow, PoolUpdate, PoolView, RegionCreate,
        RegionCreateBody, RegionList, RegionPath, RegionShow, RegionUpdate, RegionView, SkuCreate, SkuCreateBody,
        SkuList, SkuPath, SkuShow, SkuUpdate, SkuView,
    },
    endpoint::Part,
    image::{ImageList, ImagePath, ImageRegister, ImageShow, ImageUpdate, ImageView},
    tenancy::{
        ProjectCreate, ProjectCreateBody, ProjectList, ProjectPath, ProjectShow, ProjectUpdate, ProjectView,
        TenantCreate, TenantCreateBody, TenantList, TenantPath, TenantShow, TenantUpdate, TenantView,
    },
};
use model::{
    RegionId, TenantId,
    image::ImageSpec,
    number::{GpuCap, GpuCount, MemoryMibPerGpu, PriceMicrosPerGpuHour, VcpusPerGpu},
    sku::CapacityShape,
    supply::GpuModel,
    tenancy::{Desired, State},
    text::{DisplayName, Slug},
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use super::file::Wanted;
use crate::{
    failure::Failure,
    ordered::Ordered,
    output,
    session::{Session, Versioned},
};

/// Fields in the order of the contract.
pub type Fields = Vec<(String, Ordered)>;

/// The ids of what others refer to by slug.
#[derive(Debug, Default)]
pub struct Known {
    regions: BTreeMap<Slug, RegionId>,
    tenants: BTreeMap<Slug, TenantId>,
}

/// What must exist before something else can.
#[derive(Debug, PartialEq, Eq)]
pub struct Need {
    /// The field of the file that says so.
    pub field: &'static str,
    /// Its kind.
    pub noun: &'static str,
    /// Its name.
    pub name: String,
}

type PathOf<E> = <E as Endpoint>::Path;

/// The path and the body of a request.
pub type Request<E> = (<E as Endpoint>::Path, <E as Endpoint>::Body);

/// One kind of object.
pub trait Kind: Serialize + Sized {
    /// The word for one of them.
    const NOUN: &'static str;
    /// Fields that are settled when a thing is created.
    const FIXED: &'static [&'static str];
    /// A thing as the API shows it.
    type View: Part + Versioned;
    /// Creates one.
    type Create: Endpoint<Query = Nothing, Answer = Self::View>;
    /// Changes one.
    type Update: Endpoint<Query = Nothing, Answer = Self::View>;
    /// Shows one.
    type Show: Endpoint<Path = PathOf<Self::Update>, Query = Nothing, Body = Nothing, Answer = Self::View>;

    /// What people call it; unique in its kind.
    fn name(&self) -> String;
    /// What it cannot exist without.
    fn need(&self) -> Option<Need> {
        None
    }
    /// Reads what there is of this kind, as far as it can matter to these wishes.
    async fn existing(session: &Session, known: &Known, wanted: &[Wanted<Self>]) -> Result<Vec<Self::View>, Failure>;
    /// Whether this view is of the thing that is wanted.
    fn is(&self, view: &Self::View, known: &Known) -> bool;
    /// The id of a thing.
    fn id(view: &Self::View) -> &str;
    /// What others that need it call it.
    fn reference(view: &Self::View) -> &str;
    /// Where a thing is.
    fn at(view: &Self::View) -> Result<PathOf<Self::Update>, Failure>;
    /// Its end: what wants it, and what has become of it. Most things just disappear.
    fn end(_: &Self::View) -> Option<(Desired, State)> {
        None
    }
    /// The request that creates it; `None` while what it needs is not there.
    fn create(&self, known: &Known) -> Option<Request<Self::Create>>;
    /// Remembers what others will ask for.
    fn learn(_: &Self::View, _: &mut Known) {}
    /// The fields of a view in the words of the file.
    fn shown(view: &Self::View, _: &Known) -> Result<Fields, Failure> {
        fields(view)
    }
    /// The fields that are wanted.
    fn declared(&self) -> Result<Fields, Failure> {
        fields(self)
    }
}

fn fields(value: &(impl Serialize + ?Sized)) -> Result<Fields, Failure> {
    match output::ordered(&value)? {
        Ordered::Object(fields) => Ok(fields),
        other => Err(Failure::Local(format!("expected an object, not {other:?}"))),
    }
}

/// A region that is wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    #[serde(skip_serializing)]
    slug: Slug,
    pub name: DisplayName,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
}

impl Kind for Region {
    const NOUN: &'static str = "region";
    const FIXED: &'static [&'static str] = &[];
    type View = RegionView;
    type Create = RegionCreate;
    type Update = RegionUpdate;
    type Show = RegionShow;

    fn name(&self) -> String {
        self.slug.to_string()
    }
    async fn existing(session: &Session, _: &Known, _: &[Wanted<Self>]) -> Result<Vec<RegionView>, Failure> {
        session.list::<RegionList, _>(Nothing {}).await
    }
    fn is(&self, view: &RegionView, _: &Known) -> bool {
        self.slug == view.slug
    }
    fn id(view: &RegionView) -> &str {
        view.id.as_str()
    }
    fn reference(view: &RegionView) -> &str {
        view.slug.as_str()
    }
    fn at(view: &RegionView) -> Result<RegionPath, Failure> {
        Ok(RegionPath { region_id: view.id.clone() })
    }
    fn create(&self, _: &Known) -> Option<Request<Self::Create>> {
        let (slug, name, enabled) = (self.slug.clone(), self.name.clone(), self.enabled.unwrap_or(true));
        Some((Nothing {}, RegionCreateBody { slug, name, enabled }))
    }
    fn learn(view: &RegionView, known: &mut Known) {
        known.regions.insert(view.slug.clone(), view.id.clone());
    }
}

/// A pool that is wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    #[serde(skip_serializing)]
    slug: Slug,
    name: DisplayName,
    region: Slug,
    gpu_model: GpuModel,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    slices_enabled: Option<bool>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    private_range: Option<Cidr>,
}

impl Kind for Pool {
    const NOUN: &'static str = "pool";
    const FIXED: &'static [&'static str] = &["region", "gpu_model"];
    type View = PoolView;
    type Create = PoolCreate;
    type Update = PoolUpdate;
    type Show = PoolShow;

    fn name(&self) -> String {
        self.slug.to_string()
    }
    fn need(&self) -> Option<Need> {
        Some(Need { field: "region", noun: Region::NOUN, name: self.region.to_string() })
    }
    async fn existing(session: &Session, _: &Known, _: &[Wanted<Self>]) -> Result<Vec<PoolView>, Failure> {
        session.list::<PoolList, _>(Nothing {}).await
    }
    fn is(&self, view: &PoolView, _: &Known) -> bool {
        self.slug == view.slug
    }
    fn id(view: &PoolView) -> &str {
        view.id.as_str()
    }
    fn reference(view: &PoolView) -> &str {
        view.slug.as_str()
    }
    fn at(view: &PoolView) -> Result<PoolPath, Failure> {
        Ok(PoolPath { pool_id: view.id.clone() })
    }
    fn create(&self, known: &Known) -> Option<Request<Self::Create>> {
        let region_id = known.regions.get(&self.region)?.clone();
        let (slug, name, gpu_model) = (self.slug.clone(), self.name.clone(), self.gpu_model);
        let slices_enabled = self.slices_enabled.unwrap_or(false);
        let private_range = self.private_range;
        Some((Nothing {}, PoolCreateBody { region_id, slug, name, gpu_model, slices_enabled, private_range }))
    }
    fn shown(view: &PoolView, known: &Known) -> Result<Fields, Failure> {
        let mut shown = fields(view)?;
        let region = known.regions.iter().find(|(_, id)| **id == view.region_id);
        let name = region.map_or(view.region_id.to_string(), |(slug, _)| slug.to_string());
        shown.push(("region".to_owned(), Ordered::Text(name)));
        Ok(shown)
    }
}

/// A SKU that is wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sku {
    #[serde(skip_serializing)]
    slug: Slug,
    name: DisplayName,
    shape: CapacityShape,
    gpu_model: GpuModel,
    #[serde(deserialize_with = "super::file::counts")]
    pub gpu_counts: Vec<GpuCount>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    profile: Option<Slug>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    vcpus_per_gpu: Option<VcpusPerGpu>,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    memory_mib_per_gpu: Option<MemoryMibPerGpu>,
    price_micros_per_gpu_hour: PriceMicrosPerGpuHour,
    #[serde(default, deserialize_with = "api::endpoint::not_null", skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
}

impl Kind for Sku {
    const NOUN: &'static str = "sku";
    const FIXED: &'static [&'static str] =
        &["shape", "gpu_model", "gpu_counts", "profile", "vcpus_per_gpu", "memory_mib_per_gpu"];
    type View = SkuView;
    type Create = SkuCreate;
    type Update = SkuUpdate;
    type Show = SkuShow;

    fn name(&self) -> String {
        self.slug.to_string()
    }
    async fn existing(session: &Session, _: &Known, _: &[Wanted<Self>]) -> Result<Vec<SkuView>, Failure> {
        session.list::<SkuList, _>(Nothing {}).await
    }
    fn is(&self, view: &SkuView, _: &Known) -> bool {
        self.slug == view.slug
    }
    fn id(view: &SkuView) -> &str {
        view.id.as_str()
    }
    fn reference(view: &SkuView) -> &str {
        view.slug.as_str()
    }
    fn at(view: &SkuView) -> Result<SkuPath, Failure> {
        Ok(SkuPath { sku_id: view.id.clone() })
    }
    fn create(&self, _: &Known) -> Option<Request<Self::Create>> {
        let Self { slug, name, gpu_counts, profile, .. } = self.clone();
        let (shape, gpu_model, vcpus_per_gpu) = (self.shape, self.gpu_model, self.vcpus_per_gpu);
        let (memory_mib_per_gpu, price_micros_per_gpu_hour) = (self.memory_mib_per_gpu, self.price_micros_per_gpu_hour);
        let body = SkuCreateBody {
            slug,
            name,
            shape,
            gpu_model,
            gpu_counts,
            profile,
            vcpus_per_gpu,
            memory_mib_per_gpu,
            price_micros_per_gpu_hour,
        };
        Some((Nothing {}, body))
    }
}

/// An image that is wanted: its signed entry, as `gpuaas image sign` writes it. Its bytes are brought by `gpuaas image upload`; a
/// file like this one holds none.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Image(ImageSpec);

impl Kind for Image {
    const NOUN: &'static str = "image";
    // What is signed is what it is; another entry is another image.
    const FIXED: &'static [&'static str] = &[
        "sha256",
        "size_bytes",
        "format",
        "virtual_size_bytes",
        "minimum_disk_bytes",
        "kind",
        "signer_key_id",
        "signature",
    ];
    type View = ImageView;
    type Create = ImageRegister;
    type Update = ImageUpdate;
    type Show = ImageShow;

    fn name(&self) -> String {
        self.0.id.clone()
    }
    async fn existing(session: &Session, _: &Known, _: &[Wanted<Self>]) -> Result<Vec<ImageView>, Failure> {
        session.list::<ImageList, _>(Nothing {}).await
    }
    fn is(&self, view: &ImageView, _: &Known) -> bool {
        self.0.id == view.id
    }
    fn id(view: &ImageView) -> &str {
        &view.id
    }
    fn reference(view: &ImageView) -> &str {
        &view.id
    }
    fn at(view: &ImageView) -> Result<ImagePath, Failure> {
        let image_id = view.id.parse().map_err(|error| Failure::Local(format!("image {}: {error}", view.id)))?;
        Ok(ImagePath { image_id })
    }
    fn create(&self, _: &Known) -> Option<Request<Self::Create>> {
        Some((Nothing {}, self.0.clone()))
    }
    fn shown(view: &ImageView, _: &Known) -> Result<Fields, Failure> {
        fields(&view.entry)
    }
    fn declared(&self) -> Result<Fields, Failure> {
        let mut declared = fields(self)?;
        declared.retain(|(name, _)| name != "id");
        Ok(declared)
    }
}

/// A tenant that is wanted.
#[derive(Debug, Clone, Serialize)]
pub struct Tenant {
    #[serde(skip_serializing)]
    pub slug: Slug,
    pub name: DisplayName,
}

impl Kind for Tenant {
    const NOUN: &'static str = "tenant";
    const FIXED: &'static [&'static str] = &[];
    type View = TenantView;
    type Create = TenantCreate;
    type Update = TenantUpdate;
    type Show = TenantShow;

    fn name(&self) -> String {
        self.slug.to_string()
    }
    async fn existing(session: &Session, _: &Known, _: &[Wanted<Self>]) -> Result<Vec<TenantView>, Failure> {
        session.list::<TenantList, _>(Nothing {}).await
    }
    fn is(&self, view: &TenantView, _: &Known) -> bool {
        self.slug == view.slug
    }
    fn id(view: &TenantView) -> &str {
        view.id.as_str()
    }
    fn reference(view: &TenantView) -> &str {
        view.slug.as_str()
    }
    fn at(view: &TenantView) -> Result<TenantPath, Failure> {
        Ok(TenantPath { tenant_id: view.id.clone() })
    }
    fn end(view: &TenantView) -> Option<(Desired, State)> {
        Some((view.desired, view.execution))
    }
    fn create(&self, _: &Known) -> Option<Request<Self::Create>> {
        Some((Nothing {}, TenantCreateBody { slug: self.slug.clone(), name: self.name.clone() }))
    }
    fn learn(view: &TenantView, known: &mut Known) {
        known.tenants.insert(view.slug.clone(), view.id.clone());
    }
}

/// A project that is wanted.
#[derive(Debug, Clone, Serialize)]
pub struct Project {
    #[serde(skip_serializing)]
    pub tenant: Slug,
    #[serde(skip_serializing)]
    pub slug: Slug,
    pub name: DisplayName,
    pub gpu_cap: GpuCap,
}

impl Kind for Project {
    const NOUN: &'static str = "project";
    const FIXED: &'static [&'static str] = &[];
    type View = ProjectView;
    type Create = ProjectCreate;
    type Update = ProjectUpdate;
    type Show = ProjectShow;

    fn name(&self) -> String {
        format!("{}/{}", self.tenant, self.slug)
    }
    fn need(&self) -> Option<Need> {
        Some(Need { field: "tenant", noun: Tenant::NOUN, name: self.tenant.to_string() })
    }
    async fn existing(session: &Session, known: &Known, wanted: &[Wanted<Self>]) -> Result<Vec<ProjectView>, Failure> {
        let owners: BTreeSet<&Slug> = wanted.iter().map(|wanted| &wanted.wish.tenant).collect();
        let mut all = Vec::new();
        for tenant_id in owners.into_iter().filter_map(|owner| known.tenants.get(owner)) {
            all.extend(session.list::<ProjectList, _>(TenantPath { tenant_id: tenant_id.clone() }).await?);
        }
        Ok(all)
    }
    fn is(&self, view: &ProjectView, known: &Known) -> bool {
        self.slug == view.slug && known.tenants.get(&self.tenant) == Some(&view.tenant_id)
    }
    fn id(view: &ProjectView) -> &str {
        view.id.as_str()
    }
    fn reference(view: &ProjectView) -> &str {
        view.slug.as_str()
    }
    fn at(view: &ProjectView) -> Result<ProjectPath, Failure> {
        Ok(ProjectPath { project_id: view.id.clone() })
    }
    fn end(view: &ProjectView) -> Option<(Desired, State)> {
        Some((view.desired, view.execution))
    }
    fn create(&self, known: &Known) -> Option<Request<Self::Create>> {
        let tenant_id = known.tenants.get(&self.tenant)?.clone();
        let (slug, name, gpu_cap) = (self.slug.clone(), self.name.clone(), self.gpu_cap);
        Some((TenantPath { tenant_id }, ProjectCreateBody { slug, name, gpu_cap }))
    }
}
