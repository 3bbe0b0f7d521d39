//! `bridge commonground register`: a tool's YAML, with the gate in front of it (systems, 5.8).

use std::time::Duration;

use serde_yaml_ng::{Mapping, Value};

use crate::api;
use crate::config::{Config, GuardedTool, RESERVED, bad_target};
use crate::error::BridgeError;

/// The guarded tool's YAML. `suspend` raises the time that CommonGround waits.
pub fn register(
    config: &Config,
    project: &str,
    yaml: &str,
    suspend: Option<Duration>,
) -> Result<String, BridgeError> {
    let bad = |why: String| BridgeError::Tool(why);
    let project = config
        .project(project)
        .ok_or_else(|| BridgeError::NotFound(format!("no project {project:?} is configured")))?;
    let mut tool: Mapping = serde_yaml_ng::from_str(yaml)
        .map_err(|error| bad(format!("not a YAML mapping: {error}")))?;
    let text = |key: &str| tool.get(key).and_then(Value::as_str);
    let name = text("tool_name").or_else(|| text("name"));
    let name = name.ok_or_else(|| bad("it names no tool (tool_name)".to_owned()))?;
    if RESERVED.contains(&name) {
        return Err(bad(format!(
            "CommonGround keeps the name {name:?} for itself"
        )));
    }
    let target =
        text("target_subject").ok_or_else(|| bad("it has no target_subject".to_owned()))?;
    if let Some(why) = bad_target(target) {
        return Err(bad(format!("target_subject {target:?}: {why}")));
    }
    if text("after_execution").is_some_and(|word| !matches!(word, "suspend" | "terminate"))
        || (text("after_execution").is_none() && tool.contains_key("after_execution"))
    {
        return Err(bad("after_execution is suspend or terminate".to_owned()));
    }
    check_parameters(tool.get("parameters")).map_err(bad)?;
    check_envs(tool.get("options")).map_err(bad)?;
    let guarded = project.tools.iter().find(|of| of.name == name);
    let guarded = guarded.ok_or_else(|| {
        BridgeError::NotFound(format!(
            "no [[project.tool]] of project {:?} is called {name:?}",
            project.id
        ))
    })?;
    if target != guarded.forward_to {
        return Err(bad(format!(
            "its target_subject {target:?} is not the configured forward_to {:?}",
            guarded.forward_to
        )));
    }
    let gate = format!(
        "cg.v1r4.{{project_id}}.{{channel_id}}.cmd.tool.approval.{}",
        guarded.gate
    );
    tool.insert("target_subject".into(), gate.into());
    raise_timeout(&mut tool, guarded, suspend);
    serde_yaml_ng::to_string(&tool).map_err(|error| bad(error.to_string()))
}

/// Posts the YAML to CommonGround and wants 201.
pub async fn push(config: &Config, project: &str, yaml: String) -> Result<(), BridgeError> {
    let project = config
        .project(project)
        .ok_or_else(|| BridgeError::NotFound(format!("no project {project:?} is configured")))?;
    let unreachable = |why: String| BridgeError::Unreachable {
        what: format!("the API of project {}", project.id),
        why,
    };
    let file = reqwest::multipart::Part::text(yaml).file_name("tool.yaml");
    let form = reqwest::multipart::Form::new().part("file", file);
    let url = format!("{}/projects/{}/tools", project.api_url, project.id);
    let mut request = api::client().post(url).multipart(form);
    if let Some(token) = project.token() {
        request = request.bearer_auth(token);
    }
    let answer = request
        .send()
        .await
        .map_err(|error| unreachable(error.without_url().to_string()))?;
    match answer.status() {
        reqwest::StatusCode::CREATED => Ok(()),
        other => Err(unreachable(format!("it answered {other}, not 201"))),
    }
}

fn check_parameters(parameters: Option<&Value>) -> Result<(), String> {
    let Some(parameters) = parameters else {
        return Ok(());
    };
    let is_object = parameters.as_mapping().is_some()
        && parameters.get("type").and_then(Value::as_str) == Some("object");
    if !is_object {
        return Err("parameters are a JSON Schema of type object".to_owned());
    }
    match has_bare_array(parameters) {
        true => Err("an array in parameters has no items".to_owned()),
        false => Ok(()),
    }
}

fn has_bare_array(schema: &Value) -> bool {
    match schema {
        Value::Mapping(map) => {
            let bare = schema.get("type").and_then(Value::as_str) == Some("array")
                && !map.contains_key("items");
            bare || map.values().any(has_bare_array)
        }
        Value::Sequence(parts) => parts.iter().any(has_bare_array),
        _ => false,
    }
}

fn check_envs(options: Option<&Value>) -> Result<(), String> {
    let Some(envs) = options.and_then(|options| options.get("envs")) else {
        return Ok(());
    };
    let texts = envs.as_mapping().is_some_and(|map| {
        map.iter()
            .all(|(name, value)| name.is_string() && value.is_string())
    });
    match texts {
        true => Ok(()),
        false => Err("options.envs is a map of texts".to_owned()),
    }
}

fn raise_timeout(tool: &mut Mapping, guarded: &GuardedTool, wanted: Option<Duration>) {
    let own = tool
        .get("options")
        .and_then(|options| options.get("suspend_timeout_seconds"));
    let own = own.and_then(Value::as_u64).unwrap_or(0);
    let wanted = wanted.unwrap_or_default().as_secs();
    let longest = own.max(wanted).max(guarded.suspend.as_secs());
    let options = tool
        .entry("options".into())
        .or_insert_with(|| Value::Mapping(Mapping::new()));
    if let Value::Mapping(options) = options {
        options.insert("suspend_timeout_seconds".into(), longest.into());
    }
}
