//! Giving a verdict, taking it back, and editing the arguments before.

use countersign_domain::State;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::PracticeAnswer;
use countersign_wire::{Scope, Shown, Verdict};

/// The answer of a `respond`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Answer {
    /// One of the question's options, by its place; the option's key never leaves the core.
    Option {
        /// Place among the card's options.
        index: u32,
        /// More words, where the question allows them.
        text: Option<String>,
    },
    /// Free text.
    Text {
        /// The words.
        text: String,
    },
    /// JSON for a form, checked against its schema.
    Form {
        /// The JSON.
        json: String,
    },
}

/// A verdict with everything that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DecideArgs {
    /// Which request.
    pub key: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Digest of the request's payload that the card showed: what was seen is what is decided.
    pub seen_request_digest: String,
    /// Digest of the arguments that the card showed; none where the card has no arguments.
    pub seen_args_digest: Option<String>,
    /// The editor's text, for `modify`.
    pub edited: Option<String>,
    /// Digest of the edited arguments that the diff showed, for `modify`.
    pub seen_edit_digest: Option<String>,
    /// For the agent: why, or what to do instead.
    pub message: Option<String>,
    /// For `respond`.
    pub answer: Option<Answer>,
    /// The typed target, on the critical way.
    pub typed: Option<String>,
    /// The card's reveals that were opened, on the critical way.
    pub revealed: Vec<u32>,
    /// How far an approval is meant, recorded in the decision: it grants nothing. Absent is `once`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub scope: Option<Scope>,
    /// How long the card was in front and armed, ms. Of several cards that were decided together: the share of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub front_ms: Option<u32>,
    /// Whether the arguments were seen to their end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub to_end: Option<bool>,
}

/// What became of a verdict. Only `decided` means that the stream has acknowledged it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DecideOutcome {
    /// The request's state now.
    pub state: State,
    /// The verdict that is sent; `terminate` may have become `deny`.
    pub verdict: String,
    /// When a held approval is signed and sent.
    #[ts(type = "number | null")]
    pub release_ms: Option<i64>,
    /// What came of a practice card; none of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub practice: Option<PracticeAnswer>,
}

/// JSON for the editor: pure ASCII, so that no hidden character can hide in it. A placeholder replaces a hidden value
/// and keeps it when it is left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct EditorText {
    /// The JSON, indented.
    pub json: String,
}

/// Asks whether an edit, or the answer of a form, may be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CheckEditArgs {
    /// Which request.
    pub key: String,
    /// The editor's text.
    pub json: String,
}

/// What is wrong with an edit or an answer, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct EditProblem {
    /// Line in the editor, from 1; none where the place is unknown.
    pub line: Option<u32>,
    /// JSON pointer into the arguments or the answer.
    pub path: Shown,
    /// What is wrong.
    pub message: Shown,
}

/// Whether the answer of a form may be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AnswerCheck {
    /// Empty when it may be sent.
    pub problems: Vec<EditProblem>,
}

/// What a line of the diff shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum DiffKind {
    /// In both.
    Same,
    /// Only in the arguments at the gate.
    Old,
    /// Only in the edited arguments.
    New,
}

/// One line of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DiffLine {
    /// Its kind.
    pub kind: DiffKind,
    /// The line.
    pub text: Shown,
}

/// What is typed on the critical way before anything runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TypedTarget {
    /// The text. None where it holds characters that cannot be typed, and then nothing can be approved.
    pub text: Option<String>,
    /// The argument that it is the value of: a JSON pointer that an operator chose. None for the tool's name.
    pub pointer: Option<Shown>,
}

/// Whether an edit may be sent, and how it differs from the arguments at the gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EditCheck {
    /// Empty when it may be sent.
    pub problems: Vec<EditProblem>,
    /// Digest of the edited arguments; none while they are not JSON of the protocol.
    pub args_digest: Option<String>,
    /// What to type on the critical way before the edited arguments run; none while there are problems.
    pub target: Option<TypedTarget>,
    /// False when nothing was changed.
    pub changed: bool,
    /// Both, line by line.
    pub diff: Vec<DiffLine>,
}
