//! The operator's verdicts.
//!
//! A verdict is reported once the stream has acknowledged it. It is sent at once: a command cannot be undone.

use countersign_core::App;
use countersign_core::domain::facts::{Approvals, RequestSummary};
use countersign_core::ops::DecideCommand;
use countersign_core::ops::scrutiny::{Weight, findings_of};
use countersign_core::ops::verdicts::Decided;
use countersign_wire::{ApprovalRequest, Response, Scope, Verdict};
use serde_json::{Value, json};

use super::args::{self, Approve, Deny, Respond, Verdict as VerdictArgs};
use super::config::Settings;
use super::console::deciding_here;
use super::failure::Failure;
use super::input;
use super::line::{fields, what};
use super::output::Output;
use super::show::scrutiny;
use countersign_view::secrets::Secrets;

/// Approves, or modifies when arguments are given.
pub(crate) async fn approve(
    settings: &Settings,
    out: Output,
    approve: Approve,
) -> Result<(), Failure> {
    let edited = approve
        .args
        .as_deref()
        .map(|given| input::json_or_file("--args", given));
    let edited_args = edited.transpose()?;
    let message = input::optional_text("--message", approve.message)?;
    let verdict = if edited_args.is_some() {
        Verdict::Modify
    } else {
        Verdict::Approve
    };
    let seen_args_digest = approve.digest;
    let scope = match approve.scope {
        args::Scope::Once => Scope::Once,
        args::Scope::Session => Scope::Session,
        args::Scope::Always => Scope::Always,
    };
    give(settings, out, &approve.id.id, verdict, |command| {
        DecideCommand {
            edited_args,
            message,
            seen_args_digest,
            scope,
            ..command
        }
    })
    .await
}

/// Denies, and ends the agent's run where that is asked for and possible.
pub(crate) async fn deny(settings: &Settings, out: Output, deny: Deny) -> Result<(), Failure> {
    let message = Some(input::text("--message", deny.message)?);
    let verdict = if deny.terminate {
        Verdict::Terminate
    } else {
        Verdict::Deny
    };
    give(settings, out, &deny.id.id, verdict, |command| {
        DecideCommand { message, ..command }
    })
    .await
}

/// Skips the call.
pub(crate) async fn skip(
    settings: &Settings,
    out: Output,
    skip: VerdictArgs,
) -> Result<(), Failure> {
    plain_verdict(settings, out, skip, Verdict::Skip).await
}

/// Hands the question on.
pub(crate) async fn escalate(
    settings: &Settings,
    out: Output,
    escalate: VerdictArgs,
) -> Result<(), Failure> {
    plain_verdict(settings, out, escalate, Verdict::Escalate).await
}

async fn plain_verdict(
    settings: &Settings,
    out: Output,
    args: VerdictArgs,
    verdict: Verdict,
) -> Result<(), Failure> {
    let message = input::optional_text("--message", args.message)?;
    give(settings, out, &args.id.id, verdict, |command| {
        DecideCommand { message, ..command }
    })
    .await
}

/// Answers.
pub(crate) async fn respond(
    settings: &Settings,
    out: Output,
    respond: Respond,
) -> Result<(), Failure> {
    let message = input::optional_text("--message", respond.message)?;
    let content = match (respond.answer.content, respond.answer.json_content) {
        (Some(text), _) => Value::String(input::text("--content", text)?),
        (None, Some(file)) => input::json_file("--json-content", &file)?,
        // clap asks for one of the two.
        (None, None) => return Err(Failure::usage("give --content or --json-content")),
    };
    let (id, verdict) = (&respond.id.id, Verdict::Respond);
    deciding_here(settings, async |app| {
        let key = app.resolve(id).await?;
        let named = match respond.selected_key {
            Some(key) => Some(key),
            None => named_option(&app.find(id).await?, &content),
        };
        let command = DecideCommand {
            response: Some(Response {
                content,
                selected_key: named,
            }),
            message,
            ..DecideCommand::by_operator(key, verdict)
        };
        let decided = app.decide(command).await?;
        report(app, out, id, verdict, &decided).await
    })
    .await
}

