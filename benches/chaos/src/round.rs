//! One round: sets everything up, does the faults of the plan, heals, waits, reads what came of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use countersign_wire::Enrolment;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use crate::agent::{LOOK_UP, PAY};
use crate::bus::{OutsideBus, merge};
use crate::console::{Console, NewConsole};
use crate::facts::{self, Facts};
use crate::fault::{Fault, Kind, plan};
use crate::ground::{Disk, Island};
use crate::process::{Kept, tied};
use crate::proxy::Proxy;
use crate::settle;
use crate::world::{World, agent_journal};

const READY_LIMIT: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(50);
/// Agents of a round.
pub(crate) const AGENTS: usize = 3;
/// So many changes of the shared policy beside those that each operator begins with, give or take: the bucket
/// remembers 64 of a key, and what it has forgotten cannot be judged.
const RESTLESS: f64 = 20.0;
/// Room for an hour; only what is used takes memory.
const DISK_MIB: u64 = 2_048;

/// Where the bus runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bus {
    /// An outside nats-server with two consoles.
    Outside,
    /// The console's own.
    Embedded,
}

/// What a round is made of.
pub(crate) struct Round<'a> {
    pub(crate) bus: Bus,
    pub(crate) seed: u64,
    pub(crate) time: Duration,
    pub(crate) folder: &'a Path,
    pub(crate) program: &'a Path,
    pub(crate) isolated: bool,
    pub(crate) lanes: u64,
    pub(crate) kinds: &'a [Kind],
}

/// What came of a round.
pub(crate) struct Outcome {
    pub(crate) faults: Vec<Fault>,
    pub(crate) facts: Facts,
}

/// Runs a round.
pub(crate) async fn run(round: &Round<'_>) -> anyhow::Result<Outcome> {
    std::fs::create_dir_all(round.folder)?;
    let mut world = match round.bus {
        Bus::Outside => outside(round).await?,
        Bus::Embedded => embedded(round).await?,
    };
    let faults = plan(round.seed, round.time, world.breakable(), round.kinds);
    load(&mut world);
    let open = disturb(&mut world, &faults, round.time).await?;
    eprintln!("chaos: healed, waiting for it to settle");
    world.heal_all(&open).await?;
    let settled = settle::settle(&mut world).await?;
    let facts = facts::gather(&mut world, settled).await?;
    world.stop().await?;
    let mut facts = facts;
    facts.odd_ends = world.odd_ends();
    Ok(Outcome { faults, facts })
}

fn load(world: &mut World) {
    for agent in &mut world.agents {
        agent.want();
    }
    for console in &mut world.consoles {
        console.operator.want();
    }
}

/// Does the faults; those that are still open at the end.
async fn disturb(
    world: &mut World,
    faults: &[Fault],
    time: Duration,
) -> anyhow::Result<Vec<Fault>> {
    let begun = Instant::now();
    let mut next = faults.iter().peekable();
    let mut open: Vec<Fault> = Vec::new();
    while begun.elapsed() < time {
        let now = begun.elapsed();
        let (over, still): (Vec<_>, Vec<_>) = open
            .into_iter()
            .partition(|fault| fault.at + fault.lasts <= now);
        open = still;
        for fault in over {
            world.heal(&fault).await?;
        }
        if let Some(fault) = next.next_if(|fault| fault.at <= now) {
            eprintln!("chaos: {fault}");
            world.break_it(fault).await?;
            // What took long to break stays broken for its time.
            let at = begun.elapsed();
            open.push(Fault {
                at,
                ..fault.clone()
            });
        }
        world.look()?;
        sleep(LOOK).await;
    }
    Ok(open)
}

async fn console(round: &Round<'_>, number: u8, island: bool) -> anyhow::Result<Console> {
    let name = format!("console-{number}");
    let path = round.folder.join(&name);
    let disk = Disk::make(path, round.isolated, DISK_MIB).await?;
    let island = match round.isolated && island {
        true => Some(Island::make(number + 1).await?),
        false => None,
    };
    Ok(Console::new(NewConsole {
        name: &name,
        program: round.program,
        folder: round.folder,
        disk,
        island,
        seed: round.seed.wrapping_add(u64::from(number)),
        restless: (RESTLESS / round.time.as_secs_f64()).min(0.3),
    }))
}

