//! Panic, pause, stop and bypasses.

use std::time::Duration;

use countersign_view::{BrakeArgs, BrakeOutcome, BypassArgs, IpcError, IpcErrorCode, PanicArgs};
use countersign_wire::AgentKey;

use crate::gui::desk::Desk;
use crate::gui::fault::{fault, refuse};

pub(crate) async fn brake(desk: &Desk, args: BrakeArgs) -> Result<BrakeOutcome, IpcError> {
    let agent = agent(&args.agent)?;
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

pub(crate) async fn bypass(desk: &Desk, args: BypassArgs) -> Result<BrakeOutcome, IpcError> {
    let agent = agent(&args.agent)?;
    let set = match args.grant {
        Some(grant) => {
            let lasting = Duration::from_secs(grant.seconds.into());
            desk.app.set_bypass(&agent, grant.up_to, lasting).await
        }
        None => desk.app.end_bypass(&agent).await,
    };
    Ok(BrakeOutcome {
        terminated: set.map_err(fault)?.terminated,
    })
}

fn agent(key: &str) -> Result<AgentKey, IpcError> {
    key.parse().map_err(|_| {
        refuse(
            IpcErrorCode::NotFound,
            "this names no agent; write it as WORKSPACE/AGENT",
        )
    })
}
