//! Bytes as received, in parts.

use countersign_core::domain::facts::RequestSummary;
use countersign_redaction::is_secret_value;
use countersign_view::{IpcError, RawArgs, RawChunk};
use countersign_wire::ErrorCode;
use countersign_wire::request_digest;
use serde_json::json;

use crate::gui::desk::Desk;
use countersign_view::window::raw_chunk;
use countersign_view::window::refuse;

pub(crate) async fn raw(desk: &Desk, args: RawArgs) -> Result<RawChunk, IpcError> {
    let line = desk.practice.named(&args.key).line(&desk.app).await?;
    if args.offset == 0 {
        audit_bytes(desk, &line).await?;
    }
    raw_chunk(&line.raw, args.offset).ok_or_else(|| {
        refuse(
            ErrorCode::Usage,
            "there are no bytes at that place; open it again",
        )
    })
}

/// Bytes are shown as they are: whoever looks at secrets in them is named in the audit log before.
pub(super) async fn audit_bytes(desk: &Desk, line: &RequestSummary) -> Result<(), IpcError> {
    if !is_secret_value(&String::from_utf8_lossy(&line.raw)) {
        return Ok(());
    }
    let subject = line
        .key()
        .map_or_else(|| line.request_id.clone(), |key| key.to_string());
    let detail =
        json!({ "reveal": "bytes", "request_digest": request_digest(&line.raw).to_string() });
    desk.log_reveal(&subject, detail).await
}

pub(crate) async fn rejected_raw(desk: &Desk, args: RawArgs) -> Result<RawChunk, IpcError> {
    raw(desk, args).await
}
