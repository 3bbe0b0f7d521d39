//! The Agents screen.

use countersign_wire::ipc::{AgentsView, IpcError, Nothing};

use crate::gui::desk::Desk;
use crate::gui::fault::fault;
use crate::gui::view::agent_view;

pub(crate) async fn agents_list(desk: &Desk, _: Nothing) -> Result<AgentsView, IpcError> {
    let agents = desk.app.agents().await.map_err(fault)?;
    Ok(AgentsView {
        agents: agents.iter().map(agent_view).collect(),
        server_ms: desk.app.now().0,
    })
}
