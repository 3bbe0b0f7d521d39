//! Verdicts of the window.
//!
//! What was seen, typed and revealed is checked here once more: the page is untrusted.

use countersign_core::Fault;
use countersign_core::domain::State;
use countersign_core::domain::haste::InFront;
use countersign_core::ops::edited::misfits;
use countersign_core::ops::verdicts::Decided;
use countersign_core::ops::{DecideCommand, Look};
use countersign_view::WindowFault;
use countersign_view::{Answer, DecideArgs, DecideOutcome, DecidePath, IpcError, KeyArgs, Nothing};
use countersign_wire::ErrorCode;
use countersign_wire::{Response, Scope, Verdict};
use serde_json::{Value, json};

use crate::gui::desk::Desk;
use crate::gui::practice;
use countersign_view::window::{CardDetails, edit_check, reveals, strict_json};
use countersign_view::window::{fault, refuse};

pub(crate) async fn decide(desk: &Desk, args: DecideArgs) -> Result<DecideOutcome, IpcError> {
    let story = match desk.kept.take(&args.key, &args.seen_request_digest) {
        Some(shown) => shown,
        None => desk.story(&args.key).await?,
    };
    if args.seen_request_digest != story.request_digest {
        return Err(refuse(
            ErrorCode::DigestDiffers,
            "the request that was shown is not the stored one; look at the card again",
        ));
    }
    let runs = args.verdict.lets_it_run();
    let edited = edited(&story, &args, &desk.hiding_key)?;
    if runs {
        let would_run = edited.as_ref().or(story.request.args.as_ref());
        let done = (args.typed.as_deref(), args.revealed.as_slice());
        check_way(&story, done, would_run, &desk.hiding_key)?;
    }
    if let Some(answered) = practice::decide(desk, &args, edited.as_ref()).await? {
        return Ok(answered);
    }
    let front = args.front_ms.map(|front_ms| InFront {
        front_ms: front_ms.into(),
        read_ms: story.read_ms(),
    });
    let command = DecideCommand {
        seen_args_digest: args.seen_args_digest.clone(),
        seen_request_digest: Some(story.request_digest.clone()),
        edited_args: edited,
        message: args.message.clone(),
        response: response(&story, &args)?,
        scope: args.scope.unwrap_or(Scope::Once),
        hold: runs && story.path() == DecidePath::Low,
        look: Look {
            to_end: args.to_end,
            ..Look::in_window(front)
        },
        ..DecideCommand::by_operator(story.key.clone(), args.verdict)
    };
    outcome(args.verdict, desk.app.decide(command).await)
}

pub(crate) async fn undo(desk: &Desk, args: KeyArgs) -> Result<Nothing, IpcError> {
    let key = desk.app.resolve(&args.key).await.map_err(fault)?;
    desk.app.undo(&key).await.map_err(fault)?;
    Ok(Nothing {})
}

fn outcome(wanted: Verdict, decided: Result<Decided, Fault>) -> Result<DecideOutcome, IpcError> {
    let (state, verdict, release_ms) = match decided {
        Ok(Decided::Held { release_at }) => (State::Holding, wanted, Some(release_at.0)),
        Ok(Decided::Stored { verdict, .. }) => (State::Decided, verdict, None),
        // One of several votes: the request waits for the other operators.
        Ok(Decided::Voted { verdict, .. }) => (State::Pending, verdict, None),
        // It stays in the outbox and goes out when the bus is back.
        Err(error) if error.is_queued() => (State::Queued, wanted, None),
        Err(error) => return Err(fault(error)),
    };
    Ok(DecideOutcome {
        state,
        verdict: verdict.as_str().to_owned(),
        release_ms,
        practice: None,
    })
}

/// Hidden values revealed on every way that asks for it; on the critical way the target typed.
pub(super) fn check_way(
    story: &CardDetails,
    (typed, revealed): (Option<&str>, &[u32]),
    would_run: Option<&Value>,
    key: &[u8; 32],
) -> Result<(), IpcError> {
    let path = story.path();
    let missing = reveals(&story.request, key, path).any(|reveal| !revealed.contains(&reveal));
    if missing {
        return Err(refuse(
            WindowFault::NotArmed,
            "reveal the hidden values (V) before you approve",
        ));
    }
    if path == DecidePath::Critical {
        let target = story.typed_target(would_run, key);
        if target.text.is_none() || target.text.as_deref() != typed {
            let what = match target.pointer {
                Some(pointer) => format!("the value of {}", pointer.plain()),
                None => "the tool's name".to_owned(),
            };
            return Err(refuse(
                WindowFault::NotArmed,
                &format!("type {what} exactly before you approve"),
            ));
        }
    }
    Ok(())
}

fn edited(
    story: &CardDetails,
    args: &DecideArgs,
    key: &[u8; 32],
) -> Result<Option<Value>, IpcError> {
    let (Verdict::Modify, Some(text), Some(value)) =
        (args.verdict, &args.edited, &story.request.args)
    else {
        return match args.verdict {
            Verdict::Modify => Err(refuse(
                ErrorCode::InvalidArgs,
                "there is no edit to send; edit the arguments (E), or approve them as they are",
            )),
            _ => Ok(None),
        };
    };
    let schema = story
        .request
        .tool
        .as_ref()
        .and_then(|tool| tool.args_schema.as_ref());
    let checked = edit_check(value, text, key, |edited| {
        schema.map_or_else(Vec::new, |schema| misfits(schema, edited))
    });
    let first = checked.check.problems.first();
    if let Some(problem) = first {
        return Err(IpcError::new(
            ErrorCode::InvalidArgs,
            problem.message.plain(),
        ));
    }
    if checked.check.args_digest.is_none() || checked.check.args_digest != args.seen_edit_digest {
        return Err(refuse(
            ErrorCode::DigestDiffers,
            "the edit that was compared is not the one to be sent; compare it again",
        ));
    }
    Ok(checked.value)
}

fn response(story: &CardDetails, args: &DecideArgs) -> Result<Option<Response>, IpcError> {
    let invalid = |why: &str| refuse(ErrorCode::InvalidArgs, why);
    let Some(answer) = &args.answer else {
        return Ok(None);
    };
    let response = match answer {
        Answer::Text { text } => Response {
            content: json!(text),
            selected_key: None,
        },
        Answer::Form { json } => {
            let content = strict_json(json).map_err(|problem| invalid(&problem.message))?;
            Response {
                content,
                selected_key: None,
            }
        }
        Answer::Option { index, text } => {
            let options = story
                .request
                .question
                .as_ref()
                .and_then(|q| q.options.as_ref());
            let option = options
                .and_then(|options| options.get(*index as usize))
                .ok_or_else(|| invalid("the question has no such option"))?;
            let label = option.label.as_ref().or(option.key.as_ref());
            let content = text
                .as_ref()
                .or(label)
                .map_or(Value::Null, |text| json!(text));
            Response {
                content,
                selected_key: option.key.clone(),
            }
        }
    };
    Ok(Some(response))
}