/// The option that is meant by its key alone: at a shell keys are what is seen and typed.
fn named_option(row: &RequestSummary, content: &Value) -> Option<String> {
    let request: ApprovalRequest = serde_json::from_slice(&row.raw).ok()?;
    let options = request.question?.options?;
    let mut keys = options.into_iter().filter_map(|option| option.key);
    keys.find(|key| content.as_str() == Some(key))
}

async fn give(
    settings: &Settings,
    out: Output,
    id: &str,
    verdict: Verdict,
    complete: impl FnOnce(DecideCommand) -> DecideCommand,
) -> Result<(), Failure> {
    deciding_here(settings, async |app| {
        let key = app.resolve(id).await?;
        let stops = match verdict.lets_it_run() {
            true => stops(app, id).await?,
            false => Vec::new(),
        };
        let decided = app
            .decide(complete(DecideCommand::by_operator(key, verdict)))
            .await?;
        // Only where it went out: an error is alone on standard error.
        for line in &stops {
            out.caution(line);
        }
        report(app, out, id, verdict, &decided).await
    })
    .await
}

/// What is nearly always wrong in a call that is about to run.
async fn stops(app: &App, id: &str) -> Result<Vec<String>, Failure> {
    let found = findings_of(&app.find(id).await?).unwrap_or_default();
    Ok(scrutiny::lines(&found, Weight::Stop, Secrets::Hidden))
}

async fn report(
    app: &App,
    out: Output,
    id: &str,
    asked: Verdict,
    decided: &Decided,
) -> Result<(), Failure> {
    let row = app.find(id).await?;
    if let Decided::Voted {
        verdict,
        vote_id,
        seq,
    } = decided
    {
        return voted(out, &row, *verdict, &vote_id.to_string(), *seq);
    }
    let (given, seq) = match decided {
        Decided::Stored { verdict, seq, .. } => (*verdict, Some(*seq)),
        Decided::Held { .. } | Decided::Voted { .. } => (asked, None),
    };
    let note = (given != asked)
        .then(|| format!("the agent does not support {asked}; {given} was sent instead"));
    let place = seq.map_or_else(String::new, |seq| format!(", stored on the bus as {seq}"));
    let text = format!(
        "{} {}/{}/{} ({}){place}",
        past(given),
        row.ws,
        row.agent,
        row.request_id,
        what(&row)
    );
    if out.json {
        let mut line = fields(&row);
        // The projection may be a moment behind the acknowledgement.
        line.insert("verdict".to_owned(), json!(given.as_str()));
        if let Some(seq) = seq {
            line.insert("state".to_owned(), json!("decided"));
            line.insert("stream_seq".to_owned(), json!(seq));
        }
        line.insert("note".to_owned(), json!(note));
        let printed = out.json_line(&Value::Object(line));
        return printed.map_err(|error| Failure::unprinted(error, &text));
    }
    out.line(&text)
        .map_err(|error| Failure::unprinted(error, &text))?;
    if let Some(note) = note {
        out.remark(&note);
    }
    Ok(())
}

/// One of several votes is on the stream; the request waits for the others.
fn voted(
    out: Output,
    row: &RequestSummary,
    verdict: Verdict,
    vote_id: &str,
    seq: u64,
) -> Result<(), Failure> {
    let text = format!(
        "your vote to {verdict} {}/{}/{} ({}) is stored on the bus as {seq}, {} of {}",
        row.ws,
        row.agent,
        row.request_id,
        what(row),
        row.votes,
        row.approvals_required,
    );
    let printed = if out.json {
        let mut line = fields(row);
        line.insert(
            "vote".to_owned(),
            json!({ "vote_id": vote_id, "verdict": verdict.as_str(), "stream_seq": seq }),
        );
        out.json_line(&Value::Object(line))
    } else {
        out.line(&text)
    };
    printed.map_err(|error| Failure::unprinted(error, &text))?;
    if let Some(advice) = Approvals::of(row).and_then(|approvals| approvals.advice()) {
        out.remark(&advice);
    }
    Ok(())
}

fn past(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approve => "approved",
        Verdict::Modify => "approved with other arguments",
        Verdict::Deny => "denied",
        Verdict::Skip => "skipped",
        Verdict::Respond => "answered",
        Verdict::Escalate => "escalated",
        Verdict::Terminate => "denied, and the run ends:",
    }
}
