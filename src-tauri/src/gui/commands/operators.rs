//! The Operators screen.

use countersign_core::ops::realm::acceptance;
use countersign_view::{IpcError, Nothing, OperatorsView};

use crate::gui::desk::Desk;
use crate::gui::view::operator_line;
use countersign_view::window::fault;

pub(crate) async fn operators_list(desk: &Desk, _: Nothing) -> Result<OperatorsView, IpcError> {
    let all = desk.app.operators(true).await.map_err(fault)?;
    let consoles = desk.app.consoles().await;
    Ok(OperatorsView {
        operators: all
            .iter()
            .map(|line| operator_line(line, &consoles))
            .collect(),
        approval: acceptance(&desk.app),
        server_ms: desk.app.now().0,
    })
}
