//! The part that all cases from Kueue share: queues, cohorts, flavors and what is used. Names become the small numbers that
//! the engine works with, and the engine's answers become names again.

use super::read::{amount, items, maybe, text};
use govern::{
    amount::Amount,
    share::{Resource, Shares},
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree, Usage},
    weight::Weight,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Queues and cohorts of one case.
pub struct World {
    /// In the order of names.
    pub resources: Vec<String>,
    /// In the order of names.
    pub flavors: Vec<String>,
    /// Flavor and resource of each [`FlavorResource`].
    pub pairs: Vec<(u32, Resource)>,
    /// By [`NodeIx`]: cohorts, then queues.
    pub names: Vec<String>,
    /// Which nodes are queues, by name.
    pub queues: BTreeMap<String, NodeIx>,
    /// What each node has a quota of, its descendants included.
    pub counted: Vec<BTreeSet<FlavorResource>>,
    /// Shape and quotas.
    pub tree: Tree,
    /// Shares in it.
    pub shares: Shares,
}

fn index(names: &[String], name: &str) -> Option<u32> {
    let at = names.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
    u32::try_from(at).ok()
}

// Every flavor and resource that is named anywhere in the case, and the pairs of them that can be counted.
#[derive(Default)]
struct Names {
    resources: BTreeSet<String>,
    flavors: BTreeSet<String>,
    pairs: BTreeSet<(String, String)>,
}

impl Names {
    fn pair(&mut self, flavor: &str, resource: &str) {
        self.flavors.insert(flavor.to_owned());
        self.resources.insert(resource.to_owned());
        self.pairs.insert((flavor.to_owned(), resource.to_owned()));
    }

    fn node(&mut self, node: &Value) {
        for group in items(node, "resourceGroups") {
            let covered: Vec<&str> = items(group, "coveredResources").iter().filter_map(Value::as_str).collect();
            for flavor in items(group, "flavors") {
                let name = text(flavor, "name").unwrap_or("");
                self.flavors.insert(name.to_owned());
                let own = maybe(flavor, "resources").and_then(Value::as_object);
                let own = own.into_iter().flatten().map(|(resource, _)| resource.as_str());
                covered.iter().copied().chain(own).for_each(|resource| self.pair(name, resource));
            }
            self.resources.extend(covered.iter().map(|resource| (*resource).to_owned()));
        }
    }

    // Uses and requests, wherever they stand in the case.
    fn anywhere(&mut self, value: &Value) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.anywhere(value)),
            Value::Object(fields) => {
                if let (Some(flavor), Some(resource)) = (text(value, "flavor"), text(value, "resource")) {
                    self.pair(flavor, resource);
                }
                let requests = fields.get("requests").and_then(Value::as_object);
                self.resources.extend(requests.into_iter().flatten().map(|(resource, _)| resource.clone()));
                fields.iter().filter(|(name, _)| *name != "expected").for_each(|(_, value)| self.anywhere(value));
            }
            _ => {}
        }
    }

    fn of(case: &Value) -> Self {
        let mut names = Self::default();
        items(case, "flavors").iter().filter_map(|flavor| text(flavor, "name")).for_each(|name| {
            names.flavors.insert(name.to_owned());
        });
        items(case, "cohorts").iter().chain(items(case, "clusterQueues")).for_each(|node| names.node(node));
        names.anywhere(case);
        names
    }
}

fn weight(node: &Value) -> Result<Weight, String> {
    match maybe(node, "fairWeight") {
        None => Ok(Weight::ONE),
        Some(Value::Number(number)) => {
            let text = number.to_string();
            Weight::from_decimal(&text).ok_or_else(|| format!("the weight {text} is none"))
        }
        Some(other) => Err(format!("the weight {other} is no number")),
    }
}

