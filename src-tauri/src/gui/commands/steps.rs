//! The steps of critical and irreversible calls before a rule approves such calls.

use countersign_core::domain::Timestamp;
use countersign_core::domain::facts::RequestSummary;
use countersign_core::policy::Rule;
use countersign_core::policy::preview::Preview;
use countersign_view::{DecidePath, IpcError, StepsDone};
use countersign_wire::ErrorCode;
use countersign_wire::WorkspaceName;

use super::decide::check_way;
use super::rules::DENIED_LIMIT;
use crate::gui::desk::Desk;
use countersign_view::window::{CardDetails, path_of, read_request};
use countersign_view::window::{fault, refuse};

/// So far back such calls are looked for.
const DAYS: i64 = 90;

/// Whether a call is approved only after every step.
pub(super) fn takes_all(line: &RequestSummary) -> bool {
    read_request(line).is_some_and(|request| path_of(&request) == DecidePath::Critical)
}

/// The newest call of this kind that the rule approves, where its steps are not done; `evidence` is a simulation of it.
pub(super) async fn of_rule(
    desk: &Desk,
    workspace: &WorkspaceName,
    (rule, evidence): (&Rule, Option<Preview>),
    done: Option<&StepsDone>,
) -> Result<Option<String>, IpcError> {
    let since = desk.app.now().plus_ms(-DAYS * Timestamp::DAY_MS);
    let tried = desk
        .app
        .preview_rule(workspace, rule.clone(), Some(since), |_| true);
    let found = match evidence {
        Some(found) => Some(found),
        None => tokio::time::timeout(DENIED_LIMIT, tried)
            .await
            .ok()
            .transpose()
            .map_err(fault)?,
    };
    let Some(found) = found else {
        let why = "it is not known yet whether this rule approves critical or irreversible calls; wait for its simulation, then enable it";
        return Err(refuse(ErrorCode::Failed, why));
    };
    let lines = desk
        .app
        .lines(&Vec::from_iter(found.strict))
        .await
        .map_err(fault)?;
    let Some(key) = lines.first().and_then(RequestSummary::key) else {
        return Ok(None);
    };
    let key = key.to_string();
    let story = desk.story(&key).await?;
    let is_it =
        |done: &&StepsDone| done.key == key && done.seen_request_digest == story.request_digest;
    let Some(done) = done.filter(is_it) else {
        return Ok(Some(key));
    };
    check(desk, &story, done)?;
    Ok(None)
}

/// Refuses steps that are not done on the call as it is.
fn check(desk: &Desk, story: &CardDetails, done: &StepsDone) -> Result<(), IpcError> {
    if done.seen_request_digest != story.request_digest {
        let why = "another request was shown; look at the card again";
        return Err(refuse(ErrorCode::DigestDiffers, why));
    }
    let steps = (done.typed.as_deref(), done.revealed.as_slice());
    check_way(story, steps, story.request.args.as_ref(), &desk.hiding_key)
}

/// Refuses a change that approves such calls while they wait, but for the one whose steps are done.
pub(super) async fn of_waiting(
    desk: &Desk,
    waiting: &[String],
    done: Option<&StepsDone>,
) -> Result<(), IpcError> {
    for key in waiting {
        if takes_all(&desk.app.find(key).await.map_err(fault)?) {
            if let Some(done) = done.filter(|done| done.key == *key) {
                let story = desk.story(key).await?;
                check(desk, &story, done)?;
                continue;
            }
            let why = format!("{key} is critical or irreversible and still waits: decide it first");
            return Err(refuse(ErrorCode::NotApprovable, &why));
        }
    }
    Ok(())
}
