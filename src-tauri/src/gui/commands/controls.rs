//! Panic, pause, stop and bypasses.

use countersign_wire::AgentControl;
use countersign_wire::ErrorCode;
use std::time::Duration;

use countersign_core::ops::waiting_calls::AcceptWaiting;
use countersign_view::{
    BypassArgs, ControlArgs, ControlOutcome, IpcError, PanicArgs, WaitingCalls,
};
use countersign_wire::AgentKey;

use super::previews::waiting_calls;
use crate::gui::desk::Desk;
use countersign_view::window::{fault, refuse};

pub(crate) async fn brake(desk: &Desk, args: ControlArgs) -> Result<ControlOutcome, IpcError> {
    let agent = agent(&args.agent)?;
    let waiting = match args.state {
        AgentControl::Running => waiting(desk, Some(&agent), args.accept_waiting).await?,
        AgentControl::Paused | AgentControl::Stopped => None,
    };
    if waiting.is_some() {
        return Ok(outcome(0, waiting));
    }
    let set = desk.app.set_control(&agent, args.state).await;
    Ok(outcome(set.map_err(fault)?.terminated, None))
}

fn outcome(terminated: u64, waiting: Option<WaitingCalls>) -> ControlOutcome {
    ControlOutcome {
        terminated,
        waiting,
    }
}

/// The waiting calls that resuming would approve, where the operator was not shown all of them.
async fn waiting(
    desk: &Desk,
    agent: Option<&AgentKey>,
    shown: Vec<String>,
) -> Result<Option<WaitingCalls>, IpcError> {
    let calls = desk.app.waiting_calls_without(agent).await.map_err(fault)?;
    match AcceptWaiting::These(shown).covers(&calls) {
        true => Ok(None),
        false => waiting_calls(desk, &calls).await.map(Some),
    }
}

pub(crate) async fn panic(desk: &Desk, args: PanicArgs) -> Result<ControlOutcome, IpcError> {
    if !args.on
        && let Some(waiting) = waiting(desk, None, args.accept_waiting).await?
    {
        return Ok(outcome(0, Some(waiting)));
    }
    let set = desk.app.set_panic(args.on).await.map_err(fault)?;
    Ok(outcome(set.terminated, None))
}

pub(crate) async fn bypass(desk: &Desk, args: BypassArgs) -> Result<ControlOutcome, IpcError> {
    let agent = agent(&args.agent)?;
    let set = match args.grant {
        Some(grant) => {
            let lasting = Duration::from_secs(grant.seconds.into());
            desk.app.set_bypass(&agent, grant.up_to, lasting).await
        }
        None => desk.app.end_bypass(&agent).await,
    };
    Ok(outcome(set.map_err(fault)?.terminated, None))
}

fn agent(key: &str) -> Result<AgentKey, IpcError> {
    key.parse().map_err(|_| {
        refuse(
            ErrorCode::NotFound,
            "this names no agent; write it as WORKSPACE/AGENT",
        )
    })
}
