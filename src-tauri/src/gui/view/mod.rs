//! From what the core knows to what the page shows: what reads more than facts of the domain. Pure.

mod alarms;
mod operators;
mod rules;
mod settings;
mod setup;
mod status;
mod suggest;

pub(crate) use alarms::alarm_item;
pub(crate) use operators::operator_line;
pub(crate) use rules::{rule_row, why_decided, why_now, words_of};
pub(crate) use settings::{otlp_view, settings_view};
pub(crate) use setup::{setup_form, setup_line, setup_problem};
pub(crate) use status::status_view;
pub(crate) use suggest::suggestion_view;
