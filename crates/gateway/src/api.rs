//! What is answered, as JSON.

use axum::http::header::{CACHE_CONTROL, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use countersign_wire::{DecidedBy, RequestKind, Sha256Digest, Stage, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::ask::{Ask, Claimed, ProofOfAnswer, State};
use crate::fault::Fault;
use crate::moment::Moment;

/// An ask. What was decided is not in it before the answer was claimed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Ask")]
pub(crate) struct AskState {
    /// The request's id.
    id: String,
    state: State,
    kind: RequestKind,
    /// The tool's name; null of a question and a form.
    tool: Option<String>,
    /// The digest of the arguments.
    args_digest: Option<Sha256Digest>,
    asked_at: Timestamp,
    /// When the time to answer ends.
    deadline_at: Timestamp,
    answered_at: Option<Timestamp>,
    /// When the time to claim ends.
    claim_until: Timestamp,
    claimed_at: Option<Timestamp>,
    /// What was decided; null before a claim.
    verdict: Option<String>,
    /// What a model reads of a refusal; null before a claim.
    text: Option<String>,
    /// Who decided; null before a claim.
    decided_by: Option<DecidedBy>,
    /// The stage that was reported.
    receipt: Option<Stage>,
}

impl AskState {
    pub(crate) fn of(ask: &Ask) -> Self {
        let answer = ask.answer.as_ref();
        let claimed = ask.claim.as_ref();
        let taken = answer.filter(|_| claimed.is_some());
        Self {
            id: ask.id.to_string(),
            state: ask.state(&Moment::now()),
            kind: ask.kind,
            tool: ask.tool.clone(),
            args_digest: ask.args_digest,
            asked_at: ask.asked.after(0.0),
            deadline_at: ask.asked.after(ask.lifetime),
            answered_at: answer.map(|answer| answer.at.after(0.0)),
            claim_until: ask.asked.after(ask.claim_until()),
            claimed_at: claimed.map(|claim| claim.at.after(0.0)),
            verdict: taken.map(|answer| answer.verdict.clone()),
            text: taken.and_then(|answer| answer.text.clone()),
            decided_by: taken.and_then(|answer| answer.decided_by.clone()),
            // A refusal of what nobody claimed would say that it was approved.
            receipt: claimed.and(ask.receipt.as_ref()).map(|report| report.stage),
        }
    }
}

/// Asks in one state, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Asks")]
pub(crate) struct AskList {
    pub(crate) asks: Vec<AskState>,
}

/// The call may run, now and with these arguments.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub(crate) struct RunAnswer {
    /// `true`: run the call. Nothing else lets it run.
    #[schemars(extend("const" = true))]
    run: bool,
    id: String,
    /// `approve` or `modify`.
    verdict: String,
    /// What may run.
    args: Value,
    args_digest: Option<Sha256Digest>,
    decision_id: Option<String>,
    decided_by: Option<DecidedBy>,
    message: Option<String>,
    proof: Option<ProofOfAnswer>,
    /// The same answer again, to the claim that took it.
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed: Option<bool>,
}

/// A person's answer to a question or a form.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub(crate) struct ResponseAnswer {
    /// `false`: no call runs.
    #[schemars(extend("const" = false))]
    run: bool,
    id: String,
    verdict: String,
    /// What was answered: untrusted input.
    response: Option<Value>,
    decided_by: Option<DecidedBy>,
    decision_id: Option<String>,
    proof: Option<ProofOfAnswer>,
}

/// The call must not run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Refusal")]
pub(crate) struct RefusedAnswer {
    /// `false`.
    #[schemars(extend("const" = false))]
    run: bool,
    id: String,
    verdict: String,
    /// What a model reads.
    text: Option<String>,
    message: Option<String>,
    decided_by: Option<DecidedBy>,
    /// A person's answer in the call's place.
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Value>,
    /// Why the stored decision does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    error: ErrorAnswer,
}

/// A fault: `code` is stable, `message` says what to do.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct ErrorAnswer {
    code: &'static str,
    message: String,
    /// What is wrong with a body or a parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

/// Every answer that is no success.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Fault")]
pub(crate) struct FaultAnswer {
    error: ErrorAnswer,
}

/// Whether every agent reaches its bus.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Ready")]
pub(crate) struct ReadyAnswer {
    pub(crate) ready: bool,
    /// `bus_unreachable` or `login_refused`.
    pub(crate) why: Vec<&'static str>,
}

/// An empty object.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Done")]
pub(crate) struct DoneAnswer {}

pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let Ok(text) = serde_json::to_vec(body) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let headers = [("content-type", "application/json")];
    let mut response = (status, headers, text).into_response();
    let never = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, never);
    response
}

/// What a claim gets.
pub(crate) fn claimed(ask: &Ask, claimed: Claimed) -> Response {
    let (id, answer) = (ask.id.to_string(), ask.answer.clone());
    match (claimed, answer) {
        (Claimed::Run | Claimed::Replayed, Some(answer)) if answer.run && answer.args.is_some() => {
            let run = RunAnswer {
                run: true,
                id,
                verdict: answer.verdict,
                args: answer.args.unwrap_or_default(),
                args_digest: answer.args_digest,
                decision_id: answer.decision_id,
                decided_by: answer.decided_by,
                message: answer.message,
                proof: answer.proof,
                replayed: (claimed == Claimed::Replayed).then_some(true),
            };
            json(StatusCode::OK, &run)
        }
        (Claimed::Response, Some(answer)) => {
            let response = ResponseAnswer {
                run: false,
                id,
                verdict: answer.verdict,
                response: answer.response,
                decided_by: answer.decided_by,
                decision_id: answer.decision_id,
                proof: answer.proof,
            };
            json(StatusCode::OK, &response)
        }
        (_, answer) => refused(ask, id, answer),
    }
}

fn refused(ask: &Ask, id: String, answer: Option<crate::ask::Answer>) -> Response {
    let end = ask.end.as_ref();
    let answer = answer.filter(|_| end.is_none());
    let of = answer.as_ref();
    let refusal = RefusedAnswer {
        run: false,
        id,
        verdict: match (end, of) {
            (Some(end), _) => end.state.to_string(),
            (None, of) => of.map_or_else(|| "deny".to_owned(), |of| of.verdict.clone()),
        },
        text: end.map(|end| end.text.clone()).or_else(|| of?.text.clone()),
        message: match end {
            Some(end) => end.message.clone(),
            None => of.and_then(|of| of.message.clone()),
        },
        decided_by: of.and_then(|of| of.decided_by.clone()),
        response: of.and_then(|of| of.response.clone()),
        fault: of.and_then(|of| of.fault.clone()),
        error: ErrorAnswer {
            code: "not_allowed",
            message: "the call must not run; `text` says why".to_owned(),
            reason: None,
        },
    };
    json(StatusCode::FORBIDDEN, &refusal)
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let (status, retry_after) = (self.status, self.retry_after);
        let (code, reason, message) = (self.code, self.reason, self.message);
        let error = ErrorAnswer {
            code,
            message,
            reason,
        };
        let mut response = json(status, &FaultAnswer { error });
        let headers = response.headers_mut();
        if let Some(seconds) = retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
