//! One function per declared command.

mod agents;
mod alarms;
mod controls;
mod decide;
mod edit;
mod exports;
mod history;
mod inbox;
mod notify;
mod operators;
mod overview;
mod practice;
mod previews;
mod raw;
mod reader;
mod rejected;
mod rule_changes;
mod rules;
mod settings;
mod setup;
mod status;
mod steps;
mod suggest;
mod tool_record;
mod trace;
mod why;

pub(crate) use agents::{agents_list, choose_target};
pub(crate) use alarms::{acknowledge_alarm, alarms_list};
pub(crate) use controls::{brake, bypass, panic};
pub(crate) use decide::{decide, undo};
pub(crate) use edit::{check_answer, check_edit, editable};
pub(crate) use exports::{export, start_export, stop_export};
pub(crate) use history::{
    forget_search, history_count, history_filter_values, history_page, request_story, save_search,
    saved_searches,
};
pub(crate) use inbox::{card, inbox_first, inbox_snapshot, reveal};
pub(crate) use notify::notify;
pub(crate) use operators::operators_list;
pub(crate) use overview::overview;
pub(crate) use practice::{practice, set_practice};
pub(crate) use previews::{preview, start_preview, stop_preview};
pub(crate) use raw::{raw, rejected_raw};
pub(crate) use reader::{reader, readers_found, stop_reader, try_reader, use_reader};
pub(crate) use rejected::{rejected_detail, rejected_list};
pub(crate) use rule_changes::rule_changes;
pub(crate) use rules::{
    check_rule, draft_rule, regret, remove_rule, rule_text, rule_words, rules_list, save_rule,
};
pub(crate) use settings::{haste_brake, settings};
pub(crate) use setup::{setup_list, setup_of, setup_save};
pub(crate) use status::{connect_hint, server_time, status, today};
pub(crate) use suggest::{dismiss_suggestion, suggestions};
pub(crate) use tool_record::tool_record;
pub(crate) use trace::{led_here, span, span_raw, trace_tree, traces_page};
pub(crate) use why::{matrix, why};
