//! Amounts.

use serde_json::{Number, Value, json};

/// An amount as a number, also of a text with points or commas.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.replace(',', "").parse().ok(),
        _ => None,
    }
}

/// Ten times as much, written the same way.
pub(super) fn times_10(was: &Value) -> Option<Value> {
    match was {
        Value::Number(number) => times_10_of(number),
        Value::String(text) => {
            let amount = number(was)? * 10.0;
            let decimals = text.rsplit_once('.').map_or(0, |(_, after)| after.len());
            (amount != 0.0).then(|| json!(format!("{amount:.decimals$}")))
        }
        _ => None,
    }
}

fn times_10_of(number: &Number) -> Option<Value> {
    if let Some(whole) = number.as_i64() {
        return whole.checked_mul(10).filter(|of| *of != 0).map(Value::from);
    }
    let amount = number.as_f64()?;
    // To a hundred thousandth: 1234.56 becomes 12345.6, not 12345.599999999999.
    let times = (amount * 1_000_000.0).round() / 100_000.0;
    (times != 0.0).then(|| json!(times))
}
