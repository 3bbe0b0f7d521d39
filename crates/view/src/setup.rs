//! The Setup screen: what agents let people set, what was set, and which values spare a question.
//!
//! A value that a person edits travels as JSON in ASCII, so that no hidden character hides in it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::Shown;

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SetupType {
    /// A short text.
    StringShort,
    /// A long text.
    StringLong,
    /// A text of several lines.
    StringMultiline,
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// A list of objects.
    ListDict,
}

/// One agent in the list of setups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetupLineView {
    /// `WORKSPACE/AGENT`.
    pub key: String,
    /// Workspace.
    pub workspace: String,
    /// Agent.
    pub agent: String,
    /// How many keys it declares; none when its declaration cannot be used.
    pub keys: Option<u32>,
    /// How many of them have a value that somebody chose.
    pub chosen: u32,
    /// How many of them spare a question at some value.
    pub bound: u32,
}

/// Every known agent, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetupLines {
    /// One line each.
    pub agents: Vec<SetupLineView>,
}

/// Names an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetupArgs {
    /// `WORKSPACE/AGENT`.
    pub agent: String,
}

/// What the objects of a list hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetupElement {
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// Its type.
    pub kind: SetupType,
    /// What it does, in the agent's words.
    pub description: Option<Shown>,
}

/// A value that somebody chose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetupChosen {
    /// The value as JSON in ASCII, indented; none where it looks like a secret: it can be replaced only.
    pub json: Option<String>,
    /// False when the agent's declaration has changed and the value counts no more.
    pub fits: bool,
    /// The operator's name.
    pub by: Shown,
    /// When, by the operator's console; none where that cannot be read.
    #[ts(type = "number | null")]
    pub at_ms: Option<i64>,
}

/// When a key spares the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetupBinding {
    /// Calls do not ask while the key has this value.
    pub skips_when: Shown,
    /// Whether that holds for critical calls too.
    pub critical: bool,
    /// Whether the key has this value now and that counts.
    pub spares: bool,
    /// Whether the agent declares the key otherwise than when it was bound: it asks until it is bound or set again.
    pub redeclared: bool,
    /// The operator's name.
    pub by: Shown,
    /// When, by the operator's console.
    #[ts(type = "number | null")]
    pub at_ms: Option<i64>,
}

/// A declared key and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetupKeyView {
    /// Its name: letters, digits and `_`.
    pub key: String,
    /// Its type.
    pub kind: SetupType,
    /// What it belongs to.
    pub group: Option<Shown>,
    /// What it does, in the agent's words.
    pub description: Option<Shown>,
    /// What an empty field shows.
    pub placeholder: Option<Shown>,
    /// How important it is, in the agent's word.
    pub importance: Option<Shown>,
    /// What the objects of a list hold; empty where they may hold anything.
    pub elements: Vec<SetupElement>,
    /// Its name says that the value is a secret.
    pub secret: bool,
    /// Its value where nobody chose one: a text as it is, anything else as JSON.
    pub default: Shown,
    /// The value in force.
    pub value: Shown,
    /// What somebody chose; none where the default counts.
    pub chosen: Option<SetupChosen>,
    /// When it spares the question; none where it always asks.
    pub bound: Option<SetupBinding>,
}

/// Something that was set for a key which the agent does not declare, or no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetupLeftover {
    /// The key, for taking it away.
    pub key: String,
    /// The same, for showing it.
    pub name: Shown,
    /// Its value, which counts for nothing.
    pub value: Option<Shown>,
    /// Its binding, which spares no question.
    pub bound: Option<SetupBinding>,
}

/// Something that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetupProblem {
    /// The key that it is about; none for a declaration.
    pub key: Option<String>,
    /// `rows[0].name`.
    pub path: Shown,
    /// What is wrong.
    pub message: Shown,
}

/// What an agent says of its setup keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SetupDeclared {
    /// It has none, or has sent no hello.
    Nothing,
    /// Its declaration cannot be used.
    Wrong {
        /// Why, each with its path.
        problems: Vec<SetupProblem>,
    },
    /// Its keys in the order of the form.
    Keys {
        /// Each with its value.
        keys: Vec<SetupKeyView>,
    },
}

/// The last change of a setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetupChanged {
    /// The operator's name.
    pub by: Shown,
    /// When, by the operator's console.
    #[ts(type = "number | null")]
    pub at_ms: Option<i64>,
}

/// One agent's setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetupForm {
    /// `WORKSPACE/AGENT`.
    pub key: String,
    /// Workspace.
    pub workspace: String,
    /// Agent.
    pub agent: String,
    /// Its revision on the bus; 0 while nobody has set anything.
    #[ts(type = "number")]
    pub revision: u64,
    /// False when the value on the bus does not verify or cannot be read: no key spares a question.
    pub readable: bool,
    /// What the agent declares.
    pub declared: SetupDeclared,
    /// What was set for anything else.
    pub leftovers: Vec<SetupLeftover>,
    /// Who changed it last.
    pub changed: Option<SetupChanged>,
}

/// One change of a setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SetupEdit {
    /// Chooses a value.
    Set {
        /// The key's name.
        key: String,
        /// The value as JSON; none goes back to the default.
        json: Option<String>,
    },
    /// Calls that name the key do not ask while it has a value.
    Bind {
        /// Which key.
        key: String,
        /// That value as JSON.
        json: String,
        /// For critical calls too.
        critical: bool,
    },
    /// The key spares no question any more.
    Unbind {
        /// Which key.
        key: String,
    },
}

/// Several changes of one setup: all or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetupSaveArgs {
    /// `WORKSPACE/AGENT`.
    pub agent: String,
    /// The revision of the form that the person saw.
    #[ts(type = "number")]
    pub revision: u64,
    /// The changes.
    pub edits: Vec<SetupEdit>,
}

/// What became of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SetupSaved {
    /// They are on the bus.
    Stored {
        /// As it is now.
        form: SetupForm,
    },
    /// Somebody else changed the setup in between: nothing was written.
    Conflict {
        /// As it is now.
        form: SetupForm,
    },
    /// Nothing was written.
    Refused {
        /// What is wrong.
        problems: Vec<SetupProblem>,
    },
}
