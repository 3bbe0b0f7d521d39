//! Check that an answer fits what was asked (protocol, section 3).

use countersign_wire::{ApprovalRequest, RequestKind, Response};
use serde_json::Value;

use super::edited::first_misfits;
use super::schema_cost::is_affordable;
use crate::Fault;
use crate::domain::facts::Misfit;

/// Where an answer differs from what a form's schema asks for, formats included, the first 20 places.
pub fn misfits(schema: &Value, content: &Value) -> Result<Vec<Misfit>, Fault> {
    if !is_affordable(schema, content) {
        return Err(Fault::invalid_args(
            "the answer cannot be checked against the form: it takes too long, or the schema has a reference other than `#` or `#/…`; deny the request".to_owned(),
        ));
    }
    // In JSON Schema a format is only a remark by default. A form that asks for an address means one.
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .map_err(|_| {
            Fault::invalid_args("the form's schema is not valid; deny the request".to_owned())
        })?;
    Ok(first_misfits(&validator, content))
}

/// The answer, where it fits the question's options or the form's schema. An option without a key is chosen by its
/// label as the content; what else is written chooses none.
///
/// # Errors
/// `ErrorCode::InvalidArgs` naming the place that does not fit.
pub(crate) fn fitted(raw: &[u8], response: Option<Response>) -> Result<Response, Fault> {
    let invalid = |why: String| Fault::invalid_args(why);
    let response = response.ok_or_else(|| invalid("respond needs an answer".to_owned()))?;
    let Ok(request) = serde_json::from_slice::<ApprovalRequest>(raw) else {
        return Err(invalid(
            "the request cannot be read any more; deny it, or let it expire".to_owned(),
        ));
    };
    match (request.kind, request.question, request.response_schema) {
        (RequestKind::Question, Some(question), _) => {
            let options = question.options.unwrap_or_default();
            let chosen = match &response.selected_key {
                Some(key) => {
                    let mut keys = options.iter().filter_map(|option| option.key.as_ref());
                    if !keys.any(|known| known == key) {
                        return Err(invalid(
                            "the chosen option is not one of the question's".to_owned(),
                        ));
                    }
                    true
                }
                None => {
                    let mut labels = options
                        .iter()
                        .filter(|option| option.key.is_none())
                        .filter_map(|option| option.label.as_deref());
                    let content = response.content.as_str();
                    labels.any(|label| Some(label) == content)
                }
            };
            // Without options there is nothing but free words.
            let freeform = question.allow_freeform.unwrap_or(options.is_empty());
            if !chosen && !freeform {
                return Err(invalid(
                    "this question takes one of its options only".to_owned(),
                ));
            }
            Ok(response)
        }
        (RequestKind::Form, _, Some(schema)) => {
            if let Some(Misfit { place, why }) = misfits(&schema, &response.content)?.first() {
                let place = match place.as_str() {
                    "" => "the answer",
                    place => place,
                };
                return Err(invalid(format!("{place} does not fit the form: {why}")));
            }
            Ok(response)
        }
        _ => Ok(response),
    }
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
        let chosen = answer(json!("Yes"), Some("y"));
        assert_eq!(fitted(&closed, Some(chosen.clone())).unwrap(), chosen);
        assert!(fitted(&closed, Some(answer(json!("No"), Some("n")))).is_err());
        assert!(fitted(&closed, Some(answer(json!("whatever"), None))).is_err());
        let open = request("question", json!({"question": {"text": "Why?"}}));
        let words = answer(json!("because"), None);
        assert_eq!(fitted(&open, Some(words.clone())).unwrap(), words);
        assert!(fitted(&open, None).is_err());
    }

    #[test]
    fn words_choose_no_option_by_its_key_and_one_without_a_key_by_its_label() {
        let options = json!([{"key": "1", "label": "Keep"}, {"key": "2", "label": "1"}, {"label": "Neither"}]);
        for (words, freeform, fits) in [
            ("1", true, true),
            ("1", false, false),
            ("Keep", false, false),
            ("Neither", false, true),
            ("Neither", true, true),
            ("neither", false, false),
        ] {
            let question = json!({"text": "Go?", "options": options, "allow_freeform": freeform});
            let question = request("question", json!({ "question": question }));
            let words = answer(json!(words), None);
            let reported = fitted(&question, Some(words.clone())).ok();
            assert_eq!(reported, fits.then_some(words), "{freeform}");
        }
    }

    #[test]
    fn a_form_takes_what_its_schema_allows() {
        let schema =
            json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        let form = request("form", json!({ "response_schema": schema }));
        assert!(fitted(&form, Some(answer(json!({"n": 1}), None))).is_ok());
        for bad in [json!({}), json!({"n": "1"}), json!(null)] {
            let refused = fitted(&form, Some(answer(bad, None))).unwrap_err();
            assert_eq!(refused.code, countersign_wire::ErrorCode::InvalidArgs);
        }
        let wrong = fitted(&form, Some(answer(json!({"n": "secret"}), None))).unwrap_err();
        let wrong = wrong.to_string();
        assert!(
            wrong.contains("/n does not fit the form: value is not of type"),
            "{wrong}"
        );
    }

    #[test]
    fn a_form_takes_a_text_in_the_format_that_it_asks_for() {
        for (format, good, bad) in [
            ("email", "ana@example.com", "ana at example.com"),
            ("uri", "https://example.com/a?b=c", "example.com/a b"),
            ("date", "2026-02-28", "2026-02-30"),
            ("date", "2024-02-29", "29.02.2024"),
            ("date-time", "2026-11-25T23:00:00Z", "2026-11-25 23:00"),
            ("time", "23:00:00Z", "25:00:00Z"),
            ("ipv4", "192.0.2.7", "192.0.2.256"),
            ("hostname", "db.example.com", "-db.example.com"),
        ] {
            let field = json!({"type": "string", "format": format});
            let schema = json!({"type": "object", "properties": {"x": field}});
            for dialect in [None, Some("http://json-schema.org/draft-07/schema#")] {
                let mut schema = schema.clone();
                if let Some(dialect) = dialect {
                    schema["$schema"] = json!(dialect);
                }
                let form = request("form", json!({ "response_schema": schema }));
                assert!(
                    fitted(&form, Some(answer(json!({"x": good}), None))).is_ok(),
                    "{format}"
                );
                let refused = fitted(&form, Some(answer(json!({"x": bad}), None))).unwrap_err();
                let refused = refused.to_string();
                assert!(
                    refused.contains("/x does not fit the form"),
                    "{format}: {refused}"
                );
                assert!(
                    refused.contains(format) && !refused.contains(bad),
                    "{refused}"
                );
            }
        }
        // Drafts before 2019-09 do not know it.
        let uuid = json!({"type": "string", "format": "uuid"});
        assert_eq!(misfits(&uuid, &json!("9f1c2e34")).unwrap().len(), 1);
        let unknown = json!({"type": "string", "format": "shoe-size"});
        assert_eq!(misfits(&unknown, &json!("42")).unwrap(), Vec::new());
    }

    #[test]
    fn a_form_that_would_be_checked_for_ever_is_refused_at_once() {
        let doubled = |at: usize| {
            let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
            (format!("d{at}"), json!({ "allOf": [next, next] }))
        };
        let mut defs: serde_json::Map<String, Value> = (0..40).map(doubled).collect();
        defs.insert("d40".to_owned(), json!({}));
        let schema = json!({ "$defs": defs, "$ref": "#/$defs/d0" });
        let form = request("form", json!({ "response_schema": schema }));
        let refused = fitted(&form, Some(answer(json!("words"), None))).unwrap_err();
        assert!(refused.to_string().contains("too long"), "{refused}");
    }
}
