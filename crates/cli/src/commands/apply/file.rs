//! The file that `apply` reads: YAML, one document or several, or JSON. Everything in it is typed and closed, so a misspelt
//! field is refused and not ignored, and a refusal names the place. The file may come from anywhere: its size, depth, number
//! of nodes and what its aliases unfold to are all bounded.

use model::{
    governance::{Cohort, Flavor, HardwareProfile, PriorityClass, Topology},
    number::{GpuCap, GpuCount},
    text::{DisplayName, Slug},
};
use serde::{Deserialize, Deserializer, de};
use std::{collections::BTreeMap, io::Read, path::Path};

use super::governance::{GovernanceFile, LocalQueueEntry, QueueEntry};
use super::kinds::{Image, Kind, Pool, Project, Region, Sku, Tenant};
use crate::failure::Failure;

/// Bytes of a file at most.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What one document may describe. A new kind of object is one more list here.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    regions: Vec<Region>,
    #[serde(default)]
    pools: Vec<Pool>,
    #[serde(default)]
    skus: Vec<Sku>,
    #[serde(default)]
    images: Vec<Image>,
    #[serde(default)]
    tenants: Vec<TenantEntry>,
    #[serde(default)]
    topologies: Vec<Topology>,
    #[serde(default)]
    flavors: Vec<Flavor>,
    #[serde(default)]
    priority_classes: Vec<PriorityClass>,
    #[serde(default)]
    cohorts: Vec<Cohort>,
    #[serde(default)]
    cluster_queues: Vec<QueueEntry>,
    #[serde(default)]
    local_queues: Vec<LocalQueueEntry>,
    #[serde(default)]
    hardware_profiles: Vec<HardwareProfile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantEntry {
    slug: Slug,
    name: DisplayName,
    #[serde(default)]
    projects: Vec<ProjectEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectEntry {
    slug: Slug,
    name: DisplayName,
    gpu_cap: GpuCap,
}

/// Something that is wanted, and where the file says so.
#[derive(Debug)]
pub struct Wanted<K> {
    /// Such as `tenants[0].projects[1]`.
    pub place: String,
    /// What is wanted.
    pub wish: K,
}

/// Everything that a file describes, in the order it is applied in.
#[derive(Debug, Default)]
pub struct Described {
    /// Regions.
    pub regions: Vec<Wanted<Region>>,
    /// Pools.
    pub pools: Vec<Wanted<Pool>>,
    /// SKUs.
    pub skus: Vec<Wanted<Sku>>,
    /// Entries of images.
    pub images: Vec<Wanted<Image>>,
    /// Tenants.
    pub tenants: Vec<Wanted<Tenant>>,
    /// Projects of those tenants.
    pub projects: Vec<Wanted<Project>>,
    /// Governance, which is applied as a whole.
    pub governance: GovernanceFile,
}

/// Reads a file, or standard input for `-`.
pub fn read(file: &str) -> Result<Described, Failure> {
    let text = text(file)?;
    let named_json = Path::new(file).extension().is_some_and(|ending| ending == "json");
    described(&text, named_json).map_err(|why| Failure::Usage(format!("{file}: {why}")))
}

/// The text of a file, or of standard input for `-`, if it is not too much.
pub fn text(file: &str) -> Result<String, Failure> {
    let cannot = |error: std::io::Error| Failure::Local(format!("cannot read {file}: {error}"));
    let mut bytes = Vec::new();
    let limit = FILE_BYTES_MAX + 1;
    match file {
        "-" => std::io::stdin().lock().take(limit).read_to_end(&mut bytes),
        path => std::fs::File::open(path).map_err(cannot)?.take(limit).read_to_end(&mut bytes),
    }
    .map_err(cannot)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > FILE_BYTES_MAX) {
        return Err(Failure::Usage(format!("{file} is larger than {FILE_BYTES_MAX} bytes; split it")));
    }
    String::from_utf8(bytes).map_err(|_| Failure::Usage(format!("{file} is not UTF-8 text")))
}

/// What a text describes.
fn described(text: &str, is_json: bool) -> Result<Described, String> {
    let documents = documents(text, is_json)?;
    let several = documents.len() > 1;
    let mut all = Described::default();
    for (number, document) in documents.into_iter().enumerate() {
        let prefix = if several { format!("document {}: ", number + 1) } else { String::new() };
        all.add(&prefix, document);
    }
    distinct(&all.regions)?;
    distinct(&all.pools)?;
    distinct(&all.skus)?;
    distinct(&all.images)?;
    distinct(&all.tenants)?;
    distinct(&all.projects)?;
    if all.is_empty() { Err("nothing is described".to_owned()) } else { Ok(all) }
}

