//! Bytes as received, in parts.

use countersign_wire::ipc::{IpcError, IpcErrorCode, RawArgs, RawChunk};

use crate::gui::desk::Desk;
use crate::gui::fault::{fault, refuse};
use crate::gui::view::raw_chunk;

pub(crate) async fn raw(desk: &Desk, args: RawArgs) -> Result<RawChunk, IpcError> {
    let line = desk.app.find(&args.key).await.map_err(fault)?;
    raw_chunk(&line.raw, args.offset)
        .ok_or_else(|| refuse(IpcErrorCode::Usage, "there are no bytes at that place"))
}

pub(crate) async fn rejected_raw(desk: &Desk, args: RawArgs) -> Result<RawChunk, IpcError> {
    raw(desk, args).await
}