async fn outside(round: &Round<'_>) -> anyhow::Result<World> {
    let mut consoles = vec![
        console(round, 0, true).await?,
        console(round, 1, true).await?,
    ];
    let accounts = accounts(&consoles).await?;
    let store = round.folder.join("nats");
    let disk = Disk::make(store, round.isolated, DISK_MIB).await?;
    let bus = OutsideBus::start(round.folder, disk, &accounts).await?;
    for (console, number) in consoles.iter_mut().zip(0_u64..) {
        let seed = round.seed.wrapping_add(number);
        console.join(bus.address, round.folder, seed).await?;
        console.process.want();
        ready(&mut console.process).await?;
    }
    rules(round, &consoles[0]).await?;
    let names: Vec<String> = (0..AGENTS).map(agent_key).collect();
    let mut enrolments = Vec::new();
    for name in &names {
        enrolments.push(enrol(&consoles[0], name).await?);
    }
    bus.reload(&self::accounts(&consoles).await?)?;
    let agents_wire = Proxy::start(std::net::Ipv4Addr::LOCALHOST, bus.address).await?;
    let agents = agents(round, &enrolments, &agents_wire)?;
    Ok(World {
        folder: round.folder.to_owned(),
        bus: Some(bus),
        consoles,
        agents,
        agents_wire,
        isolated: round.isolated,
        paused_server: None,
    })
}

/// The first console knows the agents; every console names itself.
async fn accounts(consoles: &[Console]) -> anyhow::Result<String> {
    let mut blocks = Vec::new();
    for console in consoles {
        blocks.push(console.permissions().await?);
    }
    merge(&blocks)
}

async fn embedded(round: &Round<'_>) -> anyhow::Result<World> {
    let mut console = console(round, 0, false).await?;
    console.process.want();
    let line = ready(&mut console.process).await?;
    let url = line["nats_url"].as_str().context("no URL")?;
    let address = url.trim_start_matches("nats://").parse()?;
    rules(round, &console).await?;
    let mut enrolments = Vec::new();
    for number in 0..AGENTS {
        enrolments.push(enrol(&console, &agent_key(number)).await?);
    }
    let agents_wire = Proxy::start(std::net::Ipv4Addr::LOCALHOST, address).await?;
    let agents = agents(round, &enrolments, &agents_wire)?;
    Ok(World {
        folder: round.folder.to_owned(),
        bus: None,
        consoles: vec![console],
        agents,
        agents_wire,
        isolated: round.isolated,
        paused_server: None,
    })
}

/// The workspace's rules: every look-up runs, and every payment asks.
async fn rules(round: &Round<'_>, console: &Console) -> anyhow::Result<()> {
    let path = round.folder.join("rules.toml");
    let text = format!(
        "schema = 1\n\n[[rule]]\nid = \"look-ups\"\neffect = \"approve\"\ntool = [\"{LOOK_UP}\"]\n\
         expires_at = \"2099-01-01T00:00:00Z\"\n\n[[rule]]\nid = \"payments\"\neffect = \"ask\"\n\
         tool = [\"{PAY}\"]\n"
    );
    std::fs::write(&path, text)?;
    let path = path.to_string_lossy();
    console
        .ask(&["--workspace", "chaos", "rules", "apply", &path])
        .await?;
    Ok(())
}

/// `WS/AGENT` of an agent.
pub(crate) fn agent_key(number: usize) -> String {
    format!("chaos/bot-{number}")
}

async fn ready(process: &mut Kept) -> anyhow::Result<serde_json::Value> {
    let give_up = Instant::now() + READY_LIMIT;
    loop {
        process.look()?;
        if let Some(line) = process.ready() {
            return Ok(line);
        }
        ensure!(Instant::now() < give_up, "a console is not ready in time");
        sleep(LOOK).await;
    }
}

async fn enrol(console: &Console, name: &str) -> anyhow::Result<Enrolment> {
    let line = console.ask(&["enroll", name]).await?;
    let path = line["agent_json"].as_str().context("no agent.json")?;
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// Agents behind their wire.
fn agents(round: &Round<'_>, enrolments: &[Enrolment], wire: &Proxy) -> anyhow::Result<Vec<Kept>> {
    let mut agents = Vec::new();
    for (number, enrolment) in enrolments.iter().enumerate() {
        let mut enrolment = enrolment.clone();
        enrolment.nats_url = wire.url();
        let path = round.folder.join(format!("agent-{number}.json"));
        std::fs::write(&path, serde_json::to_vec(&enrolment)?)?;
        let log = round.folder.join(format!("agent-{number}.log"));
        let make = agent_command(round, path, number);
        agents.push(Kept::new(format!("agent {number}"), log, make));
    }
    Ok(agents)
}

fn agent_command(
    round: &Round<'_>,
    enrolment: PathBuf,
    number: usize,
) -> impl Fn(u64) -> anyhow::Result<Command> + use<> {
    let (folder, seed, lanes) = (round.folder.to_owned(), round.seed, round.lanes);
    move |start| {
        let mut command = tied()?;
        command.arg(std::env::current_exe()?).arg("agent");
        command.arg("--agent-json").arg(&enrolment);
        command
            .arg("--journal")
            .arg(agent_journal(&folder, number, start));
        let own = u64::try_from(number)?.wrapping_mul(100).wrapping_add(start);
        command.args(["--seed", &seed.wrapping_add(own).to_string()]);
        command.args(["--lanes", &lanes.to_string()]);
        Ok(command)
    }
}
