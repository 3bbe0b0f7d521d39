//! The numbers of a time.

use countersign_core::domain::Timestamp;
use countersign_core::domain::overview::{HASTY_MS, Pace};
use countersign_view::{
    Facet, IpcError, OverviewArgs, OverviewView, PaceView, VerdictCount, VolumePiece,
};
use countersign_wire::escape;

use crate::gui::desk::Desk;
use crate::gui::fault::fault;

/// Pairs of agent and tool that the page lists.
const LISTED: usize = 100;

pub(crate) async fn overview(desk: &Desk, args: OverviewArgs) -> Result<OverviewView, IpcError> {
    let pieces = usize::try_from(args.pieces).unwrap_or(usize::MAX);
    let time = (Timestamp(args.since_ms), Timestamp(args.until_ms));
    let seen = desk
        .app
        .overview(time, pieces, args.workspace)
        .await
        .map_err(fault)?;
    let stalled = desk.app.stalled().await.map_err(fault)?;
    let volume = (0..)
        .zip(&seen.volume)
        .map(|(place, piece): (i64, _)| VolumePiece {
            start_ms: args.since_ms.saturating_add(place * seen.step_ms),
            arrived: piece.arrived,
            allowed: piece.allowed,
            denied: piece.denied,
            expired: piece.expired,
        });
    Ok(OverviewView {
        since_ms: args.since_ms,
        until_ms: args.until_ms,
        step_ms: seen.step_ms,
        volume: volume.collect(),
        verdicts: seen
            .verdicts
            .iter()
            .map(|(verdict, count)| VerdictCount {
                verdict: facet(verdict),
                count: *count,
            })
            .collect(),
        paces: seen.paces.into_iter().take(LISTED).map(pace).collect(),
        pace: seen.pace.map(pace),
        open: seen.open,
        expired: seen.expired,
        stalled,
        automatic: seen.automatic,
        human: seen.human,
        hasty: seen.hasty,
        caught: seen.caught,
        hasty_ms: HASTY_MS,
    })
}

fn facet(value: &str) -> Facet {
    Facet {
        label: escape(value),
        value: value.to_owned(),
    }
}

fn pace(pace: Pace) -> PaceView {
    PaceView {
        agent: Some(pace.agent).filter(|agent| !agent.is_empty()),
        tool: pace.tool.as_deref().map(facet),
        decided: pace.decided,
        median_ms: pace.median_ms,
        p95_ms: pace.p95_ms,
    }
}
