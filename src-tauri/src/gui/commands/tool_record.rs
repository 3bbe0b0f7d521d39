//! The record of a card's tool.

use countersign_core::ops::tool_record::NEWEST;
use countersign_view::{IpcError, KeyArgs, ToolRecordView};

use crate::gui::desk::Desk;
use countersign_view::window::fault;

pub(crate) async fn tool_record(desk: &Desk, args: KeyArgs) -> Result<ToolRecordView, IpcError> {
    let line = desk.practice.named(&args.key).line(&desk.app).await?;
    let record = desk.app.tool_record(&line).await.map_err(fault)?;
    let (record, cut) = record.unwrap_or_default();
    Ok(ToolRecordView {
        approved: record.approved,
        denied: record.denied,
        expired: record.expired,
        other: record.other,
        automatic: record.automatic,
        median_ms: record.median_ms,
        newest: cut.then_some(NEWEST),
    })
}
