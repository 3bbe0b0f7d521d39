//! The Operators screen.

use countersign_view::{IpcError, Nothing, OperatorsView};

use crate::gui::desk::Desk;
use crate::gui::view::operator_line;
use countersign_view::window::fault;

pub(crate) async fn operators_list(desk: &Desk, _: Nothing) -> Result<OperatorsView, IpcError> {
    let all = desk.app.operator_origins().await.map_err(fault)?;
    Ok(OperatorsView {
        operators: all.iter().map(|of| operator_line(of, &all)).collect(),
        approval: desk.app.operators().1,
        server_ms: desk.app.now().0,
    })
}
