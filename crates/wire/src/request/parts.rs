//! The objects inside a request (protocol, section 2).
//!
//! It knows the protocol's words only: what the protocol leaves open stays text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{AgentName, Sha256Digest, canonical_json};

macro_rules! part {
    ($(#[$about:meta])* $name:ident {
        $($(#[$field_about:meta])* $field:ident: $type:ty,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)+
        }
    };
}

part! {
    /// Who asks.
    AgentInfo {
        /// The agent's name, as in the subject.
        name: AgentName,
        /// What kind of agent it is.
        #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
        agent_type: Option<String>,
        /// Which of several running copies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instance_id: Option<String>,
        /// The framework it is built with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        framework: Option<String>,
        /// The framework's version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        framework_version: Option<String>,
        /// The agent that started it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<String>,
    }
}

impl AgentInfo {
    /// An agent known only by its name.
    pub fn named(name: AgentName) -> Self {
        Self {
            name,
            agent_type: None,
            instance_id: None,
            framework: None,
            framework_version: None,
            parent: None,
        }
    }
}

part! {
    /// The tool to call.
    Tool {
        /// Its name.
        name: String,
        /// The agent's words about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Where the name is unique.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        /// `local`, `provider_defined`, `hosted`, `mcp` or `marketplace`; other words are kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
        /// `read`, `write`, `irreversible` or `unknown`; other words are kept and read as `irreversible`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effects: Option<String>,
        /// The JSON Schema of the arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "optional_json_schema")]
        args_schema: Option<Value>,
    }
}

impl Tool {
    /// A tool known only by its name.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            namespace: None,
            origin: None,
            effects: None,
            args_schema: None,
        }
    }

    /// Digest of what a call says about its tool beyond the name: the RFC 8785 form of its name, namespace, origin,
    /// description and schema. `None` when that is nothing. Effects are those of the call.
    pub fn definition_digest(&self) -> Option<Sha256Digest> {
        let words = [&self.description, &self.namespace, &self.origin];
        if self.args_schema.is_none() && words.iter().all(|word| word.is_none()) {
            return None;
        }
        if self.args_schema.is_none() {
            return Some(self.digest_without_schema());
        }
        let definition = json!({
            "name": self.name,
            "namespace": self.namespace,
            "origin": self.origin,
            "description": self.description,
            "args_schema": self.args_schema,
        });
        let canonical = canonical_json(&definition).unwrap_or_else(|_| definition.to_string());
        Some(Sha256Digest::of_bytes(canonical.as_bytes()))
    }

    /// Put together by hand, since it is asked of every request: the names are in their order, and a text has one
    /// spelling.
    fn digest_without_schema(&self) -> Sha256Digest {
        let text = |text: Option<&String>| {
            text.map_or_else(
                || "null".to_owned(),
                |text| Value::from(text.as_str()).to_string(),
            )
        };
        let canonical = format!(
            r#"{{"args_schema":null,"description":{},"name":{},"namespace":{},"origin":{}}}"#,
            text(self.description.as_ref()),
            text(Some(&self.name)),
            text(self.namespace.as_ref()),
            text(self.origin.as_ref()),
        );
        Sha256Digest::of_bytes(canonical.as_bytes())
    }
}

part! {
    /// A confirmation that a setup key can give (Flexus NeedsConfirmation).
    Confirm {
        /// The setup key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setup_key: Option<String>,
        /// The command, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// Why, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        explanation: Option<String>,
    }
}

part! {
    /// A question to a person.
    Question {
        /// The question.
        text: String,
        /// What to know before answering.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<String>,
        /// Answers to choose from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        options: Option<Vec<QuestionOption>>,
        /// Whether an answer in own words is welcome.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allow_freeform: Option<bool>,
    }
}

part! {
    /// An answer to choose.
    QuestionOption {
        /// What `selected_key` will say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// What is shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// More about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    }
}

part! {
    /// A skill in use.
    Skill {
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Its version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
        /// Where it was read from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The tools that it may call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowed_tools: Option<Vec<String>>,
    }
}

part! {
    /// A chain of calls.
    Chain {
        /// Its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chain_id: Option<String>,
        /// Which call of the chain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seq: Option<u64>,
        /// The most calls of the chain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_calls: Option<u64>,
    }
}

part! {
    /// Calls raised together.
    Group {
        /// The group's id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Which of the group.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<u64>,
        /// How many there are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    }
}

part! {
    /// The framework's own digest.
    NativeDigest {
        /// The algorithm's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alg: Option<String>,
        /// The digest as the framework writes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    }
}

part! {
    /// What the framework changes after the gate.
    Effective {
        /// Values that it sets whatever the arguments say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fixed: Option<Value>,
        /// Values that it adds where the arguments are silent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        defaults: Option<Value>,
        /// Names of values that it adds without showing them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        injected_names: Option<Vec<String>>,
        /// Names of arguments that it drops.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dropped_names: Option<Vec<String>>,
        /// Values that it turns into another type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        coerced: Option<Value>,
    }
}

part! {
    /// One message of what led here.
    HistoryItem {
        /// Who said it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        /// What was said: text, or parts as the framework has them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Value>,
    }
}

/// Ids of a span, from a W3C `traceparent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// 32 lowercase hexadecimal digits, not all zero.
    pub trace_id: String,
    /// 16 lowercase hexadecimal digits, not all zero.
    pub span_id: String,
}

impl TraceContext {
    /// Reads `traceparent`; `None` when it is malformed, as W3C asks.
    pub fn parse(traceparent: &str) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let (version, trace_id, span_id, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let hex = |text: &str, length| {
            text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let named = |text: &str, length| hex(text, length) && text.bytes().any(|b| b != b'0');
        let known =
            hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        (known && named(trace_id, 32) && named(span_id, 16) && hex(flags, 2)).then(|| Self {
            trace_id: trace_id.to_owned(),
            span_id: span_id.to_owned(),
        })
    }
}

/// The schema of an optional field that holds a JSON Schema.
pub(super) fn optional_json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["object", "boolean", "null"] })
}

/// The fields which one kind of request needs beside those of every request.
pub(super) fn required_by_kind() -> Value {
    let rule = |kind: &str, fields: Value| {
        let names: Vec<_> = fields
            .as_object()
            .into_iter()
            .flat_map(|map| map.keys())
            .collect();
        json!({
            "if": {"required": ["kind"], "properties": {"kind": {"const": kind}}},
            "then": {"required": names, "properties": fields},
        })
    };
    let not_null = json!({"not": {"type": "null"}});
    json!([
        rule(
            "tool_call",
            json!({"tool": not_null, "args": true, "args_digest": not_null})
        ),
        rule("question", json!({"question": not_null})),
        rule("form", json!({"response_schema": not_null})),
    ])
}
