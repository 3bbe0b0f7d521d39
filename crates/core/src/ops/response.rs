//! Whether an answer fits what was asked (protocol, section 3).

use countersign_wire::{ApprovalRequest, RequestKind, Response};
use serde_json::Value;

use crate::error::OpError;

/// Checks an answer against the question's options or the form's schema.
///
/// # Errors
/// [`OpError::InvalidArgs`] naming the place that does not fit.
pub(crate) fn check(raw: &[u8], response: Option<&Response>) -> Result<(), OpError> {
    let invalid = |why: String| OpError::InvalidArgs(why);
    let response = response.ok_or_else(|| invalid("respond needs an answer".to_owned()))?;
    let Ok(request) = serde_json::from_slice::<ApprovalRequest>(raw) else {
        return Err(invalid("the request cannot be read".to_owned()));
    };
    match (request.kind, request.question, request.response_schema) {
        (RequestKind::Question, Some(question), _) => {
            let options = question.options.unwrap_or_default();
            if let Some(key) = &response.selected_key
                && !options
                    .iter()
                    .any(|option| option.key.as_deref() == Some(key.as_str()))
            {
                return Err(invalid(
                    "the chosen option is not one of the question's".to_owned(),
                ));
            }
            // Without options there is nothing but free words.
            let freeform = question.allow_freeform.unwrap_or(options.is_empty());
            if response.selected_key.is_none()
                && !freeform
                && !names_option(&options, &response.content)
            {
                return Err(invalid(
                    "this question takes one of its options only".to_owned(),
                ));
            }
            Ok(())
        }
        (RequestKind::Form, _, Some(schema)) => {
            let schema = jsonschema::validator_for(&schema).map_err(|_| {
                invalid("the form's schema is not valid; deny the request".to_owned())
            })?;
            let error = schema.iter_errors(&response.content).next();
            error.map_or(Ok(()), |error| {
                let place = error.instance_path().to_string();
                let place = if place.is_empty() {
                    "the answer".to_owned()
                } else {
                    place
                };
                Err(invalid(format!(
                    "{place} does not fit the form: {}",
                    error.kind().keyword()
                )))
            })
        }
        _ => Ok(()),
    }
}

fn names_option(options: &[countersign_wire::QuestionOption], content: &Value) -> bool {
    content.as_str().is_some_and(|text| {
        options
            .iter()
            .any(|option| option.key.as_deref() == Some(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(kind: &str, extra: Value) -> Vec<u8> {
        let mut request = json!({
            "v": 1, "request_id": "r", "kind": kind, "workspace": "w", "agent": {"name": "a"},
            "risk": "low", "allowed_verdicts": ["respond"], "requested_at": "2026-11-21T12:00:00.000Z",
        });
        for (name, value) in extra.as_object().unwrap() {
            request[name] = value.clone();
        }
        serde_json::to_vec(&request).unwrap()
    }

    fn answer(content: Value, selected: Option<&str>) -> Response {
        Response {
            content,
            selected_key: selected.map(str::to_owned),
        }
    }

    #[test]
    fn a_question_takes_its_options_and_free_words_only_where_it_says_so() {
        let options = json!({"text": "Go?", "options": [{"key": "y", "label": "Yes"}]});
        let closed = request("question", json!({ "question": options }));
        assert!(check(&closed, Some(&answer(json!("Yes"), Some("y")))).is_ok());
        assert!(check(&closed, Some(&answer(json!("No"), Some("n")))).is_err());
        assert!(check(&closed, Some(&answer(json!("whatever"), None))).is_err());
        let open = request("question", json!({"question": {"text": "Why?"}}));
        assert!(check(&open, Some(&answer(json!("because"), None))).is_ok());
        assert!(check(&open, None).is_err());
    }

    #[test]
    fn a_form_takes_what_its_schema_allows() {
        let schema =
            json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        let form = request("form", json!({ "response_schema": schema }));
        assert!(check(&form, Some(&answer(json!({"n": 1}), None))).is_ok());
        for bad in [json!({}), json!({"n": "1"}), json!(null)] {
            let refused = check(&form, Some(&answer(bad, None))).unwrap_err();
            assert_eq!(refused.code(), countersign_wire::ErrorCode::InvalidArgs);
        }
    }
}
