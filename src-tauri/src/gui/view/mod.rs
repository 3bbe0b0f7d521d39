//! From what the core knows to what the page shows. Pure: no I/O, no clock.

mod agents;
mod alarms;
mod args;
mod card;
mod edit;
mod hidden;
mod history;
mod previous;
mod progress;
mod raw;
mod row;
mod rules;
mod settings;
mod setup;
mod status;
mod story;
mod strict;
mod trace;
mod votes;
mod warning;

pub(crate) use agents::agent_view;
pub(crate) use alarms::alarm_item;
pub(crate) use args::{ascii_literal, walk};
pub(crate) use card::{card_view, path_of, reveals, typed_target};
pub(crate) use edit::{edit_check, editor_text};
pub(crate) use history::{HistoryReading, history_row, story_view};
pub(crate) use raw::raw_chunk;
pub(crate) use row::{inbox_row, notice, past_summary};
pub(crate) use rules::{rule_effect, rule_row, rule_state, why_decided, why_now, words_of};
pub(crate) use settings::{otlp_view, settings_view};
pub(crate) use setup::{setup_form, setup_line, setup_problem};
pub(crate) use status::status_view;
pub(crate) use story::Story;
pub(crate) use strict::strict_json;
pub(crate) use trace::{Glances, led_here, span_view, trace_row, trace_tree};