impl Described {
    fn add(&mut self, prefix: &str, document: Document) {
        let Document { regions, pools, skus, images, tenants, .. } = document;
        self.governance.extend(GovernanceFile {
            topologies: document.topologies,
            flavors: document.flavors,
            priority_classes: document.priority_classes,
            cohorts: document.cohorts,
            cluster_queues: document.cluster_queues,
            local_queues: document.local_queues,
            hardware_profiles: document.hardware_profiles,
        });
        placed(&mut self.regions, &format!("{prefix}regions"), regions);
        placed(&mut self.pools, &format!("{prefix}pools"), pools);
        placed(&mut self.skus, &format!("{prefix}skus"), skus);
        placed(&mut self.images, &format!("{prefix}images"), images);
        for (index, TenantEntry { slug, name, projects }) in tenants.into_iter().enumerate() {
            let place = format!("{prefix}tenants[{index}]");
            let owned = projects.into_iter().map(|ProjectEntry { slug: project, name, gpu_cap }| Project {
                tenant: slug.clone(),
                slug: project,
                name,
                gpu_cap,
            });
            placed(&mut self.projects, &format!("{place}.projects"), owned);
            self.tenants.push(Wanted { place, wish: Tenant { slug, name } });
        }
    }

    fn is_empty(&self) -> bool {
        let Self { regions, pools, skus, images, tenants, projects, governance } = self;
        let nothing_to_sell = regions.is_empty() && pools.is_empty() && skus.is_empty() && images.is_empty();
        nothing_to_sell && tenants.is_empty() && projects.is_empty() && governance.is_empty()
    }
}

fn placed<K>(all: &mut Vec<Wanted<K>>, list: &str, wishes: impl IntoIterator<Item = K>) {
    let wanted = |(index, wish)| Wanted { place: format!("{list}[{index}]"), wish };
    all.extend(wishes.into_iter().enumerate().map(wanted));
}

fn distinct<K: Kind>(all: &[Wanted<K>]) -> Result<(), String> {
    let mut seen = BTreeMap::new();
    for wanted in all {
        let name = wanted.wish.name();
        if let Some(first) = seen.get(&name) {
            return Err(format!("{}.slug: {} {name} is described already, at {first}", wanted.place, K::NOUN));
        }
        seen.insert(name, &wanted.place);
    }
    Ok(())
}

fn documents(text: &str, named_json: bool) -> Result<Vec<Document>, String> {
    // JSON is nearly YAML, but not quite: its escapes and tabs are its own.
    let is_json = || text.trim_start().starts_with('{') && serde_json::from_str::<de::IgnoredAny>(text).is_ok();
    if named_json || is_json() {
        return serde_json::from_str(text).map(|Placed(document)| vec![document]).map_err(|e| e.to_string());
    }
    let read: Vec<Placed> = serde_saphyr::from_multiple_with_options(text, options()).map_err(|e| e.to_string())?;
    Ok(read.into_iter().map(|Placed(document)| document).collect())
}

/// Far above what a megabyte of honest YAML needs, and far below what would hurt.
pub fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 16,
            flow_nesting_limit: 16,
            max_documents: 100,
            max_nodes: 100_000,
            max_events: 300_000,
            max_anchors: 1_000,
            max_aliases: 10_000,
            max_merge_keys: 1_000,
            max_recorded_anchor_events: 100_000,
            max_recorded_anchor_bytes: 4 * 1024 * 1024,
            max_total_scalar_bytes: 4 * 1024 * 1024,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 100_000,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: 10_000,
        },
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

/// A document whose refusal begins with the path of the field.
struct Placed(Document);

impl<'de> Deserialize<'de> for Placed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut track = serde_path_to_error::Track::new();
        let read = Document::deserialize(serde_path_to_error::Deserializer::new(deserializer, &mut track));
        read.map(Self).map_err(|error| match track.path().to_string() {
            whole if whole == "." => error,
            path => de::Error::custom(format!("{path}: {error}")),
        })
    }
}

