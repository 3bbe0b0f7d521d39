//! The list, one card, and its hidden values.

use countersign_core::domain::State;
use countersign_core::store::request_list::{Filter, RequestSummary};
use countersign_view::{
    Card, InboxFirst, InboxRow, InboxSnapshot, IpcError, KeyArgs, Nothing, RevealArgs, Revealed,
};
use countersign_wire::ErrorCode;
use countersign_wire::escape;
use serde_json::json;

use crate::gui::desk::Desk;
use countersign_view::window::{ascii_literal, card_view, inbox_row, mark, walk};
use countersign_view::window::{fault, refuse};

/// Held and queued verdicts that the list shows at most.
const IN_FLIGHT: i64 = 1_000;

/// Lines that the page can draw before it has all of them.
const FIRST: i64 = 100;

pub(crate) async fn inbox_first(desk: &Desk, _: Nothing) -> Result<InboxFirst, IpcError> {
    let mut rows = waiting(desk, Some(FIRST)).await?;
    marked(desk, &mut rows).await?;
    Ok(InboxFirst { rows })
}

pub(crate) async fn inbox_snapshot(desk: &Desk, _: Nothing) -> Result<InboxSnapshot, IpcError> {
    // Read before the rows: a batch that comes meanwhile is applied once more and changes nothing.
    let number = desk.last_batch();
    let mut rows = waiting(desk, None).await?;
    let mut in_flight = Vec::new();
    for state in [State::Holding, State::Queued] {
        let filter = Filter {
            state: Some(state),
            ..Filter::default()
        };
        let found = desk
            .app
            .history(&filter, None, IN_FLIGHT)
            .await
            .map_err(fault)?;
        in_flight.extend(found.into_iter().map(|line| line.id));
    }
    let given = desk.app.lines(&in_flight).await.map_err(fault)?;
    rows.extend(given.iter().filter_map(inbox_row));
    rows.extend(desk.practice.rows());
    marked(desk, &mut rows).await?;
    Ok(InboxSnapshot {
        number,
        rows,
        server_ms: desk.app.now().0,
    })
}

/// What waits, by deadline: all of it, or so many.
async fn waiting(desk: &Desk, most: Option<i64>) -> Result<Vec<InboxRow>, IpcError> {
    let mut rows = Vec::new();
    // Only the lines stay in memory: the payloads of everything that waits may be many times as large.
    let everything = Filter::default();
    let each = |line: RequestSummary| rows.extend(inbox_row(&line));
    let read = desk.app.inbox_payloads(&everything, most, each).await;
    read.map_err(fault)?;
    Ok(rows)
}

async fn marked(desk: &Desk, rows: &mut [InboxRow]) -> Result<(), IpcError> {
    let ids: Vec<i64> = rows.iter().map(|row| row.seq).collect();
    mark(rows, &desk.app.marks(&ids).await.map_err(fault)?);
    Ok(())
}

pub(crate) async fn card(desk: &Desk, args: KeyArgs) -> Result<Card, IpcError> {
    let story = desk.story(&args.key).await?;
    let card = card_view(
        &story,
        &desk.hiding_key,
        desk.app.identity().human_key().as_str(),
        &desk.production,
        desk.app.now(),
    );
    desk.kept.keep(story);
    Ok(card)
}

pub(crate) async fn reveal(desk: &Desk, args: RevealArgs) -> Result<Revealed, IpcError> {
    let story = desk.story(&args.key).await?;
    let walked = story
        .request
        .args
        .as_ref()
        .map(|value| walk(value, &desk.hiding_key));
    let found = walked.and_then(|walked| walked.found.into_iter().nth(args.reveal as usize));
    let Some(found) = found else {
        return Err(refuse(
            ErrorCode::NotFound,
            "the card has no such hidden value; open it again",
        ));
    };
    // The log names the place, never the value.
    let detail = json!({ "reveal": args.reveal, "request_digest": story.request_digest });
    desk.log_reveal(&story.key.to_string(), detail).await?;
    Ok(Revealed {
        reveal: args.reveal,
        value: escape(&found.text),
        ascii: ascii_literal(&found.text),
    })
}
