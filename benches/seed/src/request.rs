//! One request with its decision, as agents and operators would have made them.

use anyhow::Context as _;
use countersign_core::domain::{Delivery, State, Timestamp};
use countersign_core::identity::Identity;
use countersign_core::store::decisions::DecisionBody;
use countersign_core::store::requests::NewRequest;
use countersign_wire::{
    Context, KeyRole, ParsedRequest, RequestKey, args_digest, decision_subject, parse_request,
    request_subject, sign,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::chance::{Chance, word};

const WORKSPACES: [&str; 4] = ["acme", "labs", "ops", "finance"];
const AGENTS: u64 = 40;
const TOOLS: u64 = 60;
/// Word of streams that no bus has: nothing of this is compared with one.
pub(crate) const EPOCH: &str = "seeded";

/// A request as a stream would have brought it, and what became of it.
pub(crate) struct Story {
    pub(crate) key: RequestKey,
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
    pub(crate) tool: String,
    pub(crate) raw: Vec<u8>,
    pub(crate) parsed: ParsedRequest,
    pub(crate) stored_at: Timestamp,
    pub(crate) decided_at: Timestamp,
    pub(crate) state: State,
    pub(crate) delivery: Delivery,
    pub(crate) verdict: &'static str,
    pub(crate) body: DecisionBody,
    pub(crate) payload: Vec<u8>,
    pub(crate) signer: String,
    pub(crate) sig: String,
}

/// Makes the request of a number.
pub(crate) fn story(
    chance: &mut Chance,
    number: u64,
    stored_at: Timestamp,
    (identity, realm): (&Identity, &Uuid),
) -> anyhow::Result<Story> {
    let agent = chance.skewed(AGENTS);
    let workspace = WORKSPACES[usize::try_from(agent % 4)?];
    let tool = format!("{}_{}", word(chance.skewed(TOOLS)), word(24 + agent % 7));
    let key: RequestKey = format!("{workspace}/{}-bot/r-{number}", word(100 + agent)).parse()?;
    let (trace_id, span_id) = (chance.hex(32), chance.hex(16));
    let args = args(chance);
    let digest = args_digest(&args)?.to_string();
    let risk = match chance.below(100) {
        0..=1 => "critical",
        2..=11 => "high",
        12..=50 => "medium",
        51..=80 => "low",
        _ => "safe",
    };
    let length = 5 + chance.below(20);
    let request = json!({
        "v": 1, "request_id": key.request_id, "kind": "tool_call", "workspace": key.workspace,
        "agent": { "name": key.agent, "framework": "seed" }, "run_id": chance.hex(12), "thread_id": chance.hex(8),
        "call_id": format!("call_{number}"), "tool": { "name": tool, "origin": "local", "effects": "reversible" },
        "args": args, "args_digest": digest, "risk": risk, "reason": chance.words(length),
        "allowed_verdicts": ["approve", "modify", "deny"],
        "traceparent": format!("00-{trace_id}-{span_id}-01"),
        "requested_at": stored_at.rfc3339(), "expires_at": stored_at.plus_ms(3_600_000).rfc3339(),
    });
    let raw = request.to_string().into_bytes();
    let parsed = parse_request(&request_subject(&key), &raw).map_err(|rejection| {
        anyhow::anyhow!("the request is not a request: {}", rejection.detail)
    })?;
    let (verdict, state, origin) = match chance.below(100) {
        0..=44 => ("approve", State::Decided, "rule"),
        45..=74 => ("approve", State::Decided, "operator"),
        75..=79 => ("deny", State::Decided, "rule"),
        80..=91 => ("deny", State::Decided, "operator"),
        _ => ("expired", State::Expired, "timeout"),
    };
    let took = match origin {
        "rule" => 5 + i64::try_from(chance.below(40))?,
        "operator" => 800 + i64::try_from(chance.skewed(600_000))?,
        _ => 3_600_000,
    };
    let decided_at = stored_at.plus_ms(took);
    let person = origin == "operator";
    let role = if person {
        KeyRole::Human
    } else {
        KeyRole::Auto
    };
    let keys = identity.signing();
    let (pair, signer) = (keys.pair(role), keys.key(role));
    let length = 3 + chance.below(8);
    let message = (verdict == "deny").then(|| chance.words(length));
    let rule = (origin == "rule").then(|| format!("rule-{}", chance.skewed(25)));
    let decision_id = Uuid::from_u64_pair(chance.next(), chance.next());
    let decision = json!({
        "v": 1, "decision_id": decision_id, "request_id": key.request_id, "request_digest": parsed.request_digest,
        "verdict": verdict, "args_digest": (verdict == "approve").then_some(&digest), "scope": "once",
        "origin": origin, "decided_by": { "name": identity.operator, "key": signer }, "message": message,
        "rule": rule.as_ref().map(|id| json!({ "id": id, "version": 1 })), "decided_at": decided_at.rfc3339(),
    });
    let payload = decision.to_string().into_bytes();
    let sig = sign(
        pair,
        Context::Decision,
        realm,
        &decision_subject(&key),
        &payload,
    )
    .context("a decision cannot be signed")?;
    let delivery = match (verdict, chance.below(50)) {
        ("approve", 0) => Delivery::Failed,
        ("approve", _) => Delivery::Executed,
        _ => Delivery::Received,
    };
    Ok(Story {
        trace_id,
        span_id,
        tool,
        stored_at,
        decided_at,
        state,
        delivery,
        verdict,
        body: DecisionBody {
            decision_id: Some(decision_id.to_string()),
            verdict: Some(verdict.to_owned()),
            origin: Some(origin.to_owned()),
            decided_by: Some(decision["decided_by"].to_string()),
            message,
            rule_version: rule.as_ref().map(|_| 1),
            rule_id: rule,
            policy_digest: None,
            args_digest: (verdict == "approve").then_some(digest),
            scope: Some("once".to_owned()),
        },
        payload,
        signer: signer.to_string(),
        sig: sig.to_string(),
        key,
        raw,
        parsed,
    })
}

fn args(chance: &mut Chance) -> Value {
    let length = 10 + chance.skewed(120);
    let mut args = json!({
        "to": format!("{}@{}.example", chance.words(1), chance.words(1)),
        "subject": chance.words(4), "amount": chance.below(100_000), "body": chance.words(length),
    });
    if chance.of_thousand(30) {
        args["password"] = chance.hex(16).into();
    }
    args
}

impl Story {
    /// The row, as the intake makes it.
    pub(crate) fn row(&self, seq: i64) -> NewRequest<'_> {
        let request = &self.parsed.request;
        NewRequest {
            ws: self.key.workspace.to_string(),
            agent: self.key.agent.to_string(),
            request_id: self.key.request_id.to_string(),
            kind: Some(request.kind.as_str().to_owned()),
            tool: Some(self.tool.clone()),
            risk: request.effective_risk(),
            title: request.title.clone(),
            run_id: request.run_id.clone(),
            thread_id: request.thread_id.clone(),
            call_id: request.call_id.clone(),
            trace_id: Some(self.trace_id.clone()),
            span_id: Some(self.span_id.clone()),
            group_id: None,
            allowed: request.allowed(),
            approvals_required: 1,
            args_digest: self.parsed.args_digest.map(|digest| digest.to_string()),
            request_digest: self.parsed.request_digest.to_string(),
            raw: &self.raw,
            stream_epoch: EPOCH.to_owned(),
            stream_seq: seq,
            requested_at: Some(self.stored_at),
            stored_at: self.stored_at,
            received_at: self.stored_at.plus_ms(3),
            lifetime_ms: 3_600_000,
            deadline_at: self.stored_at.plus_ms(3_600_000),
            state: State::Pending,
            error: None,
            tightened_at: None,
            tool_digest: self.parsed.tool_digest.map(|digest| digest.to_string()),
            findings: Some("[]".to_owned()),
            effect: None,
            device_effects: None,
        }
    }
}