impl World {
    /// Reads `cohorts` and `clusterQueues`. A cohort that is only named by others exists, without a quota of its own.
    pub fn read(case: &Value) -> Result<Self, String> {
        let found = Names::of(case);
        let resources: Vec<String> = found.resources.into_iter().collect();
        let flavors: Vec<String> = found.flavors.into_iter().collect();
        let mut pairs = vec![];
        for (flavor, resource) in &found.pairs {
            let both = index(&flavors, flavor).zip(index(&resources, resource));
            let (flavor, resource) = both.ok_or("a pair of no known names")?;
            pairs.push((flavor, Resource(resource)));
        }
        let mut cohorts: BTreeMap<&str, Option<&Value>> = BTreeMap::new();
        for node in items(case, "cohorts") {
            if let Some(parent) = text(node, "parent") {
                cohorts.entry(parent).or_default();
            }
            cohorts.insert(text(node, "name").ok_or("a cohort without a name")?, Some(node));
        }
        for node in items(case, "clusterQueues") {
            if let Some(cohort) = text(node, "cohort") {
                cohorts.entry(cohort).or_default();
            }
        }
        let mut world = Self {
            shares: Shares::build(&Tree::build(&[], 0).map_err(|fault| fault.to_string())?, &[]),
            tree: Tree::build(&[], 0).map_err(|fault| fault.to_string())?,
            names: cohorts.keys().map(|name| (*name).to_owned()).collect(),
            resources,
            flavors,
            pairs,
            queues: BTreeMap::new(),
            counted: vec![],
        };
        let cohort_names = world.names.clone();
        let mut specs = vec![];
        for node in cohorts.values() {
            let parent = node.and_then(|node| text(node, "parent")).and_then(|name| index(&cohort_names, name));
            specs.push(world.spec(*node, parent, false)?);
        }
        for node in items(case, "clusterQueues") {
            let name = text(node, "name").ok_or("a queue without a name")?;
            let at = u32::try_from(specs.len()).map_err(|_| "too many nodes")?;
            world.queues.insert(name.to_owned(), NodeIx(at));
            world.names.push(name.to_owned());
            specs.push(world.spec(
                Some(node),
                text(node, "cohort").and_then(|name| index(&cohort_names, name)),
                true,
            )?);
        }
        let width = u32::try_from(world.pairs.len()).map_err(|_| "too many pairs")?;
        world.tree = Tree::build(&specs, width).map_err(|fault| fault.to_string())?;
        let kinds: Vec<Resource> = world.pairs.iter().map(|(_, resource)| *resource).collect();
        world.shares = Shares::build(&world.tree, &kinds);
        world.counted = specs.iter().map(|spec| spec.quotas.iter().map(|(what, _)| *what).collect()).collect();
        for node in world.tree.nodes() {
            let own = world.counted[node.0 as usize].clone();
            let above: Vec<NodeIx> = world.tree.ancestors(node).collect();
            above.iter().for_each(|above| world.counted[above.0 as usize].extend(&own));
        }
        Ok(world)
    }

    fn spec(&self, node: Option<&Value>, parent: Option<u32>, is_queue: bool) -> Result<NodeSpec, String> {
        let mut spec = NodeSpec { parent, is_queue, ..NodeSpec::default() };
        let Some(node) = node else { return Ok(spec) };
        spec.weight = weight(node)?;
        for group in items(node, "resourceGroups") {
            for flavor in items(group, "flavors") {
                let name = text(flavor, "name").unwrap_or("");
                for (resource, quota) in maybe(flavor, "resources").and_then(Value::as_object).into_iter().flatten() {
                    let quota = Quota {
                        nominal: amount(quota, "nominal").unwrap_or(Amount::ZERO),
                        borrowing_limit: amount(quota, "borrowingLimit"),
                        lending_limit: amount(quota, "lendingLimit"),
                    };
                    spec.quotas.push((self.pair(name, resource)?, quota));
                }
            }
        }
        Ok(spec)
    }

    /// The number of a flavor and resource.
    pub fn pair(&self, flavor: &str, resource: &str) -> Result<FlavorResource, String> {
        let known = || {
            let wanted = (index(&self.flavors, flavor)?, Resource(index(&self.resources, resource)?));
            let at = self.pairs.iter().position(|pair| *pair == wanted)?;
            u32::try_from(at).ok().map(FlavorResource)
        };
        known().ok_or_else(|| format!("nothing counts {resource} in {flavor}"))
    }

    /// The number of a resource.
    pub fn resource(&self, name: &str) -> Option<Resource> {
        index(&self.resources, name).map(Resource)
    }

    /// The number of a flavor.
    pub fn flavor(&self, name: &str) -> Option<u32> {
        index(&self.flavors, name)
    }

    /// The name of a resource.
    pub fn resource_name(&self, resource: Resource) -> &str {
        self.resources.get(resource.0 as usize).map_or("", String::as_str)
    }

    /// The name of a flavor.
    pub fn flavor_name(&self, flavor: u32) -> &str {
        self.flavors.get(flavor as usize).map_or("", String::as_str)
    }

    /// Flavor and resource of a pair, by name.
    pub fn pair_names(&self, what: FlavorResource) -> (&str, &str) {
        self.pairs
            .get(what.0 as usize)
            .map_or(("", ""), |(flavor, resource)| (self.flavor_name(*flavor), self.resource_name(*resource)))
    }

    /// A queue, by name.
    pub fn queue(&self, name: &str) -> Result<NodeIx, String> {
        self.queues.get(name).copied().ok_or_else(|| format!("no queue {name}"))
    }

    /// A list of `{flavor, resource, amount}`.
    pub fn amounts(&self, list: &[Value]) -> Result<Vec<(FlavorResource, Amount)>, String> {
        let one = |entry: &Value| {
            let (flavor, resource) = (text(entry, "flavor").unwrap_or(""), text(entry, "resource").unwrap_or(""));
            Ok((self.pair(flavor, resource)?, amount(entry, "amount").unwrap_or(Amount::ZERO)))
        };
        list.iter().map(one).collect()
    }

    /// What the field `usage` says is in use.
    pub fn usage(&self, case: &Value) -> Result<Usage, String> {
        let mut usage = self.tree.unused();
        for (queue, list) in maybe(case, "usage").and_then(Value::as_object).into_iter().flatten() {
            let queue = self.queue(queue)?;
            for (what, much) in self.amounts(list.as_array().map_or(&[], Vec::as_slice))? {
                usage.add(&self.tree, queue, what, much);
            }
        }
        Ok(usage)
    }
}
