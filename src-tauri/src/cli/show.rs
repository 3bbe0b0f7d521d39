//! `show`: one request whole.
//!
//! `request` and `decision` of the JSON are exactly as received, for programs that check digests. What a person reads
//! is escaped, and secrets are hidden in it.

mod asked;
mod human;
pub(super) mod scrutiny;
mod warnings;

use countersign_core::App;
use countersign_core::domain::Timestamp;
use countersign_core::domain::facts::{
    Alarm, Contradicting, RequestDetails, RequestSummary, ShownVote, StoredReceipt, StoredVote,
};
use countersign_core::ops::scrutiny::{Scrutiny, Weight, findings_of};
use countersign_core::ops::why::Why;
use countersign_wire::{KeptJson, json_value, readable_request, text_ascii_safe};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::args::Show;
use super::config::Settings;
use super::console::{options, reading};
use super::failure::Failure;
use super::line::{fields_with, repeats};
use super::output::{Output, plain};
use super::reader;
use countersign_view::secrets::Secrets;

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    line: Map<String, Value>,
    request_digest: String,
    // When retention took the request's payload away.
    removed_at: Option<String>,
    error_detail: Option<String>,
    request: Option<&'a KeptJson>,
    // As received, where no JSON reader could hold it as a value: then `request` has `metadata` and `native` as text,
    // or is null where that does not help.
    request_text: Option<std::borrow::Cow<'a, str>>,
    decision: Option<&'a KeptJson>,
    decision_fault: Option<String>,
    // The decision that agents read, where this console keeps another one.
    on_bus: Option<Value>,
    // Why the agent withdrew it, in its words.
    withdraw_reason: Option<String>,
    warnings: Vec<Value>,
    votes: Vec<Value>,
    // Which rule asks or nearly let it pass; empty without rules and setup key.
    why: Option<&'a Why>,
    receipts: Vec<Value>,
    trace: Option<Value>,
    alarms: Vec<Value>,
    // The rule that decided: `rule` of the line is its id.
    rule_name: Option<String>,
    rule_version: Option<i64>,
    // The same call, decided before this one was asked.
    repeats: Option<Value>,
    // What is remarkable about the call; null while it was not looked at, and where another console decided.
    findings: Option<Vec<Value>>,
    effect: Option<String>,
    compared: Option<Value>,
    // How a person looked at it before deciding here.
    looked: Option<Value>,
    // What a second reader, a machine, added; nothing reads it but people.
    reader: Value,
}

/// Prints one request. With `--reveal` also what looks like a secret, once the audit log has recorded it.
pub(crate) async fn run(settings: &Settings, out: Output, show: &Show) -> Result<(), Failure> {
    let id = &show.id.id;
    let secrets = match show.reveal {
        true => Secrets::Revealed,
        false => Secrets::Hidden,
    };
    let (lines, revealed) = reading(settings, true, async |app| {
        let story = app.show(id).await?;
        let now = app.now();
        let lines = text_lines(app, out, &story, secrets, now).await?;
        let opened = secrets == Secrets::Revealed
            && lines != text_lines(app, out, &story, Secrets::Hidden, now).await?;
        Ok((lines, opened.then(|| subject(&story))))
    })
    .await?;
    if let Some((subject, request_digest)) = revealed {
        let app = App::offline(options(settings)?).await?;
        let detail = json!({ "request_digest": request_digest, "reveal": "all" });
        let recorded = app.record("reveal", subject, detail).await;
        app.shutdown().await;
        recorded?;
    }
    for line in lines {
        match out.json {
            true => out.raw_json_line(&line)?,
            false => out.line(&line)?,
        }
    }
    Ok(())
}

