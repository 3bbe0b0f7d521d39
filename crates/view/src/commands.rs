//! Every command of the window, declared once.
//!
//! A host builds its dispatcher by handing [`with_ipc_commands!`](crate::with_ipc_commands) a macro
//! of its own: a command without a handler does not compile.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::*;

/// The argument of commands that take none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Nothing {}

/// Hands `name(Arguments) -> Result` of every command to the macro `$callback`.
#[macro_export]
macro_rules! with_ipc_commands {
    ($callback:ident) => {
        $callback! {
            /// What waits next, in deadline order: drawn while the whole list is read.
            inbox_first(Nothing) -> InboxFirst,
            /// All requests that wait, in deadline order.
            inbox_snapshot(Nothing) -> InboxSnapshot,
            /// One request whole.
            card(KeyArgs) -> Card,
            /// One hidden value or one value with hidden characters; written to the audit log.
            reveal(RevealArgs) -> Revealed,
            /// A part of the request's bytes as received.
            raw(RawArgs) -> RawChunk,
            /// The arguments as JSON for the editor.
            editable(KeyArgs) -> EditorText,
            /// Whether edited arguments may be sent, and how they differ.
            check_edit(CheckEditArgs) -> EditCheck,
            /// Whether the answer of a form fits its schema.
            check_answer(CheckEditArgs) -> AnswerCheck,
            /// Gives a verdict.
            decide(DecideArgs) -> DecideOutcome,
            /// Takes a held approval back.
            undo(KeyArgs) -> Nothing,
            /// Rejected messages, newest first.
            rejected_list(RejectedPageArgs) -> RejectedPage,
            /// One rejected message.
            rejected_detail(KeyArgs) -> RejectedDetail,
            /// A part of a rejected message's bytes.
            rejected_raw(RawArgs) -> RawChunk,
            /// Requests that pass a filter, in some order.
            history_page(HistoryPageArgs) -> HistoryPage,
            /// How many requests pass a filter.
            history_count(HistoryFilterView) -> HistoryCount,
            /// Asks the person for a file, and begins to write all that passes a filter there. Audited.
            start_export(ExportArgs) -> ExportStarted,
            /// How far that is.
            export(ExportNumber) -> ExportView,
            /// Ends it; no file is left.
            stop_export(ExportNumber) -> Nothing,
            /// The values that filters can take.
            history_filter_values(Nothing) -> HistoryFilterValues,
            /// A request's whole story.
            request_story(KeyArgs) -> RequestStoryView,
            /// The searches that were given a name.
            saved_searches(Nothing) -> SavedSearches,
            /// Keeps a search under its name, in the place of one with the same.
            save_search(SavedSearch) -> SavedSearches,
            /// Forgets a saved search.
            forget_search(SearchName) -> SavedSearches,
            /// Numbers about a time.
            overview(OverviewArgs) -> OverviewView,
            /// Traces, the one last written to first.
            traces_page(TracesPageArgs) -> TracesPage,
            /// One call tree.
            trace_tree(TraceArgs) -> TraceTree,
            /// One span whole.
            span(SpanArgs) -> SpanView,
            /// A part of a span's bytes.
            span_raw(RawArgs) -> RawChunk,
            /// How the calls of a request's tool ended before it.
            tool_record(KeyArgs) -> ToolRecordView,
            /// The trace until a request was asked; no line where its agent sent none.
            led_here(KeyArgs) -> LedHere,
            /// Pauses or stops an agent, or releases it; it is on the bus when this returns.
            brake(ControlArgs) -> ControlOutcome,
            /// Turns every automatic approval off, or lets them be given again.
            panic(PanicArgs) -> ControlOutcome,
            /// Lets calls of an agent run without asking for a while, or ends that; it is on the bus when this returns.
            /// Audited.
            bypass(BypassArgs) -> ControlOutcome,
            /// Bus, backlog, alarms, operator and audit head.
            status(Nothing) -> StatusView,
            /// How quickly people decide today.
            today(TodayArgs) -> TodayView,
            /// Every active alarm, the acknowledged ones too.
            alarms_list(Nothing) -> AlarmsView,
            /// Says that the operator has seen an alarm: the status stops showing it. Audited.
            acknowledge_alarm(AcknowledgeArgs) -> AlarmItem,
            /// Every known agent with what it lets people set.
            setup_list(Nothing) -> SetupLines,
            /// One agent's setup keys.
            setup_of(SetupArgs) -> SetupForm,
            /// Changes setup keys, all or none, on the revision that was seen. Audited.
            setup_save(SetupSaveArgs) -> SetupSaved,
            /// How this console was started, who it is and what it keeps.
            settings(Nothing) -> SettingsView,
            /// Whether practice cards come, and what people saw.
            practice(Nothing) -> PracticeView,
            /// Turns them on or off. Audited.
            set_practice(SetPracticeArgs) -> PracticeView,
            /// Where a second reader sends arguments, and what came of it.
            reader(Nothing) -> ReaderView,
            /// The known programs that can read.
            readers_found(Nothing) -> ReadersFound,
            /// Asks one of them about a made-up card, then lets it read. Audited.
            use_reader(UseReaderArgs) -> ReaderView,
            /// Stops the reader. Audited.
            stop_reader(Nothing) -> ReaderView,
            /// Asks the reader about twelve made-up cards.
            try_reader(Nothing) -> ReaderTried,
            /// Whether hasty decisions slow the next card down. Turning it on or off is audited.
            haste_brake(HasteArgs) -> HasteView,
            /// Every agent that is known: its copies, its tools, its credentials.
            agents_list(Nothing) -> AgentsView,
            /// Who may decide in the realm, since when and by whom.
            operators_list(Nothing) -> OperatorsView,
            /// Chooses what is typed before a critical call of a tool is approved. Audited.
            choose_target(ChooseTargetArgs) -> Nothing,
            /// A workspace's rules and what they did.
            rules_list(RulesArgs) -> RulesView,
            /// One rule for the editor.
            rule_text(RuleArgs) -> RuleText,
            /// Who changed it, what and when.
            rule_changes(RuleArgs) -> RuleChangesView,
            /// What can be written in a rule.
            rule_words(Nothing) -> RuleWords,
            /// Whether a rule may be saved: the check of `countersign rules check`.
            check_rule(CheckRuleArgs) -> RuleCheck,
            /// Saves a rule unless somebody else changed it, or it would approve what people denied; it is on the bus
            /// when this returns.
            save_rule(SaveRuleArgs) -> SavedRule,
            /// Removes a rule unless that would approve what people denied; it is gone from the bus when this returns.
            remove_rule(RemoveRuleArgs) -> RemovedRule,
            /// Begins to try a rule on the past.
            start_preview(StartPreviewArgs) -> PreviewNumber,
            /// How far that is, and what it found.
            preview(PreviewNumber) -> PreviewView,
            /// Ends it.
            stop_preview(PreviewNumber) -> Nothing,
            /// The narrowest rule that approves a request; it is stored nowhere yet.
            draft_rule(DraftRuleArgs) -> RuleText,
            /// Rules that would have said what people said again and again.
            suggestions(SuggestionsArgs) -> SuggestionsView,
            /// Takes a suggestion away for good, or back.
            dismiss_suggestion(DismissArgs) -> Nothing,
            /// Calls an automatic decision wrong; what decided it is suspended when this returns.
            regret(RegretArgs) -> RegretOutcome,
            /// Which rule decides a request or asks, which nearly did, and which setup key.
            why(KeyArgs) -> WhyView,
            /// What happens now to each tool at each risk.
            matrix(RulesArgs) -> MatrixView,
            /// The server's time now.
            server_time(Nothing) -> ServerTime,
            /// Which desktop notifications are wanted from now on.
            notify(NotifyArgs) -> Nothing,
            /// How to connect an agent to this console.
            connect_hint(Nothing) -> ConnectHint,
        }
    };
}

macro_rules! declare {
    ($( $(#[$doc:meta])* $name:ident ( $args:ty ) -> $result:ty ),* $(,)?) => {
        /// Each command's name with its argument and its result, for the generated TypeScript.
        #[derive(TS)]
        #[allow(dead_code, reason = "read by the code generator only")]
        pub(crate) struct Commands {
            $( $(#[$doc])* $name: ($args, $result), )*
        }

        /// A command's name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(non_camel_case_types, reason = "the names are those on the wire")]
        pub enum CommandName {
            $( $(#[$doc])* $name, )*
        }

        /// The names of all commands, in the order of declaration.
        pub const COMMANDS: &[&str] = &[$( stringify!($name) ),*];
    };
}
with_ipc_commands!(declare);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_command_is_known_by_its_name_and_no_other_is() {
        for name in COMMANDS {
            let parsed: CommandName = serde_json::from_value((*name).into()).unwrap();
            assert_eq!(serde_json::to_value(parsed).unwrap(), *name);
        }
        assert!(serde_json::from_value::<CommandName>("approve".into()).is_err());
    }
}
