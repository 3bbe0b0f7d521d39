//! Bodies: read as strictly as a request, and turned into what is published.

use std::collections::BTreeMap;

use countersign_sdk::wire::{
    AgentInfo, AgentKey, ApprovalRequest, Chain, Confirm, Credential, Effective, Group, HelloTool,
    HistoryItem, Question, RejectionCode, RequestId, RequestKey, RequestKind, Sha256Digest, Skill,
    Stage, Timestamp, Tool, args_digest, canonical_json, json_value, parse_request,
    read_json_value, request_subject, tool_slug,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::ask::{Ask, Callback, Report, present};
use crate::fault::{self, Fault, bad_value, invalid};
use crate::moment::Moment;
use crate::origins::Origins;

/// As a request names the gateway.
pub(crate) const FRAMEWORK: &str = "http-gateway";
const LONGEST: f64 = 2_592_000.0;
const USUAL: f64 = 300.0;
/// Members that go into the request as they are.
const PASSED_ON: [&str; 20] = [
    "kind",
    "args",
    "args_digest",
    "risk",
    "allowed_verdicts",
    "reason",
    "title",
    "preview",
    "run_id",
    "thread_id",
    "call_id",
    "history",
    "group",
    "skill",
    "chain",
    "confirm",
    "effective",
    "approvals_required",
    "traceparent",
    "metadata",
];
/// Members that mean something to the gateway.
const READ: [&str; 7] = [
    "tool",
    "question",
    "response_schema",
    "native",
    "timeout",
    "reports",
    "callback_url",
];

/// A withdrawal; the body may be absent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WithdrawBody {
    /// Why, for the console.
    pub(crate) reason: Option<String>,
}

/// A claim has no words of its own; the body may be absent.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimBody {}

/// What became of a claimed call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceiptBody {
    /// `executed`, `failed` or `refused`.
    stage: RanStage,
    /// What it ran with.
    #[serde(default, deserialize_with = "present")]
    executed_args: Option<Value>,
    /// The digest of that, where only it is known.
    executed_args_digest: Option<Sha256Digest>,
    /// Why it failed or was refused.
    message: Option<String>,
}

/// What can become of a claimed call.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RanStage {
    Executed,
    Failed,
    Refused,
}

/// What the agent says of itself.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HelloBody {
    /// The tools that it can call.
    pub(crate) tools: Option<Vec<HelloTool>>,
    /// Its setup keys: a list or a map of `bs_*` fields.
    pub(crate) setup_schema: Option<Value>,
    /// The state of its credentials, never their values.
    pub(crate) credentials: Option<Vec<Credential>>,
    /// Its skills, as it describes them.
    pub(crate) skills: Option<Value>,
}

/// What is asked: a tool call with `tool` and `args`, a question with `question`, or a form with `response_schema`.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the schema alone: an ask is read member by member, as the protocol reads a request"
)]
pub(crate) struct AskBody {
    /// `tool_call` unless given.
    kind: Option<RequestKind>,
    /// The tool's name, or more about it.
    tool: Option<NameOr<Tool>>,
    /// The arguments.
    args: Option<Value>,
    /// Checked where it is given.
    args_digest: Option<Sha256Digest>,
    /// The question's text, or more about it.
    question: Option<NameOr<Question>>,
    /// The JSON Schema of a form's answer.
    response_schema: Option<Value>,
    /// `safe`, `low`, `medium`, `high` or `critical`; `high` unless given.
    risk: Option<String>,
    /// Seconds; 300 unless given.
    #[schemars(range(min = 1, max = 2_592_000))]
    timeout: Option<f64>,
    /// The answers that the caller can honour: `approve` and `deny`, or `respond` and `deny`, unless given.
    allowed_verdicts: Option<Vec<String>>,
    reason: Option<String>,
    title: Option<String>,
    preview: Option<String>,
    run_id: Option<String>,
    thread_id: Option<String>,
    call_id: Option<String>,
    history: Option<Vec<HistoryItem>>,
    group: Option<Group>,
    skill: Option<Skill>,
    chain: Option<Chain>,
    confirm: Option<Confirm>,
    effective: Option<Effective>,
    /// How many people must agree.
    #[schemars(range(min = 1, max = 5))]
    approvals_required: Option<u8>,
    traceparent: Option<String>,
    metadata: Option<Map<String, Value>>,
    /// What the framework itself calls things; `gateway` is the gateway's own.
    native: Option<Map<String, Value>>,
    /// Whether a receipt will follow a claim.
    reports: Option<bool>,
    /// Where to send a callback: below an origin of `--callback`.
    callback_url: Option<String>,
}

/// A text, or the protocol's object.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "the schema alone")]
enum NameOr<T> {
    Text(String),
    Object(T),
}

/// Who asks, and what of it is the gateway's to know.
pub(crate) struct Asker<'a> {
    pub(crate) agent: &'a AgentKey,
    pub(crate) realm: Uuid,
    pub(crate) key: Sha256Digest,
    pub(crate) token: Sha256Digest,
    pub(crate) origins: &'a Origins,
    /// The name of this machine.
    pub(crate) host: &'a str,
}