/// What is printed, line by line.
async fn text_lines(
    app: &App,
    out: Output,
    story: &RequestDetails,
    secrets: Secrets,
    now: Timestamp,
) -> Result<Vec<String>, Failure> {
    let exact = kept(&story.line.raw);
    let is_exact = exact.is_some();
    let request = exact.or_else(|| readable_request(&story.line.raw));
    let why = app.why(&story.line).await?;
    let reason = app.withdraw_reason(&story.line).await;
    let known = warnings::known_tools(app, &story.line).await?;
    let warnings = warnings::of(story, request.as_ref(), &known, now);
    let scrutiny = app.scrutiny(&story.line).await?;
    if out.json {
        let reader = reader::of_request(app, story, secrets).await;
        let decision = story.given().and_then(kept);
        let text = as_json(
            story,
            (request.as_ref(), is_exact),
            decision.as_ref(),
            (warnings, reason),
            (why.as_ref(), secrets),
            (scrutiny.as_ref(), reader),
        )?;
        return Ok(vec![text]);
    }
    let mut lines = human::lines(story, request.as_ref(), &warnings, now, secrets);
    lines.extend(
        reason
            .iter()
            .flat_map(|words| human::withdrawn(words, secrets)),
    );
    lines.extend(why.iter().flat_map(reasons));
    let findings = findings_of(&story.line).unwrap_or_default();
    lines.extend(scrutiny::lines(&findings, Weight::Look, secrets));
    lines.extend(reader::lines_of_show(app, story, secrets).await);
    Ok(lines)
}

/// Why it asks, for a person.
fn reasons(why: &Why) -> Vec<String> {
    let by = why
        .rule
        .as_ref()
        .map_or_else(|| "no rule matches".to_owned(), |id| format!("rule {id}"));
    let mut lines = vec![format!("rules now: {} ({by})", why.outcome)];
    lines.extend(
        why.held
            .iter()
            .map(|held| format!("  approvals are off: {held}")),
    );
    let instead = why.matched.iter().filter_map(|rule| {
        let why = rule.instead.as_ref()?;
        Some(format!("  rule {} asks: {why}", rule.id))
    });
    lines.extend(instead);
    let near = why.near_misses.iter();
    lines.extend(near.map(|near| match &near.detail {
        Some(detail) => format!("  {detail}"),
        None => format!(
            "  rule {} would {} it, but {} is different",
            near.id, near.effect, near.matcher
        ),
    }));
    if let Some(setup) = &why.setup {
        let spares = setup.skips_when.as_ref();
        let spares =
            spares.map_or_else(String::new, |value| format!(", would not ask when {value}"));
        lines.push(format!(
            "  setup key {}: {}{spares}",
            setup.key, setup.state
        ));
    }
    lines.iter().map(|line| plain(line)).collect()
}

/// What the audit log says was looked at: the request and its digest.
fn subject(story: &RequestDetails) -> (String, String) {
    let key = story.line.key();
    let name = key.map_or_else(|| story.line.request_id.clone(), |key| key.to_string());
    (name, digest_of(story))
}

fn digest_of(story: &RequestDetails) -> String {
    match &story.removed {
        Some((_, digest)) => digest.clone(),
        None => countersign_wire::request_digest(&story.line.raw).to_string(),
    }
}

/// The bytes as JSON, where every reader can hold them: half a surrogate pair or `1e999` would make
/// the whole line unreadable to some. The text stays exact.
fn kept(bytes: &[u8]) -> Option<KeptJson> {
    let kept = KeptJson::from_text(std::str::from_utf8(bytes).ok()?).ok()?;
    kept.value().is_some().then_some(kept)
}

