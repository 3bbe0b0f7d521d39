//! The tables of `inbox` and `history`.

use comfy_table::{Cell, Table};
use countersign_core::domain::Timestamp;
use countersign_core::domain::facts::{Approvals, RequestSummary};
use countersign_view::terminal::line::{agent, decided, what};

use super::output::{plain, risk_cell, table};
use super::when;

/// Longer than the names of tools that people give.
const CELL_CHARS: usize = 60;

/// A cell of a table: an agent's long name must not push the other requests off the screen. `show` has
/// it whole.
fn short(text: &str) -> String {
    match text.char_indices().nth(CELL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// How far several operators are: ` [1 of 2 votes, not yours]`.
pub(crate) fn votes(row: &RequestSummary) -> String {
    Approvals::of(row).map_or_else(String::new, |approvals| {
        let mine = if approvals.mine {
            "yours too"
        } else {
            "not yours"
        };
        let Approvals {
            required,
            given,
            apart,
            ..
        } = approvals;
        let mine = if given == 0 { "none yet" } else { mine };
        let other = match apart {
            0 => String::new(),
            apart => format!(", {apart} for another answer"),
        };
        format!(" [{given} of {required} votes, {mine}{other}]")
    })
}

/// What waits, for a person.
pub(crate) fn inbox_table(rows: &[RequestSummary], now: Timestamp) -> Table {
    let mut table = table(&["ID", "TOOL", "RISK", "AGENT", "LEFT"]);
    for row in rows {
        table.add_row([
            Cell::new(&row.request_id),
            Cell::new(format!("{}{}", short(&what(row)), votes(row))),
            risk_cell(&row.risk),
            Cell::new(agent(row)),
            Cell::new(when::left(Timestamp(row.deadline_at), now)),
        ]);
    }
    table
}

/// What was, for a person.
pub(crate) fn history_table(rows: &[RequestSummary]) -> Table {
    let mut table = table(&[
        "STORED", "ID", "TOOL", "RISK", "AGENT", "STATE", "VERDICT", "BY", "DELIVERY",
    ]);
    for row in rows {
        let verdict = row
            .verdict
            .as_deref()
            .or(row.error_code.as_deref())
            .unwrap_or_default();
        let by = decided(row);
        table.add_row([
            Cell::new(when::shown(Timestamp(row.stored_at))),
            Cell::new(&row.request_id),
            Cell::new(short(&what(row))),
            risk_cell(&row.risk),
            Cell::new(agent(row)),
            Cell::new(&row.state),
            Cell::new(plain(verdict)),
            Cell::new(by.unwrap_or_default()),
            Cell::new(&row.delivery),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_takes_no_more_than_its_cell_and_an_ordinary_one_stays() {
        for (name, wide) in [
            ("delete_invoice", 14),
            (&"é".repeat(60), 60),
            (&"e\u{301}".repeat(9_000), 61),
        ] {
            assert_eq!(short(name).chars().count(), wide);
        }
        assert_eq!(short("delete_invoice"), "delete_invoice");
    }
}
