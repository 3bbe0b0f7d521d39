//! Rules that the console proposes: what people approve again and again.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::RuleText;
use countersign_wire::Shown;

/// Asks what is suggested in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SuggestionsArgs {
    /// Which one.
    pub workspace: String,
}

/// A rule that would have said what people said. It is stored nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SuggestionView {
    /// The same for the same calls, whenever they are suggested.
    pub id: String,
    /// For people.
    pub name: Shown,
    /// Tool and agent.
    pub about: Shown,
    /// The arguments that it names, on one line; the rule has the whole.
    pub args: Shown,
    /// Approvals that it covers; nobody denied such a call.
    #[ts(type = "number")]
    pub approvals: u64,
    /// Who gave them.
    pub operators: Vec<Shown>,
    /// The first of them.
    #[ts(type = "number")]
    pub first_ms: i64,
    /// The last of them.
    #[ts(type = "number")]
    pub last_ms: i64,
    /// The rule, in the shadow.
    pub rule: RuleText,
    /// Somebody at this console wants to hear no more of it.
    pub dismissed: bool,
}

/// What is suggested, or how far the search for it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SuggestionsView {
    /// False while people's decisions are still read: ask again.
    pub ready: bool,
    /// Decisions that were read.
    #[ts(type = "number")]
    pub looked: u64,
    /// Why nothing was found out.
    pub trouble: Option<String>,
    /// The one with most approvals first; those that were dismissed, too.
    pub suggestions: Vec<SuggestionView>,
    /// So many like approvals make a suggestion.
    #[ts(type = "number")]
    pub approvals_min: u64,
    /// Within so many days.
    #[ts(type = "number")]
    pub window_days: i64,
}

/// Takes a suggestion away for good, or back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DismissArgs {
    /// Its workspace.
    pub workspace: String,
    /// Its id.
    pub id: String,
    /// False suggests it again.
    pub dismissed: bool,
}
