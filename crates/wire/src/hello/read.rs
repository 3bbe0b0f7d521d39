//! Reads a hello part by part.
//!
//! A whole hello is rejected only where nothing of it is usable: another agent's name, another version, no JSON. A tool
//! that cannot be read is named by its place and the others are kept.

use crate::pointer::below;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{Credential, Hello, HelloFault, HelloReport, HelloTool, ToolDefinition};
use crate::{
    AgentInfo, AgentKey, Sha256Digest, Subject, canonical_json,
    json::{json_value, scan},
    rejection::{RejectionCode, WireError},
};

const MAX_BYTES: usize = 900 * 1024;
/// Entries of a list that are read.
const LISTED: usize = 1_000;
/// Bytes of a name or an id.
const NAME: usize = 200;
/// At most this many faults are listed one by one.
const REPORTED: usize = 200;

/// Reads a hello as far as it can be read; its name must be that of the subject.
pub fn parse_hello(subject: &str, payload: &[u8]) -> Result<Hello, WireError> {
    read_hello(subject, payload).map(|report| report.hello)
}

/// Reads a hello as far as it can be read and says what cannot; its name must be that of the subject.
pub fn read_hello(subject: &str, payload: &[u8]) -> Result<HelloReport, WireError> {
    let Some(Subject::Hello(key)) = Subject::parse(subject) else {
        let detail = "not the subject of a hello";
        return Err(WireError::new(RejectionCode::BadSubject, detail));
    };
    let doubtful = match scan(payload, MAX_BYTES, &[]) {
        Ok(()) => None,
        Err(error) => match error.code {
            RejectionCode::DuplicateKey
            | RejectionCode::IntegerOutOfRange
            | RejectionCode::NonFiniteNumber
            | RejectionCode::LoneSurrogate => Some(error.detail),
            _ => return Err(error),
        },
    };
    let root: BTreeMap<String, &RawValue> = serde_json::from_slice(payload)
        .map_err(|_| WireError::new(RejectionCode::WrongType, "the hello is not an object"))?;
    let mut reader = Reader::default();
    let mut report = reader.report(&key, &root)?;
    // Of several lists only the last one was read.
    report.tools_unread |= serde_json::from_slice::<OneList<'_>>(payload).is_err();
    if let Some(detail) = doubtful.filter(|_| reader.faults.is_empty()) {
        reader.fault("", detail);
    }
    let more = reader.faults.len().saturating_sub(REPORTED);
    reader.faults.truncate(REPORTED);
    if more > 0 {
        reader.fault("", format!("{more} more faults"));
    }
    report.faults = reader.faults;
    Ok(report)
}

/// Reads the text of a [`ToolDefinition`] again; `None` when no tool can be read from it.
pub fn read_definition(text: &str) -> Option<HelloTool> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    Reader::default().tool("", raw)
}

/// Refuses the name `tools` where it occurs twice.
#[derive(Deserialize)]
struct OneList<'r> {
    #[serde(borrow, default, rename = "tools")]
    _tools: Option<&'r RawValue>,
}

#[derive(Default)]
struct Reader {
    faults: Vec<HelloFault>,
    tools_unread: bool,
}

impl Reader {
    fn fault(&mut self, path: impl Into<String>, what: impl Into<String>) {
        self.faults.push(HelloFault {
            path: path.into(),
            what: what.into(),
        });
    }

    fn report(
        &mut self,
        key: &AgentKey,
        root: &BTreeMap<String, &RawValue>,
    ) -> Result<HelloReport, WireError> {
        match root.get("v").map(|raw| raw.get()) {
            Some("1") => {}
            Some(_) => return Err(WireError::new(RejectionCode::BadVersion, "v is not 1")),
            None => return Err(WireError::new(RejectionCode::MissingField, "v")),
        }
        let agent = self.agent(key, root.get("agent").copied())?;
        let instance_id = self.value("/instance_id", root.get("instance_id").copied());
        let instance_id = instance_id.and_then(|value| self.short("/instance_id", value));
        let one_shot = self.value("/one_shot", root.get("one_shot").copied());
        let one_shot = one_shot.and_then(|value| self.bool("/one_shot", value));
        let (tools, definitions) = self.tools(root.get("tools").copied());
        let setup_schema = self.value("/setup_schema", root.get("setup_schema").copied());
        let setup_schema = setup_schema.filter(|schema| {
            let fits = schema.is_array() || schema.is_object();
            if !fits {
                self.fault("/setup_schema", "neither a list nor a map of fields");
            }
            fits
        });
        let credentials = self.credentials(root.get("credentials").copied());
        let skills = self.value("/skills", root.get("skills").copied());
        Ok(HelloReport {
            hello: Hello {
                v: 1,
                agent,
                instance_id,
                one_shot,
                tools,
                setup_schema,
                credentials,
                skills,
            },
            definitions,
            tools_unread: self.tools_unread,
            faults: Vec::new(),
        })
    }

