//! Check of edited arguments against their request's own schema.
//!
//! The schema is the agent's: one that is broken, or would keep the console busy, proves nothing and must not block a
//! narrower edit.

use countersign_wire::{ApprovalRequest, pointer};
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::schema_cost::is_affordable;
use crate::Fault;
use crate::domain::facts::Misfit;

/// Misfits that are listed at once.
const MISFITS: usize = 20;

/// Where arguments differ from what a tool's schema allows, the first 20 places.
#[must_use]
pub fn misfits(schema: &Value, args: &Value) -> Vec<Misfit> {
    if !is_affordable(schema, args) {
        return Vec::new();
    }
    let Ok(validator) = jsonschema::validator_for(schema) else {
        return Vec::new();
    };
    first_misfits(&validator, args)
}

/// The first places that a schema does not allow.
pub(super) fn first_misfits(validator: &jsonschema::Validator, value: &Value) -> Vec<Misfit> {
    let errors = validator.iter_errors(value).take(MISFITS);
    errors
        .map(|error| Misfit {
            place: place(&error),
            why: error.masked().to_string(),
        })
        .collect()
}

/// Where an error is; of something that is missing, where it would be.
fn place(error: &ValidationError<'_>) -> String {
    let mut place = error.instance_path().to_string();
    if let ValidationErrorKind::Required { property } = error.kind()
        && let Some(name) = property.as_str()
    {
        place.push('/');
        place.push_str(&pointer::step(name));
    }
    place
}

/// Holds an edit against the schema in its request, where there is one.
///
/// # Errors
/// `ErrorCode::InvalidArgs` naming the first place that does not fit.
pub(super) fn checked(raw: &[u8], edited: Option<&Value>) -> Result<(), Fault> {
    let request = serde_json::from_slice::<ApprovalRequest>(raw).map_err(|_| {
        Fault::invalid_args("the request cannot be read any more; deny it, or let it expire")
    })?;
    let schema = request.tool.and_then(|tool| tool.args_schema);
    let (Some(schema), Some(edited)) = (schema, edited) else {
        return Ok(());
    };
    let Some(Misfit { place, why }) = misfits(&schema, edited).into_iter().next() else {
        return Ok(());
    };
    let place = match place.as_str() {
        "" => "the edit as a whole",
        place => place,
    };
    let why = format!("{place} does not fit the tool's schema: {why}");
    Err(Fault::invalid_args(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(schema: &Value) -> Vec<u8> {
        let request = json!({
            "v": 1, "request_id": "r", "kind": "tool_call", "workspace": "w", "agent": {"name": "a"},
            "risk": "low", "allowed_verdicts": ["modify"], "requested_at": "2026-11-21T12:00:00.000Z",
            "tool": {"name": "t", "args_schema": schema},
            "args": {}, "args_digest": countersign_wire::args_digest(&json!({})).unwrap().to_string(),
        });
        serde_json::to_vec(&request).unwrap()
    }

    #[test]
    fn an_edit_is_such_as_the_tools_schema_allows_and_no_value_is_told() {
        let schema =
            json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        let raw = request(&schema);
        checked(&raw, Some(&json!({"n": 1}))).unwrap();
        for (bad, place) in [
            (json!({"n": "hidden"}), "/n does not fit"),
            (json!({}), "/n does not fit"),
            (json!("hidden"), "the edit as a whole does not fit"),
        ] {
            let refused = checked(&raw, Some(&bad)).unwrap_err();
            assert_eq!(refused.code, countersign_wire::ErrorCode::InvalidArgs);
            let refused = refused.to_string();
            assert!(refused.contains(place), "{refused}");
            assert!(!refused.contains("hidden"), "{refused}");
        }
    }

    #[test]
    fn a_schema_that_is_broken_or_never_ends_blocks_no_edit() {
        for schema in [json!({"type": 7}), json!({"$ref": "#"})] {
            checked(&request(&schema), Some(&json!({"n": 1}))).unwrap();
        }
    }
}
