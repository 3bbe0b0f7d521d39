//! Words that represent a state.

use countersign_scrutiny::is_production;
use serde_json::Value;

/// The check off: `true` becomes `false`, `no` becomes `yes`.
pub(super) fn off(was: &Value) -> Option<Value> {
    const PAIRS: [[&str; 2]; 5] = [
        ["true", "false"],
        ["yes", "no"],
        ["on", "off"],
        ["enabled", "disabled"],
        ["required", "none"],
    ];
    match was {
        Value::Bool(on) => Some((!on).into()),
        Value::String(word) => PAIRS.iter().find_map(|[one, other]| match word.as_str() {
            word if word == *one => Some((*other).into()),
            word if word == *other => Some((*one).into()),
            _ => None,
        }),
        _ => None,
    }
}

/// Production, where a name of an environment that is not production is a word of the text.
pub(super) fn production(text: &str) -> Option<String> {
    const OTHERS: [&str; 9] = [
        "staging", "stage", "testing", "test", "develop", "dev", "qa", "sandbox", "preprod",
    ];
    if is_production(text) {
        return None;
    }
    let parts: Vec<&str> = text
        .split_inclusive(|at: char| !at.is_alphanumeric())
        .collect();
    let place = parts.iter().position(|part| {
        let word = part.trim_end_matches(|at: char| !at.is_alphanumeric());
        OTHERS.contains(&word)
    })?;
    let part = parts[place];
    let word = part.trim_end_matches(|at: char| !at.is_alphanumeric());
    let short = if word.len() <= 4 {
        "prod"
    } else {
        "production"
    };
    let mut made: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
    made[place] = format!("{short}{}", &part[word.len()..]);
    Some(made.concat()).filter(|made| is_production(made))
}