    fn agent(&mut self, key: &AgentKey, raw: Option<&RawValue>) -> Result<AgentInfo, WireError> {
        let value = raw.map(|raw| json_value(raw.get().as_bytes()));
        let mut fields = match value {
            Some(Some(Value::Object(fields))) => fields,
            Some(_) => {
                let detail = "agent is not an object";
                return Err(WireError::new(RejectionCode::WrongType, detail));
            }
            None => return Err(WireError::new(RejectionCode::MissingField, "agent")),
        };
        if fields.remove("name").as_ref().and_then(Value::as_str) != Some(key.agent.as_ref()) {
            let detail = "agent.name is not that of the subject";
            return Err(WireError::new(RejectionCode::SubjectMismatch, detail));
        }
        let mut text = |name: &str| self.text("/agent", &mut fields, name);
        Ok(AgentInfo {
            name: key.agent.clone(),
            agent_type: text("type"),
            instance_id: text("instance_id"),
            framework: text("framework"),
            framework_version: text("framework_version"),
            parent: text("parent"),
        })
    }

    fn tools(&mut self, raw: Option<&RawValue>) -> (Option<Vec<HelloTool>>, Vec<ToolDefinition>) {
        let reported = self.faults.len();
        let entries = self.list("/tools", raw);
        self.tools_unread = self.faults.len() > reported;
        let Some(entries) = entries else {
            return (None, Vec::new());
        };
        let (mut tools, mut definitions) = (Vec::new(), Vec::<ToolDefinition>::new());
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (place, raw) in entries.into_iter().enumerate() {
            let path = format!("/tools/{place}");
            let Some(tool) = self.tool(&path, raw) else {
                self.tools_unread = true;
                continue;
            };
            if let Some(first) = places.get(&tool.name) {
                let what = format!("the same name as /tools/{first}, which counts");
                self.fault(below(&path, "name"), what);
                let more = definition(place, &tool.name, raw).digest;
                if let Some(current) = definitions.iter_mut().find(|of| of.name == tool.name)
                    && current.digest != more
                {
                    let all = format!("{} {more}", current.digest);
                    current.digest = Sha256Digest::of_bytes(all.as_bytes());
                }
                continue;
            }
            places.insert(tool.name.clone(), place);
            definitions.push(definition(place, &tool.name, raw));
            tools.push(tool);
        }
        (Some(tools), definitions)
    }

    fn tool(&mut self, path: &str, raw: &RawValue) -> Option<HelloTool> {
        let mut fields = self.object(path, raw)?;
        let name = match fields.remove("name") {
            Some(name) => self.short(&below(path, "name"), name)?,
            None => {
                self.fault(below(path, "name"), "missing");
                return None;
            }
        };
        if name.is_empty() {
            self.fault(below(path, "name"), "empty");
            return None;
        }
        let description = self.text(path, &mut fields, "description");
        let risk = self.text(path, &mut fields, "risk");
        let origin = self.text(path, &mut fields, "origin");
        let mut word = |name: &str| {
            let value = fields.remove(name)?;
            self.bool(&below(path, name), value)
        };
        let (strict, gated) = (word("strict"), word("gated"));
        let args_schema = fields
            .remove("args_schema")
            .filter(|value| !value.is_null());
        let args_schema = args_schema.filter(|schema| {
            let fits = schema.is_object() || schema.is_boolean();
            if !fits {
                self.fault(below(path, "args_schema"), "not a JSON Schema");
            }
            fits
        });
        Some(HelloTool {
            name,
            description,
            args_schema,
            risk,
            strict,
            origin,
            gated,
        })
    }

