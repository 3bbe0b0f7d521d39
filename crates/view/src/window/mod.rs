//! From what is known to what the page shows. Pure, but for the key under which secrets are hidden.

mod agents;
mod args;
mod card;
mod details;
mod edit;
mod fault;
mod form;
mod hidden;
mod history;
mod letters;
mod looks;
mod progress;
mod raw;
mod row;
mod scrutiny;
mod strict;
mod summary;
mod target;
mod trace;
mod votes;
mod warning;

pub use agents::agent_view;
pub use args::{Found, Walked, ascii_literal, walk};
pub use card::{card_view, reveals};
pub use details::{CardDetails, path_of, read_request, state_of};
pub use edit::{Checked, answer_check, edit_check, editor_text};
pub use fault::{fault, refuse};
pub use hidden::{escape, escape_lines, json_shown};
pub use history::{HistoryReading, history_row, story_view};
pub use progress::key_tail;
pub use raw::raw_chunk;
pub use row::{inbox_row, mark, notice};
pub use strict::{JsonProblem, strict_json};
pub use trace::{Glances, led_here, span_view, trace_row, trace_tree};
