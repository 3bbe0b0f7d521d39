//! Panic, pause and stop.

use countersign_wire::AgentKey;
use countersign_wire::ipc::{BrakeArgs, BrakeOutcome, IpcError, IpcErrorCode, PanicArgs};

use crate::gui::desk::Desk;
use crate::gui::fault::{fault, refuse};

pub(crate) async fn brake(desk: &Desk, args: BrakeArgs) -> Result<BrakeOutcome, IpcError> {
    let agent: AgentKey = args
        .agent
        .parse()
        .map_err(|_| refuse(IpcErrorCode::NotFound, "this names no agent"))?;
    let set = desk
        .app
        .set_brake(&agent, args.state.into())
        .await
        .map_err(fault)?;
    Ok(BrakeOutcome {
        terminated: set.terminated,
    })
}

pub(crate) async fn panic(desk: &Desk, args: PanicArgs) -> Result<BrakeOutcome, IpcError> {
    let set = desk.app.set_panic(args.on).await.map_err(fault)?;
    Ok(BrakeOutcome {
        terminated: set.terminated,
    })
}
