//! Tries a rule on the past while the operator looks on.

use countersign_core::domain::Timestamp;
use countersign_core::ops::waiting_calls::WaitingCall;
use countersign_core::policy::Effect;
use countersign_core::policy::preview::Case;
use countersign_core::policy::simulate::Flip;
use countersign_redaction::Hiding;
use countersign_view::{
    DeniedCalls, IpcError, Nothing, PreviewCase, PreviewNumber, PreviewReport, PreviewView,
    StartPreviewArgs, WaitingCalls,
};
use countersign_wire::ErrorCode;

use super::rules::{good, workspace};
use crate::gui::desk::Desk;
use countersign_view::secrets::hiding;
use countersign_view::window::history_row;
use countersign_view::window::{fault, refuse};

/// Cases of one kind that the page shows.
const SHOWN: usize = 20;

pub(crate) async fn start_preview(
    desk: &Desk,
    args: StartPreviewArgs,
) -> Result<PreviewNumber, IpcError> {
    let rule = good(args.text).await?;
    let workspace = workspace(&args.workspace)?;
    let days = i64::from(args.days);
    let since = (days > 0).then(|| desk.app.now().plus_ms(-days * Timestamp::DAY_MS));
    let number = desk.previews.start(&desk.app, workspace, rule, since);
    Ok(PreviewNumber { number })
}

pub(crate) async fn preview(desk: &Desk, args: PreviewNumber) -> Result<PreviewView, IpcError> {
    let Some(seen) = desk.previews.look(args.number) else {
        let why = "another simulation took its place; start it again";
        return Err(refuse(ErrorCode::NotFound, why));
    };
    let mut view = PreviewView {
        done: seen.done,
        of: seen.of,
        report: None,
        trouble: None,
    };
    match seen.ended {
        None => {}
        Some(Err(why)) => view.trouble = Some(hiding().escape_lines(&why).plain()),
        Some(Ok(found)) => {
            view.report = Some(Box::new(PreviewReport {
                total: found.total,
                approve: found.approve,
                ask: found.ask,
                deny: found.deny,
                agreed: found.agreed,
                denied: found.denied,
                refused: found.refused,
                unseen: found.unseen,
                waiting: found.waiting,
                newly_high: found.newly_high,
                newly_critical: found.newly_critical,
                unsure: found.unsure,
                unsure_why: found.unsure_why.as_deref().map(|why| hiding().escape(why)),
                flips: cases(desk, found.flips.iter().map(judged)).await?,
                newly: cases(desk, found.newly.iter().map(judged)).await?,
                samples: cases(desk, found.samples.iter().map(judged)).await?,
            }));
        }
    }
    Ok(view)
}

pub(crate) async fn stop_preview(desk: &Desk, args: PreviewNumber) -> Result<Nothing, IpcError> {
    desk.previews.stop(args.number);
    Ok(Nothing {})
}

/// What people denied and a change of the rules would let run; `flips` are none where the search took too long.
pub(super) async fn denied_calls(
    desk: &Desk,
    flips: Option<&[Flip]>,
) -> Result<DeniedCalls, IpcError> {
    let newest = flips.unwrap_or_default().iter().rev();
    Ok(DeniedCalls {
        count: flips.and_then(|flips| flips.len().try_into().ok()),
        calls: cases(desk, newest.map(|flip| (flip.request, Effect::Approve))).await?,
    })
}

/// Waiting calls that a change would approve at once.
pub(super) async fn waiting_calls(
    desk: &Desk,
    waiting: &[WaitingCall],
) -> Result<WaitingCalls, IpcError> {
    let first = waiting.iter().map(|of| (of.request, Effect::Approve));
    Ok(WaitingCalls {
        keys: waiting.iter().map(|of| of.key.to_string()).collect(),
        calls: cases(desk, first).await?,
    })
}

fn judged(case: &Case) -> (i64, Effect) {
    (case.request, case.rule)
}

/// The first cases with what was asked then, in their order.
async fn cases(
    desk: &Desk,
    cases: impl Iterator<Item = (i64, Effect)>,
) -> Result<Vec<PreviewCase>, IpcError> {
    let cases: Vec<_> = cases.take(SHOWN).collect();
    let ids: Vec<i64> = cases.iter().map(|(request, _)| *request).collect();
    let lines = desk.app.lines(&ids).await.map_err(fault)?;
    let own_key = desk.app.identity().human_key().to_string();
    let hiding = Hiding::new(desk.hiding_key);
    let known = cases.iter().filter_map(|(request, rule)| {
        let line = lines.iter().find(|line| line.id == *request)?;
        Some(PreviewCase {
            row: history_row(line, &hiding, &own_key),
            rule: *rule,
        })
    });
    Ok(known.collect())
}
