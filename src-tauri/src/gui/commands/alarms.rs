//! The list of alarms, and that one was seen.

use countersign_view::{AcknowledgeArgs, AlarmItem, AlarmsView, IpcError, Nothing};

use crate::gui::desk::Desk;
use crate::gui::view::alarm_item;
use countersign_view::window::fault;

pub(crate) async fn alarms_list(desk: &Desk, _: Nothing) -> Result<AlarmsView, IpcError> {
    let alarms = desk.app.alarms().await.map_err(fault)?;
    let operators = desk.app.operators(true).await.map_err(fault)?;
    let item = |alarm| alarm_item(alarm, &operators);
    Ok(AlarmsView {
        alarms: alarms.iter().map(item).collect(),
    })
}

pub(crate) async fn acknowledge_alarm(
    desk: &Desk,
    args: AcknowledgeArgs,
) -> Result<AlarmItem, IpcError> {
    let alarm = desk.app.acknowledge_alarm(args.id).await.map_err(fault)?;
    let operators = desk.app.operators(true).await.map_err(fault)?;
    Ok(alarm_item(&alarm, &operators))
}
