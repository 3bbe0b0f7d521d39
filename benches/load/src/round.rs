//! One round: every phase on a console of its own with an empty store.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use futures::future::try_join_all;
use tokio::time::Instant;

use crate::accept::accepted;
use crate::console::{Console, Mode};
use crate::latency::latencies;
use crate::round_trip::round_trips;
use crate::{Agent, Figures, Login};

/// Agents where there are many.
const AGENTS: usize = 8;
/// Requests in flight of each of them while only acceptance is measured: 256 in all.
const PUBLISHING: usize = 32;
/// Requests in flight of each of them on the whole way: 1,000 in all.
const WAITING: usize = 125;
const WARM_UP: Duration = Duration::from_millis(500);

/// Arguments of the command `round`.
#[derive(Debug, Clone, Args)]
pub struct RoundArgs {
    /// Folder for the stores, on the disk that is to be measured.
    #[arg(long)]
    pub data: PathBuf,
    /// Seconds of each throughput phase.
    #[arg(long, default_value_t = 2.0)]
    pub seconds: f64,
    /// Requests of the latency phase.
    #[arg(long, default_value_t = 200)]
    pub samples: usize,
    /// With a second reader that takes 20 s for a card, where the console knows readers.
    #[arg(long)]
    pub reader: bool,
    /// With a webhook for every request, where the console knows feeds.
    #[arg(long)]
    pub feed: bool,
    /// Only this phase.
    #[arg(long)]
    pub only: Option<Phase>,
}

/// A part of the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Phase {
    /// Requests accepted and listed.
    Accept,
    /// The whole way under load.
    RoundTrip,
    /// The whole way under load, approved by a rule; by the approver again where rules are missing.
    ByRule,
    /// One request at a time.
    Latency,
}

/// Runs the phases and gives the figures.
///
/// # Errors
/// When anything broke: a figure that was not measured is never made up.
pub async fn run(args: &RoundArgs) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    let time = Duration::from_secs_f64(args.seconds);
    let wanted = |phase| args.only.is_none_or(|only| only == phase);
    if wanted(Phase::Accept) {
        accept(args, time, &mut figures).await?;
    }
    if wanted(Phase::RoundTrip) {
        let console = Console::start(Mode::Decide, AGENTS, args).await?;
        let agents = connect(&console.agents).await?;
        let rate = round_trips(&agents, WAITING, WARM_UP, time).await?;
        figures.set("end_to_end_per_s", rate);
        console.stop().await?;
    }
    if wanted(Phase::ByRule) {
        let console = Console::start(Mode::ByRule, AGENTS, args).await?;
        let agents = connect(&console.agents).await?;
        let rate = round_trips(&agents, WAITING, WARM_UP, time).await?;
        figures.set("by_rule_per_s", rate);
        console.stop().await?;
    }
    if wanted(Phase::Latency) {
        let mut console = Console::start(Mode::DecideLater, 1, args).await?;
        let agents = connect(&console.agents).await?;
        if let [agent] = agents.as_slice() {
            latencies(&mut console, agent, args.samples, &mut figures).await?;
        }
        console.stop().await?;
    }
    Ok(figures)
}

async fn connect(logins: &[Login]) -> anyhow::Result<Vec<Agent>> {
    try_join_all(logins.iter().map(Agent::connect)).await
}

async fn accept(args: &RoundArgs, time: Duration, figures: &mut Figures) -> anyhow::Result<()> {
    let mut console = Console::start(Mode::Keep, 1, args).await?;
    let agents = connect(&console.agents).await?;
    let (rate, count) = accepted(&agents, 1, time).await?;
    figures.set("accepted_one_per_s", rate);
    console.listed(count).await?;
    console.stop().await?;

    let mut console = Console::start(Mode::Keep, AGENTS, args).await?;
    let agents = connect(&console.agents).await?;
    let start = Instant::now();
    let (rate, count) = accepted(&agents, PUBLISHING, time).await?;
    figures.set("accepted_many_per_s", rate);
    console.listed(count).await?;
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    figures.set(
        "listed_many_per_s",
        count as f64 / start.elapsed().as_secs_f64(),
    );
    console.stop().await
}
