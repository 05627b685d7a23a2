//! Manifests of Kubernetes as they are in files: several documents, or lists of objects. What comes in is bounded in the same
//! way as every other file, and only fields that are asked for are ever looked at; the others can be named afterwards.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::super::apply::file::options;

/// One object.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// All of it.
    pub body: Value,
}

/// The objects of a text.
pub fn read(text: &str) -> Result<Vec<Manifest>, String> {
    let is_json = text.trim_start().starts_with('{');
    let documents: Vec<Value> = match is_json.then(|| serde_json::from_str(text)) {
        Some(Ok(document)) => vec![document],
        _ => serde_saphyr::from_multiple_with_options(text, options()).map_err(|error| error.to_string())?,
    };
    let mut all = Vec::new();
    for (number, document) in documents.into_iter().enumerate() {
        let listed = document["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
        match (listed, document) {
            (_, Value::Null) => {}
            (true, Value::Object(mut list)) => {
                let items = list.remove("items").unwrap_or_default();
                let Value::Array(items) = items else { return Err(at(number, "items", "a list")) };
                for item in items {
                    all.push(manifest(number, item)?);
                }
            }
            (_, document) => all.push(manifest(number, document)?),
        }
    }
    Ok(all)
}

fn at(number: usize, field: &str, expected: &str) -> String {
    format!("document {}: {field}: expected {expected}", number + 1)
}

fn manifest(number: usize, body: Value) -> Result<Manifest, String> {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let kind = text("/kind").ok_or_else(|| at(number, "kind", "the kind of a Kubernetes object"))?;
    let name = text("/metadata/name").ok_or_else(|| at(number, "metadata.name", "the name of the object"))?;
    Ok(Manifest { kind, name, body })
}

/// Takes an object apart, field by field, and remembers what was taken.
#[derive(Debug)]
pub struct Fields {
    left: BTreeMap<String, Value>,
}

impl Fields {
    /// Every leaf of an object by its path: `spec.resourceGroups[0].flavors[1].name`. Empty objects and lists are leaves.
    pub fn of(body: &Value) -> Self {
        let mut left = BTreeMap::new();
        leaves(String::new(), body, &mut left);
        Self { left }
    }

    /// Takes one leaf.
    pub fn take(&mut self, path: &str) -> Option<Value> {
        self.left.remove(path)
    }

    /// Takes a text.
    pub fn take_text(&mut self, path: &str) -> Option<String> {
        match self.left.get(path) {
            Some(Value::String(_)) => self.take(path).and_then(|value| value.as_str().map(str::to_owned)),
            _ => None,
        }
    }

    /// How many entries a list has of which something is left.
    pub fn entries(&self, list: &str) -> usize {
        let prefix = format!("{list}[");
        let numbers = self.left.keys().filter_map(|path| path.strip_prefix(&prefix)?.split_once(']')?.0.parse().ok());
        numbers.map(|number: usize| number + 1).max().unwrap_or(0)
    }

    /// The names of the fields of an object of which something is left, with their leaves.
    pub fn under(&self, object: &str) -> Vec<(String, Value)> {
        let prefix = format!("{object}.");
        let inside = self.left.iter().filter_map(|(path, value)| Some((path.strip_prefix(&prefix)?, value)));
        inside.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    /// Takes everything below a path.
    pub fn take_under(&mut self, path: &str) {
        let (dot, bracket) = (format!("{path}."), format!("{path}["));
        self.left.retain(|it, _| it != path && !it.starts_with(&dot) && !it.starts_with(&bracket));
    }

    /// Takes everything.
    pub fn take_all(&mut self) {
        self.left.clear();
    }

    /// Whether a field is there, or something below it.
    pub fn has(&self, path: &str) -> bool {
        let (dot, bracket) = (format!("{path}."), format!("{path}["));
        self.left.keys().any(|it| it == path || it.starts_with(&dot) || it.starts_with(&bracket))
    }

    /// What nobody took.
    pub fn left(self) -> Vec<(String, Value)> {
        self.left.into_iter().collect()
    }
}

fn leaves(path: String, value: &Value, all: &mut BTreeMap<String, Value>) {
    let inside = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) if !Map::is_empty(fields) => {
            fields.iter().for_each(|(name, value)| leaves(inside(name), value, all));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(at, value)| leaves(format!("{path}[{at}]"), value, all));
        }
        leaf => drop(all.insert(path, leaf.clone())),
    }
}