/// Faults of the text itself, whatever its members are.
fn scanned(body: &[u8]) -> Result<(), Fault> {
    match parse_request("", body) {
        Err(rejection) if rejection.code <= RejectionCode::LoneSurrogate => {
            Err(invalid(rejection.code.as_str(), rejection.detail))
        }
        _ => Ok(()),
    }
}

/// A small body. An absent one is an empty object.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Fault> {
    let body = if body.is_empty() { b"{}" } else { body };
    scanned(body)?;
    let value = json_value(body).ok_or_else(|| invalid("not_json", "not JSON"))?;
    let fault = |error: serde_json::Error| {
        let why = error.to_string();
        let reason = match &why {
            why if why.starts_with("unknown field") => "unknown_field",
            why if why.starts_with("missing field") => "missing_field",
            why if why.starts_with("unknown variant") => "bad_value",
            _ => "wrong_type",
        };
        // The parser quotes what was sent.
        let message = match reason {
            "unknown_field" => "a member that this request does not have",
            "missing_field" => "a required member is absent",
            "bad_value" => "a word that this member does not take",
            _ => "a member has another type or form than it must have",
        };
        invalid(reason, message)
    };
    read_json_value(value).map_err(fault)
}

impl ReceiptBody {
    pub(crate) fn report(self) -> Result<Report, Fault> {
        let computed = self.executed_args.as_ref().map(args_digest).transpose();
        let computed = computed.map_err(|error| bad_value(error.to_string()))?;
        if let (Some(computed), Some(named)) = (computed, self.executed_args_digest)
            && computed != named
        {
            let why = "executed_args_digest is not that of executed_args";
            return Err(invalid("digest_mismatch", why));
        }
        Ok(Report {
            stage: match self.stage {
                RanStage::Executed => Stage::Executed,
                RanStage::Failed => Stage::Failed,
                RanStage::Refused => Stage::Refused,
            },
            digest: computed.or(self.executed_args_digest),
            message: self.message,
            sent: false,
        })
    }
}

/// The members of an ask, each as it was written.
struct Members(BTreeMap<String, Box<RawValue>>);

impl Members {
    /// The value; none where it is absent or null.
    fn value(&self, name: &str) -> Option<Value> {
        let value = json_value(self.0.get(name)?.get().as_bytes())?;
        (!value.is_null()).then_some(value)
    }

    fn put(&mut self, name: &str, value: &impl Serialize) -> Result<(), Fault> {
        let raw = to_raw_value(value).map_err(|error| bad_value(error.to_string()))?;
        self.0.insert(name.to_owned(), raw);
        Ok(())
    }

    fn default(&mut self, name: &str, value: &impl Serialize) -> Result<(), Fault> {
        match self.value(name) {
            Some(_) => Ok(()),
            None => self.put(name, value),
        }
    }
}

/// A new ask; its time runs from now.
pub(crate) fn read_ask(body: &[u8], asker: &Asker<'_>) -> Result<Ask, Fault> {
    scanned(body)?;
    let members = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(body);
    let mut given = Members(members.map_err(|_| invalid("wrong_type", "the body is an object"))?);
    let known = |name: &str| PASSED_ON.contains(&name) || READ.contains(&name);
    if !given.0.keys().all(|name| known(name)) {
        return Err(invalid(
            "unknown_field",
            "a member that an ask does not have",
        ));
    }
    let lifetime = match given.value("timeout").map(|value| value.as_f64()) {
        None => USUAL,
        Some(Some(seconds)) if (1.0..=LONGEST).contains(&seconds) => seconds,
        Some(_) => return Err(bad_value("timeout is 1 to 2592000 seconds")),
    };
    let reports = match given.value("reports") {
        None => false,
        Some(value) => value
            .as_bool()
            .ok_or_else(|| bad_value("reports is true or false"))?,
    };
    let callback = match given.value("callback_url") {
        None => None,
        Some(Value::String(url)) if asker.origins.allow(&url) => Some(Callback {
            url,
            token: asker.token,
            over: false,
        }),
        Some(_) => return Err(fault::callback_refused()),
    };
    for own in ["timeout", "reports", "callback_url"] {
        given.0.remove(own);
    }
    let named = parts(&mut given, asker.host)?;
    let asked = Moment::now();
    let id = Uuid::now_v7().to_string();
    let id: RequestId = id.parse().map_err(|_| fault::journal_failed())?;
    given.put("v", &1)?;
    given.put("request_id", &id)?;
    given.put("workspace", &asker.agent.workspace)?;
    let agent = AgentInfo {
        framework: Some(FRAMEWORK.to_owned()),
        framework_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        ..AgentInfo::named(asker.agent.agent.clone())
    };
    given.put("agent", &agent)?;
    given.put("requested_at", &asked.after(0.0))?;
    // As the SDK does, which checks the answer: signatures of devices too.
    given.put("verifies", &["webauthn"])?;
    // The longest life is that of a request that names no end.
    if lifetime < LONGEST {
        given.put("expires_at", &asked.after(lifetime))?;
    }
    let request = request(&given, asker.agent, &id)?;
    let text = serde_json::to_string(&request).map_err(|error| bad_value(error.to_string()))?;
    let about = json!([
        request.kind,
        request
            .tool
            .as_ref()
            .map(|tool| (&tool.name, &tool.namespace)),
        request.args_digest,
        request.question,
        request.response_schema,
    ]);
    let about = canonical_json(&about).map_err(|error| bad_value(error.to_string()))?;
    Ok(Ask {
        seq: 0,
        realm: asker.realm,
        agent: asker.agent.clone(),
        id,
        key: asker.key,
        about: Sha256Digest::of_bytes(about.as_bytes()),
        kind: request.kind,
        tool: named.or_else(|| request.tool.map(|tool| tool.name)),
        args_digest: request.args_digest,
        reports,
        callback,
        lifetime: lifetime_of(request.requested_at, request.expires_at),
        asked,
        request: Some(text),
        answer: None,
        end: None,
        claim: None,
        receipt: None,
    })
}

