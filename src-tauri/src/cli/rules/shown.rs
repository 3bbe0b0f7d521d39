//! Rules as a file, for a person to look at.

use countersign_core::policy::Rule;
use countersign_wire::ErrorCode;
use serde_json::{Value, json};

use crate::cli::failure::Failure;
use crate::cli::output::plain;

/// The lines of a rule file; text of agents is escaped, so that a hidden character shows as its number.
pub(super) fn toml_of(rules: &[Rule]) -> Result<String, Failure> {
    let list: Vec<Value> = rules
        .iter()
        .map(|rule| {
            let mut whole = rule.to_json();
            if let Some(map) = whole.as_object_mut() {
                map.remove("version");
                map.remove("since");
            }
            whole
        })
        .collect();
    let file = toml::to_string(&json!({ "schema": 1, "rule": list })).map_err(|error| {
        Failure::new(
            ErrorCode::Failed,
            format!("the rules cannot be shown: {error}"),
        )
    })?;
    let lines: Vec<String> = file.lines().map(plain).collect();
    Ok(lines.join("\n"))
}
