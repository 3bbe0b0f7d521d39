//! The Agents screen.

use countersign_view::{AgentsView, ChooseTargetArgs, IpcError, Nothing};
use countersign_wire::AgentKey;
use countersign_wire::ErrorCode;

use crate::gui::desk::Desk;
use countersign_view::window::agent_view;
use countersign_view::window::{fault, refuse};

pub(crate) async fn agents_list(desk: &Desk, _: Nothing) -> Result<AgentsView, IpcError> {
    let agents = desk.app.agents().await.map_err(fault)?;
    Ok(AgentsView {
        agents: agents.iter().map(agent_view).collect(),
        server_ms: desk.app.now().0,
    })
}

pub(crate) async fn choose_target(
    desk: &Desk,
    args: ChooseTargetArgs,
) -> Result<Nothing, IpcError> {
    let agent: AgentKey = args
        .agent
        .parse()
        .map_err(|_| refuse(ErrorCode::InvalidArgs, "this is not an agent's name"))?;
    let pointer = args.pointer.as_deref();
    let chosen = desk.app.choose_typed_target(&agent, &args.tool, pointer);
    chosen.await.map_err(fault)?;
    Ok(Nothing {})
}
