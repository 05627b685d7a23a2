//! Players of what the quota tree alone answers: what is available in a queue, and the dominant share of a node.

use super::{
    Played,
    read::{items, maybe},
    world::World,
};
use govern::{amount::Amount, tree::NodeIx};
use serde_json::{Map, Value, json};

/// What each queue can still take, and the most that it could ever use.
pub fn availability(case: &Value) -> Result<Played, String> {
    let world = World::read(case)?;
    let usage = world.usage(case)?;
    let table = |of: &dyn Fn(NodeIx, govern::tree::FlavorResource) -> Amount| {
        let rows = world.queues.iter().map(|(name, node)| {
            let cells = world.counted[node.0 as usize].iter().map(|what| {
                let (flavor, resource) = world.pair_names(*what);
                (format!("{flavor} {resource}"), json!(of(*node, *what).units()))
            });
            (name.clone(), Value::Object(cells.collect()))
        });
        Value::Object(rows.collect())
    };
    let got = json!({
        "available": table(&|node, what| world.tree.available(&usage, node, what).or_zero()),
        "potentialAvailable": table(&|node, what| world.tree.potential(node, what)),
    });
    let want = case.get("expected").cloned().unwrap_or_default();
    Ok(Played { want: by_pair(&want), got })
}

// Lists of `{flavor, resource, amount}` as objects, so that their order does not matter.
fn by_pair(expected: &Value) -> Value {
    let cells = |list: &Value| -> Map<String, Value> {
        let entries = list.as_array().into_iter().flatten();
        let word = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).unwrap_or("").to_owned();
        let cell = |entry: &Value| {
            let name = format!("{} {}", word(entry, "flavor"), word(entry, "resource"));
            (name, entry.get("amount").cloned().unwrap_or_default())
        };
        entries.map(cell).collect()
    };
    let rows = |table: &Value| -> Map<String, Value> {
        let rows = table.as_object().into_iter().flatten();
        rows.map(|(name, list)| (name.clone(), Value::Object(cells(list)))).collect()
    };
    let tables = expected.as_object().into_iter().flatten();
    Value::Object(tables.map(|(name, table)| (name.clone(), Value::Object(rows(table)))).collect())
}

/// The dominant share of every queue and cohort, with the extra request on top where a node counts such a thing.
pub fn dominant_resource_share(case: &Value) -> Result<Played, String> {
    let world = World::read(case)?;
    let usage = world.usage(case)?;
    let extra = world.amounts(items(case, "extraRequest"))?;
    let mut got = Map::new();
    for node in world.tree.nodes() {
        let counted = &world.counted[node.0 as usize];
        let more: Vec<_> = extra.iter().copied().filter(|(what, _)| counted.contains(what)).collect();
        let share = world.shares.with(&world.tree, &usage, node, &more);
        let dominant = share.dominant().map_or("", |resource| world.resource_name(resource));
        let row = json!({
            "weightedShareCeil": share.per_mille_ceil(),
            "dominantResource": dominant,
            "borrowing": share.borrows(),
        });
        got.insert(world.names[node.0 as usize].clone(), row);
    }
    Ok(Played { want: maybe(case, "expected").cloned().unwrap_or_default(), got: Value::Object(got) })
}
