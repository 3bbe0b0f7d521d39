//! The error of a span.

use crate::{SpanFault, SpanFaultKind};
use countersign_domain::trace::FaultKind;
use countersign_wire::{Shown, escape, escape_lines};
use serde_json::Value;

use super::glance::code_text;

/// Missing credentials that are listed.
const KEYS: usize = 50;

/// From `error` and, for what frameworks put beside it, the attributes.
pub(super) fn fault(error: &Value, attributes: &Value) -> Option<SpanFault> {
    let said = error.as_object()?;
    let text = |name: &str| said.get(name).and_then(Value::as_str);
    let shown = |name: &str| text(name).map(escape);
    let code = said.get("code").and_then(code_text);
    let missing = said
        .get("missing_keys")
        .or_else(|| attributes.get("missing_keys"))
        .and_then(Value::as_array);
    let missing_keys: Vec<Shown> = missing
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .take(KEYS)
        .map(escape)
        .collect();
    let kind = match FaultKind::of(code.as_deref(), text("type")) {
        FaultKind::Credential => SpanFaultKind::Credential,
        FaultKind::Balance => SpanFaultKind::Balance,
        FaultKind::Tool => SpanFaultKind::Tool,
        FaultKind::ToolTimeout => SpanFaultKind::ToolTimeout,
        // The framework's wrapper may have another name than what it wraps.
        FaultKind::Other if said.contains_key("param_name") => SpanFaultKind::Validation,
        FaultKind::Validation => SpanFaultKind::Validation,
        FaultKind::Other => SpanFaultKind::Other,
    };
    Some(SpanFault {
        kind,
        code: code.as_deref().map(escape),
        error_type: shown("type"),
        message: text("message").map(escape_lines),
        missing_keys,
        tool: shown("tool_name"),
        param: shown("param_name"),
        issue: shown("issue"),
        suggestion: shown("suggestion").filter(|text| !text.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_missing_credential_names_its_keys_wherever_the_framework_put_them() {
        let beside = fault(
            &json!({"code": 428}),
            &json!({"missing_keys": ["STRIPE_KEY", 7]}),
        )
        .unwrap();
        assert_eq!(beside.kind, SpanFaultKind::Credential);
        assert_eq!(beside.missing_keys, [escape("STRIPE_KEY")]);
        let inside = fault(
            &json!({"code": "428", "missing_keys": ["A\u{202e}"]}),
            &Value::Null,
        )
        .unwrap();
        assert_eq!(inside.missing_keys[0].marks(), 1);
        assert_eq!(fault(&Value::Null, &Value::Null), None);
    }

    #[test]
    fn a_validation_error_shows_its_four_fields() {
        let reported = json!({
            "type": "ToolExecutionError", "message": "no", "tool_name": "weather", "param_name": "loction",
            "issue": "Unexpected parameter", "suggestion": "Did you mean 'location'?",
        });
        let fault = fault(&reported, &Value::Null).unwrap();
        assert_eq!(fault.kind, SpanFaultKind::Validation);
        let fields = [fault.tool, fault.param, fault.issue, fault.suggestion];
        let fields = fields.map(|field| field.unwrap().plain());
        assert_eq!(
            fields,
            [
                "weather",
                "loction",
                "Unexpected parameter",
                "Did you mean 'location'?"
            ]
        );
    }
}
