//! The numbers of a time.

use countersign_wire::ErrorCode;
use std::cmp::Reverse;

use countersign_core::domain::Timestamp;
use countersign_core::domain::overview::Pace;
use countersign_core::domain::overview::people::{People, PersonWeek};
use countersign_view::{
    FilterValue, IpcError, OverviewArgs, OverviewView, PaceView, PersonWeekView, VerdictCount,
    VolumePiece,
};
use countersign_wire::escape;

use super::suggest::operator_names;
use crate::gui::desk::Desk;
use countersign_view::window::{fault, refuse};

/// Pairs of agent and tool that the page lists.
const LISTED: usize = 100;
/// Weeks of a time at most.
const WEEKS: usize = 60;

pub(crate) async fn overview(desk: &Desk, args: OverviewArgs) -> Result<OverviewView, IpcError> {
    let pieces = usize::try_from(args.pieces).unwrap_or(usize::MAX);
    let time = (Timestamp(args.since_ms), Timestamp(args.until_ms));
    let seen = desk
        .app
        .overview(time, pieces, args.workspace)
        .await
        .map_err(fault)?;
    if args.weeks_ms.len() > WEEKS {
        let why = format!("the period can have at most {WEEKS} weeks");
        return Err(refuse(ErrorCode::Usage, &why));
    }
    let weeks = args.weeks_ms.iter().copied().map(Timestamp).collect();
    let people = desk.app.people(People::new(weeks, time.1)).await;
    let people = people.map_err(fault)?;
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
                verdict: filter_value(verdict),
                count: *count,
            })
            .collect(),
        paces: seen.paces.into_iter().take(LISTED).map(pace).collect(),
        pace: seen.pace.map(pace),
        front_ms: seen.front_ms,
        open: seen.open,
        expired: seen.expired,
        stalled,
        automatic: seen.automatic,
        human: seen.human,
        in_window: seen.in_window,
        hasty: seen.hasty,
        caught: seen.caught,
        people: of_people(desk, people).await?,
    })
}

async fn of_people(desk: &Desk, weeks: Vec<PersonWeek>) -> Result<Vec<PersonWeekView>, IpcError> {
    let names = operator_names(desk).await?;
    let own = desk.app.identity().human_key();
    let view = |week: PersonWeek| PersonWeekView {
        name: escape(names.get(&week.key).unwrap_or(&week.key)),
        own: week.key == own.as_str(),
        key: week.key,
        since_ms: week.since.0,
        decided: week.decided,
        denied: week.denied,
        by_cli: week.by_cli,
        in_window: week.in_window,
        hasty: week.hasty,
        front_ms: week.front_ms,
        changed: week.changed,
        caught: week.caught,
    };
    let mut views: Vec<PersonWeekView> = weeks.into_iter().map(view).collect();
    views.sort_by_cached_key(|of| (Reverse(of.since_ms), !of.own, of.name.plain()));
    Ok(views)
}

fn filter_value(value: &str) -> FilterValue {
    FilterValue {
        label: escape(value),
        value: value.to_owned(),
    }
}

fn pace(pace: Pace) -> PaceView {
    PaceView {
        agent: Some(pace.agent).filter(|agent| !agent.is_empty()),
        tool: pace.tool.as_deref().map(filter_value),
        decided: pace.decided,
        median_ms: pace.median_ms,
        p95_ms: pace.p95_ms,
    }
}