fn as_json(
    story: &RequestDetails,
    (request, is_exact): (Option<&KeptJson>, bool),
    decision: Option<&KeptJson>,
    (warnings, withdraw_reason): (Vec<Value>, Option<String>),
    (why, secrets): (Option<&Why>, Secrets),
    (scrutiny, reader): (Option<&Scrutiny>, Value),
) -> Result<String, Failure> {
    let words = |text: &str| secrets.line(text);
    let shown = Shown {
        line: fields_with(&story.line, secrets),
        request_digest: digest_of(story),
        removed_at: story.removed.as_ref().map(|(at, _)| at.rfc3339()),
        error_detail: story.line.error_detail.as_deref().map(words),
        request,
        request_text: (!is_exact && story.removed.is_none())
            .then(|| String::from_utf8_lossy(&story.line.raw)),
        decision,
        decision_fault: story
            .decision
            .as_ref()
            .and_then(|d| d.fault.as_deref().map(words)),
        on_bus: story.contradicting.as_ref().map(|it| on_bus(it, secrets)),
        withdraw_reason: withdraw_reason.as_deref().map(words),
        warnings,
        votes: story.votes.iter().map(vote).collect(),
        why,
        receipts: story
            .receipts
            .iter()
            .map(|stored| receipt(stored, secrets))
            .collect(),
        trace: trace(&story.line),
        alarms: story.alarms.iter().map(alarm).collect(),
        rule_name: story.rule_name.as_deref().map(plain),
        rule_version: story.line.rule_version,
        repeats: story.repeats.as_ref().map(repeats),
        findings: findings_of(&story.line).map(|of| scrutiny::findings(&of, secrets)),
        effect: scrutiny
            .and_then(|of| of.effect.as_deref())
            .map(|text| secrets.sentence(text)),
        compared: scrutiny.and_then(|of| {
            of.compared
                .as_ref()
                .map(|of| scrutiny::compared(of, secrets))
        }),
        looked: story.looked.as_deref().and_then(scrutiny::looked),
        reader,
    };
    let text = serde_json::to_string(&shown).map_err(|error| {
        Failure::new(
            countersign_wire::ErrorCode::Failed,
            format!("JSON could not be written: {error}"),
        )
    })?;
    Ok(text_ascii_safe(&text))
}

/// The call's place in the trace of its agent, if the request named one.
fn trace(line: &RequestSummary) -> Option<Value> {
    let id = line.trace_id.as_deref().map(plain)?;
    Some(json!({ "trace_id": id, "span_id": line.span_id.as_deref().map(plain) }))
}

fn alarm(alarm: &Alarm) -> Value {
    json!({ "code": alarm.code, "at": Timestamp(alarm.at).rfc3339() })
}

/// The decision on the bus instead of the one that is kept here.
fn on_bus(current: &Contradicting, secrets: Secrets) -> Value {
    let said = json_value(&current.raw).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(|text| secrets.line(text));
    json!({
        "decision_id": text(&said["decision_id"]),
        "verdict": text(&said["verdict"]),
        "by": text(&said["decided_by"]["name"]),
        "message": text(&said["message"]),
        "stored_at": Timestamp(current.at).rfc3339(),
        "stream_seq": current.stream_seq,
    })
}

/// A vote; all null while it may not be shown to who has yet to vote.
fn vote(vote: &ShownVote) -> Value {
    let open = match vote {
        ShownVote::Hidden => None,
        ShownVote::Open(vote) => Some(vote),
    };
    let text =
        |field: fn(&StoredVote) -> Option<&str>| open.and_then(|vote| field(vote).map(plain));
    json!({
        "vote_id": text(|vote| vote.vote_id.as_deref()),
        "key": text(|vote| Some(&vote.key)),
        "name": text(|vote| vote.name.as_deref()),
        "verdict": text(|vote| vote.verdict.as_deref()),
        "args_digest": text(|vote| vote.args_digest.as_deref()),
        "stored_at": open.map(|vote| Timestamp(vote.at).rfc3339()),
        "stream_seq": open.map(|vote| vote.stream_seq),
        "mine": open.is_some_and(|vote| vote.mine),
    })
}

/// A receipt: `at` is the server's stamp, the rest is the agent's word.
fn receipt(receipt: &StoredReceipt, secrets: Secrets) -> Value {
    let said = json_value(&receipt.detail).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(|text| secrets.line(text));
    let degraded = said.get("degraded").and_then(Value::as_array);
    let degraded: Vec<String> = degraded.into_iter().flatten().filter_map(text).collect();
    json!({
        "decision_id": plain(&receipt.decision_id),
        "stage": receipt.stage,
        "at": Timestamp(receipt.at).rfc3339(),
        "executed_args_digest": said.get("executed_args_digest").and_then(text),
        "degraded": degraded,
        "message": said.get("message").and_then(text),
    })
}
