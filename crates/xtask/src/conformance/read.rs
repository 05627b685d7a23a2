//! Reads fields of a case. What a case leaves out is what its scheduler would take as a default. Fractions are read as whole
//! numbers of a smaller unit, from their decimal text, so that nothing is lost on the way.

use govern::amount::Amount;
use serde_json::Value;

/// The field, unless it is absent or null.
pub fn maybe<'a>(value: &'a Value, field: &str) -> Option<&'a Value> {
    value.get(field).filter(|found| !found.is_null())
}

/// The field as a list; absent is empty.
pub fn items<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    maybe(value, field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The entries of the field, an object; absent is none.
pub fn entries<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.get(field).and_then(Value::as_object).into_iter().flatten()
}

/// The field as text.
pub fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    maybe(value, field).and_then(Value::as_str)
}

/// A decimal number in units of ten to the minus `places`; digits beyond them are cut off.
pub fn fixed(value: &Value, places: u32) -> Option<i64> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim_matches('"').to_owned(),
        _ => return None,
    };
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits.to_owned(), exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, text) = text.strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest));
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let shift = i32::try_from(places).ok()?.checked_add(exponent)?;
    let digits: String = format!("{whole}{part}");
    let keep = i32::try_from(whole.len()).ok()? + shift;
    let mut number: i64 = 0;
    for at in 0..keep.max(0) {
        let digit = usize::try_from(at).ok().and_then(|at| digits.as_bytes().get(at)).map_or(0, |byte| byte - b'0');
        number = number.checked_mul(10)?.checked_add(i64::from(digit))?;
    }
    Some(if negative { -number } else { number })
}

/// The field as a whole number.
pub fn number(value: &Value, field: &str) -> Option<i64> {
    maybe(value, field).and_then(|found| fixed(found, 0))
}

/// The field in millionths.
pub fn micro(value: &Value, field: &str) -> Option<i64> {
    maybe(value, field).and_then(|found| fixed(found, 6))
}

/// The field as a time, given in seconds and perhaps parts of one, in thousandths of a second.
pub fn moment(value: &Value, field: &str) -> Option<i64> {
    maybe(value, field).and_then(|found| fixed(found, 3))
}

/// The field as an amount. One too large to be told stands for no limit.
pub fn amount(value: &Value, field: &str) -> Option<Amount> {
    let found = maybe(value, field)?;
    found.as_i64().map(Amount::new).or_else(|| found.as_u64().map(|_| Amount::UNLIMITED))
}

/// The field as a yes or no, also as text.
pub fn flag(value: &Value, field: &str) -> Option<bool> {
    match value.get(field)? {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => text.trim_matches('"').parse().ok(),
        _ => None,
    }
}

/// The field as a fact; absent is `otherwise`.
pub fn fact(value: &Value, field: &str, otherwise: bool) -> bool {
    flag(value, field).unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use super::{fixed, moment};
    use serde_json::json;

    #[test]
    fn decimals_are_read_without_loss() {
        let read = |value, places| fixed(&value, places);
        assert_eq!(read(json!(0.7), 6), Some(700_000));
        assert_eq!(read(json!(-1), 6), Some(-1_000_000));
        assert_eq!(read(json!("0.25"), 3), Some(250));
        assert_eq!(read(json!(i64::MAX), 0), Some(i64::MAX));
        assert_eq!(read(json!(1.5), 0), Some(1));
        assert_eq!(read(json!(1e-7), 6), Some(0));
        assert_eq!(read(json!(2.5e10), 0), Some(25_000_000_000));
        assert_eq!(read(json!(null), 0), None);
    }

    #[test]
    fn times_may_have_parts_of_a_second() {
        let read = |time| moment(&json!({ "at": time }), "at");
        assert_eq!(read(json!(-60)), Some(-60_000));
        assert_eq!(read(json!(1.5)), Some(1500));
        assert_eq!(read(json!(-0.25)), Some(-250));
        assert_eq!(read(json!(2.0)), Some(2000));
        assert_eq!(read(json!(null)), None);
    }
}
