//! Exports of the history.

use countersign_view::{
    ExportArgs, ExportFormat, ExportNumber, ExportStarted, ExportView, IpcError, Nothing,
};
use countersign_wire::ErrorCode;

use super::history::filter;
use crate::export::Format;
use crate::gui::desk::Desk;
use countersign_view::secrets::hiding;
use countersign_view::window::refuse;

#[cfg(target_os = "linux")]
pub(crate) async fn start_export(desk: &Desk, args: ExportArgs) -> Result<ExportStarted, IpcError> {
    let filter = filter(args.filter)?;
    let format = match args.format {
        ExportFormat::Csv => Format::Csv,
        ExportFormat::Jsonl => Format::Jsonl,
    };
    let now = desk.app.now().rfc3339();
    let day = now.get(..10).unwrap_or_default();
    let name = format!("countersign-history-{day}.{}", format.as_str());
    let file = crate::gui::save_dialog::ask("Export the history", name).await;
    let start = |file| desk.exports.start(&desk.app, filter, format, file);
    Ok(ExportStarted {
        number: file.map(start),
    })
}

#[cfg(not(target_os = "linux"))]
pub(crate) async fn start_export(_: &Desk, _: ExportArgs) -> Result<ExportStarted, IpcError> {
    let why = "this system's window cannot ask for a file; use `countersign export`";
    Err(refuse(ErrorCode::Failed, why))
}

pub(crate) async fn export(desk: &Desk, args: ExportNumber) -> Result<ExportView, IpcError> {
    let Some(running) = desk.exports.look(args.number) else {
        let why = "this export has ended; look for its file";
        return Err(refuse(ErrorCode::NotFound, why));
    };
    let ended = running.ended();
    let file = running.file().file_name().unwrap_or_default();
    Ok(ExportView {
        file: hiding().escape(&file.to_string_lossy()),
        done: running.done(),
        ended: ended.is_some(),
        trouble: ended
            .and_then(Result::err)
            .map(|why| hiding().escape_lines(&why).plain()),
    })
}

pub(crate) async fn stop_export(desk: &Desk, args: ExportNumber) -> Result<Nothing, IpcError> {
    desk.exports.stop(args.number);
    Ok(Nothing {})
}
