//! Takes the reasons of a case, which are English sentences, apart into a code and numbers, so that structure can be compared
//! with structure. A sentence of a form that is not known here stays whole, and then compares equal to nothing.

use serde_json::{Value, json};

// Kubernetes writes quantities with a suffix; `cpu` is counted in thousandths.
fn units(quantity: &str, resource: &str) -> Option<i64> {
    if quantity == "+Inf" {
        return Some(i64::MAX);
    }
    let digits = quantity.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: i64 = digits.parse().ok()?;
    let scale: i64 = match &quantity[digits.len()..] {
        "" | "m" => 1,
        "k" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    let milli: i64 = if resource == "cpu" && !quantity.ends_with('m') { 1000 } else { 1 };
    number.checked_mul(scale)?.checked_mul(milli)
}

// What stands between two pieces of text, and what follows.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(before)?.split_once(after)
}

fn exceeds(text: &str) -> Option<Value> {
    let (resource, rest) = between(text, "insufficient quota for ", " in flavor ")?;
    let (flavor, rest) = rest.split_once(", previously considered podsets requests (")?;
    let (earlier, rest) = rest.split_once(") + current podset request (")?;
    let (asked, rest) = rest.split_once(") > maximum capacity (")?;
    let capacity = rest.strip_suffix(')')?;
    Some(json!({
        "code": "exceeds_capacity", "flavor": flavor, "resource": resource, "earlier": units(earlier, resource)?,
        "asked": units(asked, resource)?, "capacity": units(capacity, resource)?,
    }))
}

fn insufficient(text: &str) -> Option<Value> {
    let (resource, rest) = between(text, "insufficient unused quota for ", " in flavor ")?;
    let (flavor, rest) = rest.split_once(", ")?;
    let missing = units(rest.strip_suffix(" more needed")?, resource)?;
    Some(json!({ "code": "insufficient", "flavor": flavor, "resource": resource, "missing": missing }))
}

fn taint(text: &str) -> Option<Value> {
    let (taint, flavor) = between(text, "untolerated taint {", "} in flavor ")?;
    let mut words = taint.split(' ');
    let (key, value) = (words.next()?, words.next()?);
    Some(json!({ "code": "taint", "flavor": flavor, "key": key, "value": value }))
}

fn of_flavor(text: &str) -> Option<Value> {
    let bare = text.strip_prefix("flavor ")?;
    if let Some(flavor) = bare.strip_suffix(" doesn't match node affinity") {
        return Some(json!({ "code": "affinity", "flavor": flavor }));
    }
    bare.strip_suffix(" not found").map(|flavor| json!({ "code": "no_such_flavor", "flavor": flavor }))
}

fn topology(text: &str) -> Option<Value> {
    let bare = text.strip_prefix("Flavor \"")?;
    let wanted = bare.strip_suffix("\" does not support TopologyAwareScheduling").map(|flavor| (flavor, true));
    let other = bare.strip_suffix("\" supports only TopologyAwareScheduling").map(|flavor| (flavor, false));
    let (flavor, wanted) = wanted.or(other)?;
    Some(json!({ "code": "topology", "flavor": flavor, "wanted": wanted }))
}

fn not_offered(text: &str) -> Option<Value> {
    let resource = text.strip_prefix("resource ")?.strip_suffix(" unavailable in ClusterQueue")?;
    Some(json!({ "code": "not_offered", "resource": resource }))
}

/// The parts of a sentence.
pub fn parts(text: &str) -> Value {
    let known = [exceeds, insufficient, taint, of_flavor, topology, not_offered];
    known.iter().find_map(|form| form(text)).unwrap_or_else(|| json!({ "unknown": text }))
}

#[cfg(test)]
mod tests {
    use super::{parts, units};
    use serde_json::json;

    #[test]
    fn quantities_are_read_in_the_units_of_the_cases() {
        assert_eq!(units("3", "cpu"), Some(3000));
        assert_eq!(units("500m", "cpu"), Some(500));
        assert_eq!(units("10Mi", "memory"), Some(10 << 20));
        assert_eq!(units("3", "pods"), Some(3));
        assert_eq!(units("3x", "pods"), None);
    }

    #[test]
    fn a_sentence_that_is_not_known_stays_whole() {
        assert_eq!(parts("no idea"), json!({ "unknown": "no idea" }));
        assert_eq!(
            parts("untolerated taint {instance spot NoSchedule <nil>} in flavor tainted"),
            json!({ "code": "taint", "flavor": "tainted", "key": "instance", "value": "spot" })
        );
    }
}
