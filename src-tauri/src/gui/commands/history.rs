//! The history, one request's whole story, and searches with a name.

use countersign_wire::ErrorCode;
use std::time::Duration;

use countersign_core::domain::history::{Cursor, HistoryFilter, Sort, SortBy};
use countersign_core::domain::overview::CAUGHT;
use countersign_core::domain::search::TextQuery;
use countersign_core::domain::{State, Timestamp};
use countersign_redaction::Hiding;
use countersign_view::{
    FilterValue, HistoryCount, HistoryCursor, HistoryFilterValues, HistoryFilterView, HistoryPage,
    HistoryPageArgs, HistorySort, HistorySortBy, HistoryState, IpcError, KeyArgs, Nothing,
    RequestStoryView, SavedSearch, SavedSearches, SearchName,
};
use countersign_wire::escape;

use super::suggest::operator_names;
use crate::cli::reader::marks_of;
use crate::gui::desk::Desk;
use countersign_view::window::{HistoryReading, history_row, story_view};
use countersign_view::window::{fault, refuse};

const PAGE: i64 = 100;
/// A page that takes longer comes with what was found by then.
const BUDGET: Duration = Duration::from_millis(60);
/// A count that takes longer returns what was counted by then.
const COUNTING: Duration = Duration::from_millis(500);
/// How long a search waits for the index of words.
const INDEXING: Duration = Duration::from_millis(500);
/// Larger payloads are not read for a line of the list.
const SUMMED_UP: i64 = 256 * 1_024;
const SAVED: &str = "saved_searches";
const SEARCHES: usize = 200;
const NAME: usize = 80;

pub(crate) async fn history_page(
    desk: &Desk,
    args: HistoryPageArgs,
) -> Result<HistoryPage, IpcError> {
    let filter = filter(args.filter)?;
    let unindexed = match filter.text.is_blank() {
        true => 0,
        false => desk.app.catch_up_search(INDEXING).await.map_err(fault)?,
    };
    let order = (sort(args.sort), args.after.map(cursor));
    let page = desk.app.history_sorted(&filter, order, PAGE, Some(BUDGET));
    let mut page = page.await.map_err(fault)?;
    let ids: Vec<i64> = page.rows.iter().map(|row| row.id).collect();
    let payloads = desk.app.payloads(&ids, SUMMED_UP);
    let mut payloads = payloads.await.map_err(fault)?;
    for row in &mut page.rows {
        row.raw = payloads.remove(&row.id).unwrap_or_default();
    }
    let own_key = desk.app.identity().human_key().to_string();
    let hiding = Hiding::new(desk.hiding_key);
    Ok(HistoryPage {
        rows: page
            .rows
            .iter()
            .map(|line| history_row(line, &hiding, &own_key))
            .collect(),
        next: page.next.map(|next| HistoryCursor {
            part: next.part,
            at: next.at,
            id: next.id,
        }),
        unindexed,
    })
}

fn sort(view: HistorySort) -> Sort {
    Sort {
        by: match view.by {
            HistorySortBy::Stored => SortBy::Stored,
            HistorySortBy::Decided => SortBy::Decided,
            HistorySortBy::Risk => SortBy::Risk,
        },
        ascending: view.ascending,
    }
}

fn cursor(view: HistoryCursor) -> Cursor {
    Cursor {
        part: view.part,
        at: view.at,
        id: view.id,
    }
}

pub(crate) async fn history_count(
    desk: &Desk,
    args: HistoryFilterView,
) -> Result<HistoryCount, IpcError> {
    let count = desk
        .app
        .history_count(&filter(args)?, COUNTING)
        .await
        .map_err(fault)?;
    Ok(HistoryCount {
        requests: count.requests,
        whole: count.whole,
    })
}

fn states(wanted: HistoryState) -> Vec<State> {
    match wanted {
        HistoryState::Waiting => vec![State::Pending, State::Holding, State::Queued],
        HistoryState::One(one) => vec![match one {
            State::Pending => State::Pending,
            State::Holding => State::Holding,
            State::Queued => State::Queued,
            State::Decided => State::Decided,
            State::Expired => State::Expired,
            State::Withdrawn => State::Withdrawn,
            State::Rejected => State::Rejected,
            State::Void => State::Void,
        }],
    }
}

/// The words that a word of the page means: those of a group, or itself.
fn words(wanted: String) -> Vec<String> {
    let group: &[&str] = match wanted.as_str() {
        "allowed" => &["approve", "modify"],
        "refused" => &["deny", "terminate"],
        "caught" => &CAUGHT,
        "automatic" => &["rule", "setup_key"],
        _ => return vec![wanted],
    };
    group.iter().map(|word| (*word).to_owned()).collect()
}

