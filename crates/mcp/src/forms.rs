//! Forms that a server wants filled in: `elicitation/create`, or an `input_required` result of revision 2026-07-28.

use countersign_redaction::is_secret_key;
use countersign_sdk::{Decision, DecisionVerdict, GateError};
use serde_json::{Map, Value, json};

use crate::id::Id;
use crate::relay::Running;

/// What a person is asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Form {
    pub(crate) message: String,
    pub(crate) schema: Value,
    /// The tools that run.
    pub(crate) tools: Vec<String>,
}

impl Form {
    /// Who asks, and for which secrets, in words that are not the server's: its names are quoted.
    pub(crate) fn heading(&self, server: &str) -> String {
        let fields = self.schema.get("properties").and_then(Value::as_object);
        let fields = fields.into_iter().flatten();
        let secret = fields.filter(|(name, field)| is_secret_key(name) || field_asks(field));
        let mut secret: Vec<_> = secret.map(|(name, _)| format!("{name:?}")).collect();
        if secret.is_empty() && asks_for_secret(&self.message) {
            secret.push("see its text".to_owned());
        }
        let mut heading = format!("MCP server {server:?} asks, ");
        heading += &match self.tools.is_empty() {
            true => "outside of any call".to_owned(),
            false => format!("during the call of {}", self.tools.join(", ")),
        };
        if !secret.is_empty() {
            heading += &format!(
                ". IT ASKS FOR A SECRET, which the server would get: {}",
                secret.join(", ")
            );
        }
        heading
    }
}

fn asks_for_secret(text: &str) -> bool {
    is_secret_key(text) || text.split_whitespace().any(is_secret_key)
}

fn field_asks(field: &Value) -> bool {
    match field {
        Value::String(text) => asks_for_secret(text),
        Value::Array(items) => items.iter().any(field_asks),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, field)| is_secret_key(name) || field_asks(field)),
        _ => false,
    }
}

/// Who asks for them.
pub(crate) enum Inputs<R> {
    /// A request of the server.
    OfServer(Id, Form),
    /// The result of a call, with the server's names of the forms and its state.
    OfCall(Box<Running<R>>, Vec<(String, Form)>, Option<String>),
}

/// The form in the parameters of an elicitation; none for another mode.
pub(crate) fn form(params: &Value, tools: &[String]) -> Option<Form> {
    let mode = params.get("mode");
    if mode.is_some_and(|mode| mode != "form") {
        return None;
    }
    Some(Form {
        message: params.get("message")?.as_str()?.to_owned(),
        schema: params.get("requestedSchema")?.clone(),
        tools: tools.to_vec(),
    })
}

/// The forms of an `input_required` result; none where it wants something else too.
pub(crate) fn all_forms(result: &Value, tool: &str) -> Option<Vec<(String, Form)>> {
    let requests = result.get("inputRequests")?.as_object()?;
    let form = |(name, request): (&String, &Value)| {
        let elicits = request.get("method")? == "elicitation/create";
        let form = form(request.get("params")?, &[format!("{tool:?}")])?;
        elicits.then(|| (name.clone(), form))
    };
    let forms: Vec<_> = requests.iter().map(form).collect::<Option<_>>()?;
    (!forms.is_empty()).then_some(forms)
}

/// The result of an elicitation.
pub(crate) fn filled(outcome: &Result<Decision, GateError>) -> Value {
    let Ok(decision) = outcome else {
        return json!({"action": "cancel"});
    };
    match (decision.verdict(), decision.response()) {
        (DecisionVerdict::Respond, Some(response)) => {
            json!({"action": "accept", "content": response.content})
        }
        (DecisionVerdict::Deny, _) => json!({"action": "decline"}),
        _ => json!({"action": "cancel"}),
    }
}

/// The call again, with what was filled in.
pub(crate) fn again<R>(
    running: &mut Running<R>,
    responses: Map<String, Value>,
    state: Option<String>,
) {
    let others = &mut running.call.others;
    others.insert("inputResponses".to_owned(), Value::Object(responses));
    match state {
        Some(state) => others.insert("requestState".to_owned(), state.into()),
        None => others.shift_remove("requestState"),
    };
}
