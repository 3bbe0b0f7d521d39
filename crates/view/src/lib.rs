//! The contract between the window and the core: every command and every shape that crosses it.
//!
//! Text of an agent has one form, [`Shown`](countersign_wire::Shown), with four named exceptions: [`EditorText`] (JSON
//! for an editor, itself pure ASCII), [`RuleText`] (the same in TOML), [`RawChunk::hex`], and the bytes of an image in
//! [`PartView`], encoded anew. It is independent of Tauri; the window implements the commands, the page imports the
//! generated TypeScript.
//!
//! Times are milliseconds since the Unix epoch by the server's clock unless a field says otherwise.

mod agents;
mod alarms;
mod batch;
mod card;
mod commands;
mod controls;
mod decide;
mod error;
mod history;
mod inbox;
mod looks;
mod notify;
mod operators;
mod overview;
mod practice;
mod production;
mod reader;
mod rejected;
mod rule_changes;
mod rules;
mod scrutiny;
pub mod secrets;
mod settings;
mod setup;
mod span;
mod status;
mod story;
mod suggest;
mod text;
mod tool_record;
mod trace;
mod typescript;
mod votes;
mod why;
pub mod window;
mod words;

pub use agents::{
    AgentToolView, AgentView, AgentsView, ChooseTargetArgs, CredentialView, GateView,
    HelloFaultView, InstanceView, ToolTarget,
};
pub use alarms::{AcknowledgeArgs, AlarmItem, AlarmSeen, AlarmsView, JoinedView};
pub use batch::{DecidedNotice, InboxBatch, InboxChange};
pub use card::{
    AgentWords, ArgEntry, ArgPart, Card, DecisionView, EffectiveGroup, FormFields, FormView,
    HistoryMessage, HoldView, NativeDigest, OnBusView, OptionView, OriginView, QuestionView,
    ReAskView, Reveal, RevealKind, Rung, RungName, RungState, ToolView, WarningView,
};
pub use commands::{COMMANDS, CommandName, Nothing};
pub use controls::{BypassArgs, BypassFor, ControlArgs, ControlOutcome, PanicArgs};
pub use decide::{
    Answer, AnswerCheck, CheckEditArgs, DecideArgs, DecideOutcome, DiffKind, DiffLine, EditCheck,
    EditProblem, EditorText, TypedTarget,
};
pub use error::{FaultCode, IpcError, WindowFault};
pub use history::{
    ExportArgs, ExportFormat, ExportNumber, ExportStarted, ExportView, FilterValue, HistoryCount,
    HistoryCursor, HistoryFilterValues, HistoryFilterView, HistoryPage, HistoryPageArgs,
    HistoryRow, HistorySort, HistorySortBy, HistoryState, SavedSearch, SavedSearches, SearchName,
};
pub use inbox::{InboxFirst, InboxRow, InboxSnapshot, KeyArgs};
pub use looks::{ArgLook, CommandPart};
pub use notify::{NotifyArgs, NotifyLevel};
pub use operators::{OperatorLine, OperatorsView};
pub use overview::{
    OverviewArgs, OverviewView, PaceView, PersonWeekView, VerdictCount, VolumePiece,
};
pub use practice::{PracticeAnswer, PracticePerson, PracticeView, SetPracticeArgs};
pub use production::Production;
pub use reader::{
    ReaderFound, ReaderMarkView, ReaderModel, ReaderTried, ReaderView, ReadersFound, UseReaderArgs,
};
pub use rejected::{RejectedDetail, RejectedPage, RejectedPageArgs, RejectedRow};
pub use rule_changes::{RuleChangeKind, RuleChangeView, RuleChangesView};
pub use rules::{
    CheckRuleArgs, DeniedCalls, DraftRuleArgs, GrantReach, PreviewCase, PreviewNumber,
    PreviewReport, PreviewView, RegretArgs, RegretOutcome, RegretView, RemoveRuleArgs, RemovedRule,
    RuleArgs, RuleCheck, RuleProblem, RuleRow, RuleText, RuleWords, RulesArgs, RulesView,
    SaveRuleArgs, SavedRule, StartPreviewArgs, StepsDone, SuspendedView, WaitingCalls,
};
pub use scrutiny::{ComparedView, DeniedView, DiffersView, FindingView, PartMark};
pub use settings::{
    FolderView, HasteArgs, HasteView, LoginKind, OtlpView, OwnKey, SettingsView, StallView,
    StoreLimit,
};
pub use setup::{
    SetupArgs, SetupBinding, SetupChanged, SetupChosen, SetupDeclared, SetupEdit, SetupElement,
    SetupForm, SetupKeyView, SetupLeftover, SetupLineView, SetupLines, SetupProblem, SetupSaveArgs,
    SetupSaved, SetupType,
};
pub use span::{
    ArtifactView, ChainCall, NamedId, PartView, ShortenedView, SpanArgs, SpanFault, SpanFaultKind,
    SpanView,
};
pub use status::{
    AlarmView, AuditView, BusView, BypassView, ConnectCommand, ConnectHint, ControlView,
    ServerTime, StatusView, TodayArgs, TodayView,
};
pub use story::{AuditRef, RequestStoryView, RuleRef, SignatureView, VoteView};
pub use suggest::{DismissArgs, SuggestionView, SuggestionsArgs, SuggestionsView};
pub use text::{RawArgs, RawChunk, RevealArgs, Revealed};
pub use tool_record::ToolRecordView;
pub use trace::{
    LedHere, LineKind, LineLook, LineRepair, LineWait, TraceArgs, TraceLine, TraceRow, TraceTree,
    TracesPage, TracesPageArgs, UsageView,
};
pub use typescript::typescript;
pub use votes::{BallotView, VotesCount, VotesView};
pub use why::{
    MatchedRule, MatrixCell, MatrixRow, MatrixView, NearRule, SetupReasonView, WhyDecided, WhyNow,
    WhyView,
};
pub use words::DecidePath;
