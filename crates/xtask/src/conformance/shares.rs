//! Players of the cases about dividing: fair shares by quota and weight, shares shifted by past use, shares between a minimum
//! and a maximum, and weighted factors.

use super::Played;
use super::read::{entries, fixed, items, micro, number, text};
use govern::amount::Amount;
use govern::division::{Claim, Rule, divide, divide_surplus, multifactor};
use govern::yarn::fair;
use serde_json::{Map, Value, json};

// GPUs can be asked for in parts; processors and memory are in their smallest unit already.
const WHOLE: i64 = 1_000_000;

fn amount(value: Option<i64>) -> Amount {
    match value {
        Some(-1_000_000) | None => Amount::UNLIMITED,
        Some(units) => Amount::new(units),
    }
}

fn claims(case: &Value) -> Result<Vec<(String, Claim, Amount)>, String> {
    let mut rows = vec![];
    for (name, queue) in entries(case, "queues") {
        let usage = queue.get("usage").and_then(|usage| fixed(usage, 9)).unwrap_or(0);
        let claim = Claim {
            quota: amount(micro(queue, "quota").or(Some(0))),
            weight: micro(queue, "weight").map_or(0, |weight| weight.unsigned_abs()),
            request: amount(micro(queue, "request").or(Some(0))),
            limit: amount(micro(queue, "limit")),
            priority: number(queue, "priority").and_then(|number| i32::try_from(number).ok()).unwrap_or(100),
            rank: number(queue, "created").unwrap_or(0).unsigned_abs(),
            usage_ppb: usage.unsigned_abs(),
        };
        rows.push((name.clone(), claim, Amount::new(micro(queue, "fair_share0").unwrap_or(0))));
    }
    rows.sort_by(|left, right| (left.1.rank, &left.0).cmp(&(right.1.rank, &right.0)));
    rows.iter_mut().zip(0..).for_each(|(row, rank)| row.1.rank = rank);
    if rows.is_empty() { Err("no queues".to_owned()) } else { Ok(rows) }
}

// Millionths as the file writes numbers: whole ones without a point.
fn shown(micro: i64) -> Value {
    if micro % WHOLE == 0 {
        return json!(micro / WHOLE);
    }
    let text = format!("{}.{:06}", micro / WHOLE, micro % WHOLE);
    serde_json::from_str(text.trim_end_matches('0')).unwrap_or_default()
}

/// The division of one resource.
pub fn kai_fair_share(case: &Value) -> Result<Played, String> {
    let rows = claims(case)?;
    let total = Amount::new(micro(case, "total").ok_or("no total")?);
    let factor = case.get("k_value").and_then(|value| fixed(value, 3)).unwrap_or(0);
    let rule = Rule { whole: WHOLE, usage_factor_milli: factor.unsigned_abs() };
    let claims: Vec<Claim> = rows.iter().map(|row| row.1).collect();
    let divided = if text(case, "phase") == Some("over_quota_only") {
        divide_surplus(total, rule, &claims, rows.iter().map(|row| row.2).collect())
    } else {
        divide(total, rule, &claims)
    };
    let shares: Map<String, Value> =
        rows.iter().zip(&divided.shares).map(|(row, share)| (row.0.clone(), shown(share.units()))).collect();
    let want = case.get("expected").cloned().unwrap_or_default();
    let mut got = json!({ "fair_share": shares });
    if want.get("remaining").is_some() {
        got["remaining"] = shown(divided.rest.units());
    }
    Ok(Played { want: plain(&want), got })
}

// 2.0 and 2 are the same number.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(name, value)| (name.clone(), plain(value))).collect(),
        Value::Array(list) => list.iter().map(plain).collect(),
        Value::Number(_) => fixed(value, 6).map_or_else(|| value.clone(), shown),
        other => other.clone(),
    }
}

/// The portions of a surplus when past use counts: a surplus of a million is divided, so the shares are the portions in
/// millionths.
pub fn kai_time_based_share(case: &Value) -> Result<Played, String> {
    let rows = claims(case)?;
    let factor = case.get("k_value").and_then(|value| fixed(value, 3)).unwrap_or(0);
    let rule = Rule { whole: 1, usage_factor_milli: factor.unsigned_abs() };
    let claims: Vec<Claim> =
        rows.iter().map(|row| Claim { request: Amount::UNLIMITED, priority: 0, ..row.1 }).collect();
    let divided = divide_surplus(Amount::new(WHOLE), rule, &claims, vec![Amount::ZERO; claims.len()]);
    let shares: Map<String, Value> =
        rows.iter().zip(&divided.shares).map(|(row, share)| (row.0.clone(), shown(share.units()))).collect();
    let want = case.get("expected").and_then(|expected| expected.get("normalised")).cloned().unwrap_or_default();
    Ok(Played { want: plain(&want), got: Value::Object(shares) })
}

/// Shares by weight between a minimum and a maximum.
pub fn yarn_fair_shares(case: &Value) -> Result<Played, String> {
    let takers: Vec<fair::Taker> = items(case, "schedulables")
        .iter()
        .map(|row| fair::Taker {
            min: number(row, "min").unwrap_or(0),
            max: number(row, "max").unwrap_or(i64::MAX),
            weight_micro: micro(row, "weight").map_or(1_000_000, |weight| weight.max(0).unsigned_abs()),
            active: row.get("active").and_then(Value::as_bool).unwrap_or(true),
        })
        .collect();
    let shares = fair::shares(number(case, "total").ok_or("no total")?, &takers);
    let want = case.get("expected").and_then(|expected| expected.get("shares")).cloned().unwrap_or_default();
    Ok(Played { want, got: json!(shares) })
}

/// Bills: amounts in thousandths times weights in thousandths are millionths.
pub fn slurm_tres_billing(case: &Value) -> Result<Played, String> {
    let milli = |value: &Value| fixed(value, 3).unwrap_or(0).unsigned_abs();
    let how = match text(case, "mode") {
        Some("max") => multifactor::Billing::Largest,
        _ => multifactor::Billing::Sum,
    };
    let bill = |job: &Value| {
        let parts = entries(case, "weights").map(|(name, weight)| (job.get(name).map_or(0, milli), milli(weight)));
        shown(i64::try_from(multifactor::bill(how, parts)).unwrap_or(i64::MAX))
    };
    let jobs = items(case, "jobs");
    let want: Vec<Value> = jobs
        .iter()
        .map(|job| job.get("expected_sum").or_else(|| job.get("expected")).map_or(Value::Null, plain))
        .collect();
    Ok(Played { want: json!(want), got: jobs.iter().map(bill).collect() })
}

/// Weighted factors, against the largest and as they are.
pub fn slurm_normalised_factor(case: &Value) -> Result<Played, String> {
    let weight = number(case, "weight").ok_or("no weight")?.unsigned_abs();
    let values: Vec<(String, u64)> = entries(case, "partitions")
        .map(|(name, value)| (name.clone(), fixed(value, 0).unwrap_or(0).unsigned_abs()))
        .collect();
    let largest = values.iter().map(|(_, value)| *value).max().unwrap_or(0);
    let table = |part: &dyn Fn(u64) -> u64| -> Map<String, Value> {
        values.iter().map(|(name, value)| (name.clone(), json!(part(*value)))).collect()
    };
    let got = json!({
        "normalised": table(&|value| multifactor::normalised(value, largest, weight)),
        "raw_flag": table(&|value| multifactor::raw(value, weight)),
    });
    Ok(Played { want: case.get("expected").cloned().unwrap_or_default(), got })
}