/// 1 to 8 different counts, in the order the platform keeps them in.
pub fn counts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<GpuCount>, D::Error> {
    let mut counts = Vec::<GpuCount>::deserialize(deserializer)?;
    counts.sort_unstable();
    let given = counts.len();
    counts.dedup();
    let fits = (1..=8).contains(&given) && counts.len() == given;
    if fits { Ok(counts) } else { Err(de::Error::custom("expected 1 to 8 different counts")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "
regions:
  - { slug: eu-1, name: Europe }
pools:
  - { slug: a, name: A, region: eu-1, gpu_model: h200-sxm, slices_enabled: true }
skus:
  - slug: s
    name: S
    shape: gpu_slice
    gpu_model: h200-sxm
    gpu_counts: [4, 1, 2]
    vcpus_per_gpu: 8
    memory_mib_per_gpu: 1024
    price_micros_per_gpu_hour: 1
---
tenants:
  - slug: acme
    name: 2026
    projects:
      - { slug: research, name: Research, gpu_cap: 8 }
";

    fn refused(text: &str) -> String {
        described(text, false).map(|all| format!("{all:?}")).expect_err(text)
    }

    #[test]
    fn documents_add_up_and_everything_has_a_place() {
        let all = described(GOOD, false).unwrap();
        assert_eq!(all.regions[0].place, "document 1: regions[0]");
        assert_eq!(all.projects[0].place, "document 2: tenants[0].projects[0]");
        assert_eq!(all.projects[0].wish.name(), "acme/research");
        assert_eq!(all.tenants[0].wish.name.as_str(), "2026", "a name may look like a number");
        assert_eq!(all.skus[0].wish.gpu_counts.iter().map(|n| n.get()).collect::<Vec<_>>(), [1, 2, 4]);
    }

    #[test]
    fn json_is_read_as_json_and_braces_may_also_be_yaml() {
        let json = "{\n\t\"regions\": [{ \"slug\": \"eu-1\", \"name\": \"A \\u00e9\", \"enabled\": false }]\n}";
        assert_eq!(described(json, false).unwrap().regions[0].wish.name.as_str(), "A é");
        assert_eq!(described("{ regions: [{ slug: eu-1, name: Europe }] }", false).unwrap().regions.len(), 1);
        assert!(described("{ regions: [] }", true).is_err(), "a file that is named JSON must be JSON");
        let twice = refused(r#"{"regions":[],"regions":[]}"#);
        assert!(twice.contains("duplicate field `regions`"), "{twice}");
        let wrong = refused(r#"{"regions":[{"slug":"eu-1","name":"E","enabled":"yes"}]}"#);
        assert!(wrong.starts_with("regions[0].enabled: "), "{wrong}");
    }

    #[test]
    fn a_refusal_names_the_field_and_what_would_be_accepted() {
        for (text, place, accepted) in [
            ("regions: [{ slug: eu-1, nam: x }]", "regions[0].nam: ", "unknown field `nam`"),
            ("region: []", "region: ", "expected one of regions, pools, skus, images, tenants, topologies, flavors"),
            ("regions: [{ slug: eu-1 }]", "regions[0]: ", "missing field `name`"),
            ("regions: [{ slug: Eu, name: x }]", "regions[0].slug: ", "1 to 40 lower-case letters"),
            ("regions: [{ slug: eu-1, name: x, enabled: yes }]", "regions[0].enabled: ", "bool"),
            (
                "tenants: [{ slug: a, name: A, projects: [{ slug: p, name: P, gpu_cap: -1 }] }]",
                "tenants[0].projects[0].gpu_cap: ",
                "from 0 to 1000000",
            ),
            ("pools: [{ slug: a, name: A, region: r, gpu_model: h999 }]", "pools[0].gpu_model: ", "h200-sxm"),
            ("tenants: 3", "tenants: ", "sequence"),
        ] {
            let why = refused(text);
            assert!(why.starts_with(place) && why.contains(accepted), "{text}\n{why}");
            assert!(why.contains("line 1"), "{why}");
        }
        let counts = GOOD.replace("[4, 1, 2]", "[2, 2]");
        assert!(refused(&counts).contains("skus[0].gpu_counts: "), "{}", refused(&counts));
        assert_eq!(refused(""), "nothing is described");
        assert_eq!(refused("regions: []"), "nothing is described");
        let twice = refused("regions: [{ slug: a, name: A }]\n---\nregions: [{ slug: a, name: B }]");
        assert_eq!(twice, "document 2: regions[0].slug: region a is described already, at document 1: regions[0]");
        assert!(refused("regions: [{ slug: a, name: A }]\nregions: []").contains("duplicate"));
        assert!(refused("regions: [\n").contains("line "), "{}", refused("regions: [\n"));
    }

    /// Refused because it is too much, not because of what it says.
    fn bounded(text: &str) {
        let why = refused(text);
        assert!(why.contains("limit exceeded") || why.contains("budget breached"), "{why}");
    }

    #[test]
    fn anchors_work_and_bombs_do_not() {
        let shared = "
regions: [{ slug: eu-1, name: &n Europe }, { slug: eu-2, name: *n }]
";
        assert_eq!(described(shared, false).unwrap().regions[1].wish.name.as_str(), "Europe");
        let started = std::time::Instant::now();
        // Every level is ten times the one before; what it would unfold to is never built.
        let mut bomb = "tenants:\n  - &t0 { slug: t, name: T, projects: [] }\n".to_owned();
        let projects = "{ slug: p, name: P, gpu_cap: 1 }, ".repeat(500);
        bomb.push_str(&format!("  - &t1 {{ slug: t, name: T, projects: &p [{projects}] }}\n"));
        bomb.push_str(&"  - *t1\n".repeat(900));
        bounded(&bomb);
        bounded(&format!("regions:\n  - &r {{ slug: a, name: A }}\n{}", "  - *r\n".repeat(12_000)));
        bounded(&format!("regions: {}", "[".repeat(100_000)));
        bounded(&"---\nregions: []\n".repeat(5_000));
        bounded(&format!("regions: [{}]", "{ slug: a, name: A }, ".repeat(40_000)));
        assert!(started.elapsed() < std::time::Duration::from_secs(10));
    }
}
