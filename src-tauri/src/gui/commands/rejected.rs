//! Rejected messages.

use countersign_core::domain::State;
use countersign_core::domain::facts::RequestSummary;
use countersign_core::store::request_list::Filter;
use countersign_view::{
    IpcError, KeyArgs, RejectedDetail, RejectedPage, RejectedPageArgs, RejectedRow,
};
use countersign_wire::ErrorCode;
use countersign_wire::{escape, request_subject};

use super::raw::audit_bytes;
use crate::gui::desk::Desk;
use countersign_view::secrets::hiding;
use countersign_view::window::raw_chunk;
use countersign_view::window::{fault, refuse};

const PAGE: i64 = 100;

pub(crate) async fn rejected_list(
    desk: &Desk,
    args: RejectedPageArgs,
) -> Result<RejectedPage, IpcError> {
    let filter = Filter {
        state: Some(State::Rejected),
        ..Filter::default()
    };
    let lines = desk
        .app
        .history(&filter, args.before, PAGE)
        .await
        .map_err(fault)?;
    let full = i64::try_from(lines.len()).is_ok_and(|count| count == PAGE);
    let next = lines.last().filter(|_| full).map(|line| line.id);
    Ok(RejectedPage {
        rows: lines.iter().map(row).collect(),
        next,
    })
}

pub(crate) async fn rejected_detail(
    desk: &Desk,
    args: KeyArgs,
) -> Result<RejectedDetail, IpcError> {
    let story = desk.app.show(&args.key).await.map_err(fault)?;
    let line = &story.line;
    if line.state != State::Rejected.as_str() {
        return Err(refuse(
            ErrorCode::NotFound,
            "this message was not rejected; look for it in the history",
        ));
    }
    audit_bytes(desk, line).await?;
    let raw = raw_chunk(&line.raw, 0).ok_or_else(|| {
        refuse(
            ErrorCode::Failed,
            "its bytes are no longer kept: retention removed them",
        )
    })?;
    Ok(RejectedDetail {
        row: row(line),
        stream_seq: line.request_seq,
        answered: story.decision.is_some(),
        raw,
    })
}

fn row(line: &RequestSummary) -> RejectedRow {
    let key = line.key();
    RejectedRow {
        key: key
            .as_ref()
            .map_or_else(|| line.request_id.clone(), ToString::to_string),
        code: line.error_code.clone().unwrap_or_default(),
        subject: key.as_ref().map(|key| escape(&request_subject(key))),
        detail: hiding().escape_lines(line.error_detail.as_deref().unwrap_or_default()),
        at_ms: line.stored_at,
    }
}
