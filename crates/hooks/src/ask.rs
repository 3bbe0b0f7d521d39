//! One call's way to a person and back.
//!
//! Never answers "allowed" for a call whose receipt could not be sent later: the record of it comes first.

use std::io;
use std::time::Duration;

use countersign_sdk::wire::ToolOrigin;
use countersign_sdk::{
    ApprovalDecision, Ask, Decision, DecisionVerdict, Gate, GateError, refusal_text,
};
use countersign_wire::args_digest;
use serde_json::Value;
use tokio::time::timeout;

use crate::call::{Call, Limits};
use crate::entries::Turn;
use crate::identity::Identity;
use crate::outcome::Outcome;
use crate::program::Program;
use crate::reports::{Record, settle_late};
use crate::respond::Options;
use crate::words;

/// How long a rule has before a call is deferred.
const FOR_A_RULE: Duration = Duration::from_secs(2);

/// Asks about a call. None where `stop` came first: the request stays, if it can be asked about again.
pub(crate) async fn ask(
    program: Program,
    call: &Call,
    options: &Options,
    stop: impl Future<Output = ()>,
) -> Option<Outcome> {
    let failed = |error: &GateError| Outcome::refused(refusal_text(&call.tool, Err(error)));
    let identity = match Identity::open(&options.agent_json, &options.state).await {
        Ok(identity) => identity,
        Err(error) => return Some(failed(&error)),
    };
    let gate = match identity.connect(program).await {
        Ok(gate) => gate,
        Err(error) => return Some(failed(&error)),
    };
    tokio::pin!(stop);
    let outcome = tokio::select! {
        biased;
        () = &mut stop => None,
        outcome = in_turn(program, call, options, &identity, &gate) => Some(outcome),
    };
    let rest = async {
        settle_late(&gate, &identity.approved()).await;
        gate.close().await
    };
    tokio::select! {
        biased;
        () = &mut stop, if outcome.is_some() => None,
        _ = rest => outcome,
    }
}

/// Where the program's ids are its own, entries that ask about the same call get one answer.
async fn in_turn(
    program: Program,
    call: &Call,
    options: &Options,
    identity: &Identity,
    gate: &Gate,
) -> Outcome {
    let key = key(program, call);
    let turn = match key.as_ref().filter(|_| program.own_ids()) {
        Some(key) => {
            let key = identity.at_desk(&call.tool, key);
            match Turn::of(&identity.answered(), &key, &options.entry).await {
                Ok(turn) => turn,
                Err(error) => return not_kept(call, &error),
            }
        }
        None => None,
    };
    if let Some(outcome) = turn.as_ref().and_then(Turn::answer) {
        return outcome;
    }
    let outcome = answered(program, call, options, identity, gate, key).await;
    if let Some(turn) = turn
        && !matches!(outcome, Outcome::Deferred { .. })
        && let Err(error) = turn.give(&outcome)
    {
        tracing::warn!("other entries do not get this answer: {error}");
    }
    outcome
}

async fn answered(
    program: Program,
    call: &Call,
    options: &Options,
    identity: &Identity,
    gate: &Gate,
    key: Option<String>,
) -> Outcome {
    let defers = options.defer && key.is_some();
    let asking = async {
        let mut number = 1;
        loop {
            let key = key.as_ref().map(|key| match number {
                1 => key.clone(),
                _ => format!("{key}/{number}"),
            });
            match gate.ask(question(call, options, key, defers)).await {
                // Another call of this id waits.
                Err(GateError::KeyWaiting { .. }) if !program.own_ids() => number += 1,
                answer => return answer,
            }
        }
    };
    let answer = match defers {
        true => match timeout(FOR_A_RULE, asking).await {
            Ok(answer) => answer,
            Err(_) => return Outcome::deferred(call),
        },
        false => asking.await,
    };
    let outcome = Outcome::of(call, answer.as_ref());
    let (Ok(decision), Some(args)) = (&answer, outcome.args()) else {
        return outcome;
    };
    if let Some(why) = cannot_edit(call, decision) {
        let _ = decision.refused("digest_differs").await;
        return Outcome::refused(why);
    }
    if let Err(error) = Record::of(call, decision, args).keep(&identity.approved()) {
        let _ = decision.refused("not_started").await;
        return not_kept(call, &error);
    }
    outcome
}

fn not_kept(call: &Call, error: &io::Error) -> Outcome {
    let why = error.to_string();
    let error = GateError::Journal { why };
    Outcome::refused(refusal_text(&call.tool, Err(&error)))
}

/// `claude-code/SESSION/TOOL_USE/DIGEST`; without an id of the call it cannot be asked about again.
fn key(program: Program, call: &Call) -> Option<String> {
    let (session, id) = (call.session.as_ref()?, call.call_id.as_ref()?);
    let digest = args_digest(&call.args).ok()?;
    let name = program.name();
    Some(format!("{name}/{session}/{id}/{}", digest.hex()))
}

fn question(call: &Call, options: &Options, key: Option<String>, defers: bool) -> Ask {
    let limits = call.limits;
    let asked = match &call.form {
        Some((title, schema)) => Ask::form(title, schema.clone()),
        None => Ask::tool(&call.tool, call.args.clone())
            .risk(options.which.risk(&call.tool))
            .allow(call.verdicts.iter().copied()),
    };
    let mut ask = asked
        .native(call.native.clone())
        .degraded(move |decision| degraded(limits, decision))
        .timeout(options.timeout);
    if defers {
        ask = ask.no_timeout();
    }
    if let Some(key) = key {
        ask = ask.key(key);
    }
    if let Some(session) = &call.session {
        ask = ask.thread_id(session);
    }
    if let Some(id) = &call.call_id {
        ask = ask.call_id(id);
    }
    if let Some(said) = call.transcript.as_deref().and_then(words::last) {
        ask = ask.history(vec![said]);
    }
    if let Some(reason) = &call.reason {
        ask = ask.explain(reason);
    }
    match &call.server {
        Some(server) => ask.origin(ToolOrigin::Mcp).namespace(server),
        None => ask,
    }
}

fn degraded(limits: Limits, decision: &ApprovalDecision) -> Vec<String> {
    match decision.verdict {
        DecisionVerdict::Modify if limits.silent_edits => vec!["edit_notice".to_owned()],
        _ => Vec::new(),
    }
}

/// Why an edit would not run as it is.
fn cannot_edit(call: &Call, decision: &Decision) -> Option<String> {
    let (Some(Value::Object(edited)), Value::Object(asked)) = (decision.args(), &call.args) else {
        return None;
    };
    let lost = asked.keys().find(|&name| !edited.contains_key(name))?;
    let name = &call.tool;
    call.limits.merges_edits.then(|| {
        format!(
            "{name} was not run: the edit removes {lost}, which is not possible here (digest_differs)"
        )
    })
}
