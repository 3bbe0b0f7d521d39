//! The level of desktop notifications that the operator chose.

use countersign_view::{IpcError, Nothing, NotifyArgs};

use crate::gui::desk::Desk;

pub(crate) async fn notify(desk: &Desk, args: NotifyArgs) -> Result<Nothing, IpcError> {
    desk.notify_level.send_replace(args.level);
    Ok(Nothing {})
}
