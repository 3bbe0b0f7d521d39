//! Conditions on a row of `requests`, which each statement calls `r`: one wording for every list.
//!
//! Values are bound, never part of a statement's text. A state is the exception: its words are this program's own, and
//! SQLite must see them to use an index of some states only.

use sqlx::{QueryBuilder, Sqlite};

use crate::domain::{State, Timestamp};

/// The tool of a probe.
pub(super) const PROBE: &str = "countersign_probe";

/// The columns that have the value that is asked for, where one is.
pub(super) fn equal<'v>(
    query: &mut QueryBuilder<Sqlite>,
    columns: impl IntoIterator<Item = (&'static str, &'v Option<String>)>,
) {
    for (column, value) in columns {
        if let Some(value) = value {
            query.push(format!(" AND r.{column} = "));
            query.push_bind(value.clone());
        }
    }
}

/// Its state.
pub(super) fn in_state(query: &mut QueryBuilder<Sqlite>, state: Option<State>) {
    let Some(state) = state else { return };
    if state != State::Decided {
        query.push(" AND r.state <> 'decided'");
    }
    query.push(format!(" AND r.state = '{}'", state.as_str()));
}

/// Its state: any of these.
pub(super) fn in_states(query: &mut QueryBuilder<Sqlite>, states: Option<&[State]>) {
    let Some(states) = states else { return };
    let words: Vec<String> = states
        .iter()
        .map(|state| format!("'{}'", state.as_str()))
        .collect();
    query.push(format!(" AND r.state IN ({})", words.join(", ")));
}

/// Stored from one time on and before another.
pub(super) fn stored(
    query: &mut QueryBuilder<Sqlite>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) {
    if let Some(since) = since {
        query.push(" AND r.stored_at >= ");
        query.push_bind(since.0);
    }
    if let Some(until) = until {
        query.push(" AND r.stored_at < ");
        query.push_bind(until.0);
    }
}

/// That a request is not a probe, which no list shows. `id` names the column with its row number, and its table.
pub(super) fn no_probe(id: &str) -> String {
    format!(
        "NOT EXISTS (SELECT 1 FROM requests probe INDEXED BY requests_of_probes
           WHERE probe.tool = '{PROBE}' AND probe.id = {id})"
    )
}
