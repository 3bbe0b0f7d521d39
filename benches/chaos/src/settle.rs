//! After everything is healed: the agents stop asking, and consoles have a bounded time to agree.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::journal::{self, Event};
use crate::process::Kept;
use crate::world::{World, agent_journal};

/// Longer than the longest wait of an agent, the pauses between two attempts, and a start.
const SETTLE_LIMIT: Duration = Duration::from_secs(90);
/// Longer than the pauses between two attempts, and some operators.
const PROBE_LIMIT: Duration = Duration::from_secs(40);
const LOOK: Duration = Duration::from_millis(100);
/// Between two looks at a console's state; each starts a process.
const STATUS: Duration = Duration::from_secs(1);

/// How the settling went.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// From the healing on.
    pub(crate) took: Duration,
    /// What was not settled in time.
    pub(crate) not: Vec<String>,
}

/// Waits until agents have ended and consoles know everything; then a new question must be answered.
pub(crate) async fn settle(world: &mut World) -> anyhow::Result<Settled> {
    let begun = Instant::now();
    let mut not = quiet(world).await?;
    let took = begun.elapsed();
    if not.is_empty() {
        return Ok(Settled { took, not });
    }
    if let Some(agent) = world.agents.first_mut() {
        agent.want();
    }
    for console in &mut world.consoles {
        console.operator.want();
    }
    let give_up = Instant::now() + PROBE_LIMIT;
    while !answered_anew(world)? {
        world.look()?;
        if Instant::now() >= give_up {
            not.push("no new request is decided after the healing".to_owned());
            break;
        }
        sleep(LOOK).await;
    }
    not.extend(quiet(world).await?);
    Ok(Settled { took, not })
}

/// Whether the first agent got an operator's answer since its last start.
fn answered_anew(world: &World) -> anyhow::Result<bool> {
    let starts = world.agents.first().map_or(0, |agent| agent.starts);
    let lines = journal::read(&agent_journal(&world.folder, 0, starts))?;
    Ok(lines.iter().any(|line| match &line.what {
        Event::Answered { verdict, .. } => !["expired", "withdrawn"].contains(&verdict.as_str()),
        _ => false,
    }))
}

/// Ends agents and operators and waits until consoles know everything; what is not so in time.
async fn quiet(world: &mut World) -> anyhow::Result<Vec<String>> {
    let give_up = Instant::now() + SETTLE_LIMIT;
    for agent in &mut world.agents {
        agent.signal(Signal::SIGTERM);
        agent.retire();
    }
    while world.agents.iter().any(Kept::runs) && Instant::now() < give_up {
        world.look()?;
        sleep(LOOK).await;
    }
    for console in &mut world.consoles {
        console.operator.retire();
    }
    let mut not = Vec::new();
    for (number, agent) in world.agents.iter().enumerate() {
        if agent.runs() {
            not.push(format!("agent {number} still waits for an answer"));
        }
    }
    loop {
        world.look()?;
        let mut open = Vec::new();
        for console in &world.consoles {
            open.extend(unsettled(console).await);
            if console.operator.runs() {
                open.push(format!("the operator of {} still works", console.name));
            }
        }
        if open.is_empty() {
            return Ok(not);
        }
        if Instant::now() >= give_up {
            not.extend(open);
            return Ok(not);
        }
        sleep(STATUS).await;
    }
}

/// What is still open at a console.
async fn unsettled(console: &crate::console::Console) -> Option<String> {
    let status = match console.ask(&["status"]).await {
        Ok(status) => status,
        Err(error) => return Some(format!("{}: {error:#}", console.name)),
    };
    let name = &console.name;
    if console.process.ready().is_none() {
        return Some(format!("{name} is not ready"));
    }
    if status["bus"]["connected"] != true || status["caught_up"] != true {
        return Some(format!("{name} has not caught up: {status}"));
    }
    for word in ["waiting", "outbox"] {
        if status[word] != 0 {
            return Some(format!("{name}: {word} is {}: {status}", status[word]));
        }
    }
    if !status["read_only"].is_null() {
        return Some(format!("{name} is read-only: {}", status["read_only"]));
    }
    ["CS_REQUESTS", "CS_DECISIONS", "CS_RECEIPTS"]
        .into_iter()
        .find_map(|stream| behind(name, stream, &status["streams"][stream]))
}

fn behind(name: &str, stream: &str, at: &Value) -> Option<String> {
    let (last, projected) = (at["last_seq"].as_u64(), at["projected_seq"].as_u64());
    (last.is_none() || projected < last)
        .then(|| format!("{name}: {stream} is read only so far: {at}"))
}