/// What the page looks for, as the core understands it.
pub(super) fn filter(view: HistoryFilterView) -> Result<HistoryFilter, IpcError> {
    let (workspace, agent) = match view.agent {
        None => (view.workspace, None),
        Some(agent) => match agent.split_once('/') {
            Some((own, name)) if view.workspace.as_deref().is_none_or(|wanted| wanted == own) => {
                (Some(own.to_owned()), Some(name.to_owned()))
            }
            // No agent's name holds a slash: one of another workspace finds nothing.
            _ => (view.workspace, Some(agent)),
        },
    };
    Ok(HistoryFilter {
        workspace,
        agent,
        tool: view.tool,
        risk: view.risk.map(|risk| risk.as_str().to_owned()),
        states: view.state.map(states),
        verdicts: view.verdict.map(words),
        origins: view.origin.map(words),
        signers: view.operator.map(|key| vec![key]),
        rule: view.rule,
        hasty: view.hasty,
        overdue: view.overdue,
        undecided: false,
        since: view.since_ms.map(Timestamp),
        until: view.until_ms.map(Timestamp),
        text: TextQuery::parse(&view.text),
    })
}

pub(crate) async fn history_filter_values(
    desk: &Desk,
    _: Nothing,
) -> Result<HistoryFilterValues, IpcError> {
    let found = desk.app.history_filter_values().await.map_err(fault)?;
    let plain = |value: String| FilterValue {
        label: escape(&value),
        value,
    };
    let names = operator_names(desk).await?;
    let mut operators: Vec<FilterValue> = found
        .signers
        .into_iter()
        .map(|key| {
            let tail: String = key
                .chars()
                .skip(key.chars().count().saturating_sub(4))
                .collect();
            let label = match names.get(&key) {
                Some(name) => format!("{name} (…{tail})"),
                None => key.clone(),
            };
            FilterValue {
                label: escape(&label),
                value: key,
            }
        })
        .collect();
    operators.sort_by_cached_key(|operator| operator.label.plain());
    Ok(HistoryFilterValues {
        workspaces: found.workspaces.into_iter().map(plain).collect(),
        agents: found
            .agents
            .into_iter()
            .map(|(workspace, agent)| plain(format!("{workspace}/{agent}")))
            .collect(),
        tools: found.tools.into_iter().map(plain).collect(),
        operators,
        rules: found.rules.into_iter().map(plain).collect(),
    })
}

pub(crate) async fn request_story(
    desk: &Desk,
    args: KeyArgs,
) -> Result<RequestStoryView, IpcError> {
    let story = desk.app.show(&args.key).await.map_err(fault)?;
    let scrutiny = desk.app.scrutiny(&story.line).await.map_err(fault)?;
    let audit = desk.app.audit_details(&story.line).await.map_err(fault)?;
    let traces = desk.app.traces_of(&story.line).await.map_err(fault)?;
    let reader = marks_of(&desk.app, &story).await.map(|of| of.1);
    let own_key = desk.app.identity().human_key().to_string();
    Ok(story_view(
        HistoryReading {
            story,
            scrutiny: scrutiny.unwrap_or_default(),
            reader: reader.unwrap_or_default(),
            audit,
            traces,
        },
        &desk.hiding_key,
        &own_key,
        &desk.production,
        desk.app.now(),
    ))
}

pub(crate) async fn saved_searches(desk: &Desk, _: Nothing) -> Result<SavedSearches, IpcError> {
    let kept = desk.app.remembered(SAVED).await.map_err(fault)?;
    // What another version kept and this one cannot read must not keep the list from opening.
    Ok(kept
        .and_then(|kept| serde_json::from_str(&kept).ok())
        .unwrap_or_default())
}

pub(crate) async fn save_search(
    desk: &Desk,
    search: SavedSearch,
) -> Result<SavedSearches, IpcError> {
    let name = search.name.trim().to_owned();
    if name.is_empty() || name.chars().count() > NAME {
        let why = format!("a search needs a name of 1 to {NAME} characters");
        return Err(refuse(ErrorCode::Usage, &why));
    }
    filter(search.filter.clone())?;
    let _one_at_a_time = desk.searches.lock().await;
    let mut kept = saved_searches(desk, Nothing {}).await?;
    kept.searches.retain(|other| other.name != name);
    if kept.searches.len() >= SEARCHES {
        let why = format!("{SEARCHES} searches are kept already; forget one first");
        return Err(refuse(ErrorCode::Usage, &why));
    }
    kept.searches.push(SavedSearch { name, ..search });
    keep(desk, kept).await
}

pub(crate) async fn forget_search(
    desk: &Desk,
    args: SearchName,
) -> Result<SavedSearches, IpcError> {
    let _one_at_a_time = desk.searches.lock().await;
    let mut kept = saved_searches(desk, Nothing {}).await?;
    kept.searches.retain(|other| other.name != args.name);
    keep(desk, kept).await
}

async fn keep(desk: &Desk, mut searches: SavedSearches) -> Result<SavedSearches, IpcError> {
    searches
        .searches
        .sort_by_cached_key(|search| search.name.to_lowercase());
    let text = serde_json::to_string(&searches)
        .map_err(|error| refuse(ErrorCode::Failed, &error.to_string()))?;
    desk.app.remember(SAVED, text).await.map_err(fault)?;
    Ok(searches)
}