/// As the bytes say it, which are cut to milliseconds.
fn lifetime_of(from: Timestamp, until: Option<Timestamp>) -> f64 {
    until.map_or(LONGEST, |until| (until.get() - from.get()).as_seconds_f64())
}

/// Short forms written out, and what is absent filled in. Gives the tool's name as the agent spells it.
fn parts(given: &mut Members, host: &str) -> Result<Option<String>, Fault> {
    given.default("kind", &"tool_call")?;
    let is_call = given.value("kind") == Some(json!("tool_call"));
    let allowed = if is_call {
        ["approve", "deny"]
    } else {
        ["respond", "deny"]
    };
    given.default("risk", &"high")?;
    given.default("allowed_verdicts", &allowed)?;
    let native = given.0.get("native").map_or("null", |raw| raw.get());
    let native = serde_json::from_str::<Option<BTreeMap<String, Box<RawValue>>>>(native);
    let mut native = native
        .map_err(|_| invalid("wrong_type", "native is an object"))?
        .unwrap_or_default();
    if native.contains_key("gateway") {
        return Err(bad_value("native.gateway is the gateway's own"));
    }
    let raw = |value: &Value| to_raw_value(value).map_err(|error| bad_value(error.to_string()));
    let gateway = json!({ "host": host, "version": env!("CARGO_PKG_VERSION") });
    native.insert("gateway".to_owned(), raw(&gateway)?);
    let mut tool = match given.value("tool") {
        Some(Value::String(name)) => Map::from_iter([("name".to_owned(), name.into())]),
        Some(Value::Object(tool)) => tool,
        _ => Map::new(),
    };
    let named = tool.get("name").and_then(Value::as_str).map(str::to_owned);
    if let Some(name) = &named {
        let slug = tool_slug(name);
        if slug != name.as_str() {
            let original = raw(&Value::from(name.as_str()))?;
            native.entry("tool_name".to_owned()).or_insert(original);
        }
        tool.insert("name".to_owned(), slug.into());
        given.put("tool", &tool)?;
    }
    given.put("native", &native)?;
    if let Some(Value::String(text)) = given.value("question") {
        given.put("question", &json!({ "text": text, "allow_freeform": true }))?;
    }
    if let Some(args) = given.0.get("args")
        && given.value("args_digest").is_none()
    {
        let args = json_value(args.get().as_bytes()).unwrap_or_default();
        let digest = args_digest(&args).map_err(|error| bad_value(error.to_string()))?;
        given.put("args_digest", &digest)?;
    }
    Ok(named)
}

/// What the console will read, with nothing of what was given left out.
fn request(given: &Members, agent: &AgentKey, id: &RequestId) -> Result<ApprovalRequest, Fault> {
    let text = serde_json::to_vec(&given.0).map_err(|error| bad_value(error.to_string()))?;
    let key = RequestKey {
        workspace: agent.workspace.clone(),
        agent: agent.agent.clone(),
        request_id: id.clone(),
    };
    let parsed = parse_request(&request_subject(&key), &text)
        .map_err(|rejection| invalid(rejection.code.as_str(), rejection.detail))?;
    let kept = serde_json::to_value(&parsed.request).unwrap_or_default();
    for name in given
        .0
        .keys()
        .filter(|name| !["metadata", "native"].contains(&name.as_str()))
    {
        if let Some(value) = given.value(name)
            && has_more(&value, &kept[name.as_str()])
        {
            let why = format!("a member in {name} that the protocol does not have");
            return Err(invalid("unknown_field", why));
        }
    }
    Ok(parsed.request)
}

/// Whether members that say something are missing in `kept`.
fn has_more(given: &Value, kept: &Value) -> bool {
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => {
            let mut given = given.iter().filter(|(_, value)| !value.is_null());
            given.any(|(name, value)| kept.get(name).is_none_or(|kept| has_more(value, kept)))
        }
        (Value::Array(given), Value::Array(kept)) => {
            let mut pairs = given.iter().zip(kept);
            pairs.any(|(given, kept)| has_more(given, kept))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
