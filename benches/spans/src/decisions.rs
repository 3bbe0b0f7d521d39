//! One request after the other, each approved as soon as it is listed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use countersign_core::ops::DecideCommand;
use countersign_core::{App, AppEvent};
use countersign_load::{Agent, Figures, Login, monotonic_ns};
use countersign_wire::Verdict;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

/// Between two requests.
const PAUSE: Duration = Duration::from_millis(20);

/// How long decisions took, in ns.
#[derive(Default)]
pub(crate) struct Times {
    asked: Vec<i64>,
    decided: Vec<i64>,
}

impl Times {
    /// The same times as figures.
    pub(crate) fn figures(self, figures: &mut Figures) {
        figures.percentiles("spans_request", self.asked);
        figures.percentiles("spans_verdict", self.decided);
    }

    pub(crate) fn print(mut self) {
        for (what, times) in [
            ("request to decision at the agent  ", &mut self.asked),
            ("verdict to decision at the agent  ", &mut self.decided),
        ] {
            times.sort_unstable();
            let at = |per_cent: usize| {
                let rank = (times.len() * per_cent).div_ceil(100).max(1) - 1;
                times.get(rank).copied().unwrap_or(0)
            };
            let ms = |ns: i64| ns / 1_000_000;
            println!(
                "{what} p50 {} ms, p99 {} ms, {} samples",
                ms(at(50)),
                ms(at(99)),
                times.len()
            );
        }
    }
}

/// Asks until then.
pub(crate) async fn ask(app: &App, login: &Login, until: Instant) -> anyhow::Result<Times> {
    let verdict_at = Arc::new(AtomicI64::new(0));
    let approver = tokio::spawn(approve(app.clone(), Arc::clone(&verdict_at)));
    let agent = Agent::connect(login).await?;
    let mut times = Times::default();
    while Instant::now() < until {
        let begun = monotonic_ns();
        let decided = agent.ask().await?;
        times.asked.push(decided - begun);
        times
            .decided
            .push(decided - verdict_at.load(Ordering::Acquire));
        tokio::time::sleep(PAUSE).await;
    }
    approver.abort();
    Ok(times)
}

async fn approve(app: App, verdict_at: Arc<AtomicI64>) {
    let mut events = app.subscribe();
    loop {
        let arrived = match events.recv().await {
            Ok(AppEvent::Changed { arrived, .. }) => arrived,
            Ok(AppEvent::Status) | Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        for key in arrived.iter().cloned() {
            verdict_at.store(monotonic_ns(), Ordering::Release);
            let decided = app.decide(DecideCommand::by_operator(key, Verdict::Approve));
            if let Err(error) = decided.await {
                // The agent waits in vain and the run fails: this line says why.
                eprintln!("{error}");
            }
        }
    }
}