    fn credentials(&mut self, raw: Option<&RawValue>) -> Option<Vec<Credential>> {
        let entries = self.list("/credentials", raw)?;
        let mut credentials = Vec::new();
        for (place, raw) in entries.into_iter().enumerate() {
            let path = format!("/credentials/{place}");
            let Some(mut fields) = self.object(&path, raw) else {
                continue;
            };
            credentials.push(Credential {
                tool_name: self.text(&path, &mut fields, "tool_name"),
                artifact_id: self.text(&path, &mut fields, "artifact_id"),
                status: self.text(&path, &mut fields, "status"),
                missing_keys: self.texts(&path, &mut fields, "missing_keys"),
            });
        }
        Some(credentials)
    }

    /// A value that every reader understands the same, or none and a fault; null is absent.
    fn value(&mut self, path: &str, raw: Option<&RawValue>) -> Option<Value> {
        let raw = raw.filter(|raw| raw.get() != "null")?;
        if let Err(error) = scan(raw.get().as_bytes(), MAX_BYTES, &[]) {
            self.fault(path, error.detail);
        }
        match json_value(raw.get().as_bytes()) {
            Some(value) => Some(value),
            None => {
                if self.faults.last().is_none_or(|fault| fault.path != path) {
                    self.fault(path, "no reader can hold it");
                }
                None
            }
        }
    }

    fn object(&mut self, path: &str, raw: &RawValue) -> Option<Map<String, Value>> {
        match self.value(path, Some(raw)) {
            Some(Value::Object(fields)) => Some(fields),
            Some(_) => {
                self.fault(path, "not an object");
                None
            }
            None => {
                if raw.get() == "null" {
                    self.fault(path, "not an object");
                }
                None
            }
        }
    }

    fn list<'r>(&mut self, path: &str, raw: Option<&'r RawValue>) -> Option<Vec<&'r RawValue>> {
        let raw = raw.filter(|raw| raw.get() != "null")?;
        let Ok(mut entries) = <Vec<&RawValue>>::deserialize(raw) else {
            self.fault(path, "not a list");
            return None;
        };
        if entries.len() > LISTED {
            let what = format!("more than {LISTED} entries; the others are left out");
            self.fault(format!("{path}/{LISTED}"), what);
            entries.truncate(LISTED);
        }
        Some(entries)
    }

    fn bool(&mut self, path: &str, value: Value) -> Option<bool> {
        if !value.is_null() && !value.is_boolean() {
            self.fault(path, "not true or false");
        }
        value.as_bool()
    }

    fn text(&mut self, path: &str, fields: &mut Map<String, Value>, name: &str) -> Option<String> {
        match fields.remove(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => {
                self.fault(below(path, name), "not a string");
                None
            }
        }
    }

    fn texts(
        &mut self,
        path: &str,
        fields: &mut Map<String, Value>,
        name: &str,
    ) -> Option<Vec<String>> {
        let texts = fields.remove(name).filter(|value| !value.is_null())?;
        let texts: Result<Vec<String>, _> = serde_json::from_value(texts);
        if texts.is_err() {
            self.fault(below(path, name), "not a list of strings");
        }
        texts.ok()
    }

    fn short(&mut self, path: &str, value: Value) -> Option<String> {
        match value {
            Value::String(text) if text.len() <= NAME => Some(text),
            Value::String(_) => {
                self.fault(path, format!("longer than {NAME} bytes"));
                None
            }
            _ => {
                self.fault(path, "not a string");
                None
            }
        }
    }
}

fn definition(place: usize, name: &str, raw: &RawValue) -> ToolDefinition {
    let certain = scan(raw.get().as_bytes(), MAX_BYTES, &[])
        .ok()
        .and_then(|()| json_value(raw.get().as_bytes()))
        .and_then(|value| canonical_json(&value).ok());
    let bytes = certain.as_deref().unwrap_or(raw.get()).as_bytes();
    ToolDefinition {
        place,
        name: name.to_owned(),
        digest: Sha256Digest::of_bytes(bytes),
        text: raw.get().to_owned(),
    }
}
