//! The history: every request with filters, page by page.

use countersign_domain::State;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::FindingView;
use countersign_wire::{RequestKind, Risk, Shown};

/// What to look for. Every given part must hold; an empty filter finds everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct HistoryFilterView {
    /// Plain words that must all occur, `"…"` a phrase, a trailing `*` a prefix; never an error.
    pub text: String,
    /// Workspace.
    pub workspace: Option<String>,
    /// `WORKSPACE/AGENT`, or an agent's name in any workspace.
    pub agent: Option<String>,
    /// Tool name, whole; the value to filter by, not the text that is shown.
    pub tool: Option<String>,
    /// Effective risk.
    pub risk: Option<Risk>,
    /// Its state.
    pub state: Option<HistoryState>,
    /// Verdict, or several: `allowed` for `approve` and `modify`, `refused` for `deny` and `terminate`,
    /// `caught` for `modify`, `deny` and `terminate`.
    pub verdict: Option<String>,
    /// Who decided: `operator`, `rule`, `setup_key`, `timeout`, `agent`, `system`; `automatic` for `rule` and `setup_key`.
    pub origin: Option<String>,
    /// Public key of the operator who signed the decision.
    pub operator: Option<String>,
    /// Id of the rule that decided.
    pub rule: Option<String>,
    /// Only what was decided in this console's window in less time than it takes to read.
    pub hasty: bool,
    /// Only answers whose delivery is overdue now.
    pub overdue: bool,
    /// Stored at or after.
    #[ts(type = "number | null")]
    pub since_ms: Option<i64>,
    /// Stored before.
    #[ts(type = "number | null")]
    pub until_ms: Option<i64>,
}

/// The state of a request: one state, or the several in which nothing is decided yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum HistoryState {
    /// `pending`, `holding` or `queued`.
    Waiting,
    /// Exactly this one.
    #[serde(untagged)]
    One(State),
}

/// What the history can be sorted by: the columns that have an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum HistorySortBy {
    /// When it was stored.
    #[default]
    Stored,
    /// When it was decided; what is not decided comes last.
    Decided,
    /// Its risk; the newest first within one.
    Risk,
}

/// In which order; the newest first unless it says another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HistorySort {
    /// The column.
    pub by: HistorySortBy,
    /// The least first.
    pub ascending: bool,
}

/// Where the next page of an order begins: handed back as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HistoryCursor {
    /// Part of the order.
    #[ts(type = "number")]
    pub part: usize,
    /// When the last row was decided.
    #[ts(type = "number")]
    pub at: i64,
    /// The last row.
    #[ts(type = "number")]
    pub id: i64,
}

/// Asks for a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HistoryPageArgs {
    /// What to look for.
    pub filter: HistoryFilterView,
    /// In which order.
    #[serde(default)]
    pub sort: HistorySort,
    /// Cursor of the page before, of the same order; none for the first.
    pub after: Option<HistoryCursor>,
}

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// A table for a spreadsheet.
    Csv,
    /// One JSON object a line.
    Jsonl,
}

/// Asks for an export of all that passes a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ExportArgs {
    /// What to look for.
    pub filter: HistoryFilterView,
    /// How it is written.
    pub format: ExportFormat,
}

/// An export that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ExportNumber {
    /// Which.
    #[ts(type = "number")]
    pub number: u64,
}

/// What came of the question for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ExportStarted {
    /// The export; none where the person chose no file.
    #[ts(type = "number | null")]
    pub number: Option<u64>,
}

/// How far an export is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ExportView {
    /// Name of the file.
    pub file: Shown,
    /// Requests that were written.
    #[ts(type = "number")]
    pub done: u64,
    /// The file is whole.
    pub ended: bool,
    /// Why the file is missing.
    pub trouble: Option<String>,
}

/// One line of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HistoryRow {
    /// `WORKSPACE/AGENT/ID`, or `rejected:N`: the identity of the row.
    pub key: String,
    /// Order of arrival.
    #[ts(type = "number")]
    pub seq: i64,
    /// Request id.
    pub request_id: String,
    /// Workspace; empty where the subject gave none.
    pub workspace: String,
    /// Agent; empty where the subject gave none.
    pub agent: String,
    /// What was asked; none for what was rejected.
    pub kind: Option<RequestKind>,
    /// The tool's name.
    pub tool: Option<Shown>,
    /// What will happen, else the arguments that distinguish the call, or the question, on one line of at most 80
    /// characters; none where the payload is gone or too large for a list.
    pub summary: Option<Shown>,
    /// What the console found, the strongest alone, as kept with the decision.
    pub finding: Option<FindingView>,
    /// Effective risk.
    pub risk: Risk,
    /// Its state.
    pub state: State,
    /// The verdict as it reads everywhere.
    pub verdict: Option<Shown>,
    /// Who decided: `operator`, `rule`, `setup_key`, `timeout`, `agent`, `system`.
    pub origin: Option<Shown>,
    /// Name of the operator or the console.
    pub by: Option<Shown>,
    /// Whether this console's operator decided it.
    pub mine: bool,
    /// The agent's message.
    pub message: Option<Shown>,
    /// The rule that decided.
    pub rule: Option<Shown>,
    /// How far the decision came: the words of the command line contract.
    pub delivery: String,
    /// Why it was rejected.
    pub error_code: Option<String>,
    /// The server's stamp of the stored request.
    #[ts(type = "number")]
    pub stored_ms: i64,
    /// When it was decided.
    #[ts(type = "number | null")]
    pub decided_ms: Option<i64>,
}

/// A page of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HistoryPage {
    /// The lines. A page may be short, or empty, and still not be the last.
    pub rows: Vec<HistoryRow>,
    /// Cursor of the next page; none at the end.
    pub next: Option<HistoryCursor>,
    /// Requests whose words are not indexed yet: a search for text may miss them. 0 without a text.
    #[ts(type = "number")]
    pub unindexed: u64,
}

/// How many requests pass a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HistoryCount {
    /// So many were counted.
    #[ts(type = "number")]
    pub requests: i64,
    /// These are all. Otherwise these are the newest, and counting the rest takes too long.
    pub whole: bool,
}

/// A value that a filter can take, and how it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct FilterValue {
    /// What goes into the filter. Never shown.
    pub value: String,
    /// How it reads.
    pub label: Shown,
}

/// The values that occur, for the filters; at most 500 of a kind, in alphabetical order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HistoryFilterValues {
    /// Workspaces.
    pub workspaces: Vec<FilterValue>,
    /// `WORKSPACE/AGENT`.
    pub agents: Vec<FilterValue>,
    /// Tools.
    pub tools: Vec<FilterValue>,
    /// Operators by their key.
    pub operators: Vec<FilterValue>,
    /// Rules by their id.
    pub rules: Vec<FilterValue>,
}

/// A filter with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SavedSearch {
    /// Its name, 1 to 80 characters.
    pub name: String,
    /// What it looks for.
    pub filter: HistoryFilterView,
}

/// The saved searches, in alphabetical order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SavedSearches {
    /// At most 200.
    pub searches: Vec<SavedSearch>,
}

/// Names one saved search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SearchName {
    /// Its name.
    pub name: String,
}
