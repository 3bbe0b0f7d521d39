//! One span whole, as its agent wrote it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{ArgEntry, UsageView};
use countersign_wire::Shown;

/// Names a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SpanArgs {
    /// Its number.
    #[ts(type = "number")]
    pub span: i64,
}

/// A mark that a framework left on a text that it shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ShortenedView {
    /// The framework compressed it.
    Compressed {
        /// From so many characters.
        #[ts(type = "number")]
        from: u64,
    },
    /// The framework cut it, since compressing failed.
    Truncated {
        /// From so many characters.
        #[ts(type = "number")]
        from: u64,
    },
}

/// A piece of what a span put out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum PartView {
    /// Text.
    Text {
        /// The text, its beginning where it is long.
        text: Shown,
        /// Bytes that are not shown; the bytes as received have them.
        #[ts(type = "number")]
        cut: u64,
        /// What the framework did to it.
        shortened: Option<ShortenedView>,
    },
    /// A value of other shape, in full or its beginning.
    Value {
        /// The value.
        entries: Vec<ArgEntry>,
        /// It is longer than is shown.
        cut: bool,
    },
    /// An image whose bytes came over the bus.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`, as its first bytes say.
        mime: String,
        /// Base64 of its bytes, encoded anew.
        data: String,
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
    /// A file whose bytes came over the bus.
    File {
        /// What the agent calls it.
        mime: Shown,
        /// Bytes.
        #[ts(type = "number")]
        size: u64,
        /// Of its bytes, lowercase hex.
        sha256: String,
    },
    /// Something kept elsewhere.
    Reference {
        /// The agent's name for it.
        name: Shown,
    },
    /// What is none of these, and why it is not drawn.
    Wrong {
        /// What the agent calls it.
        mime: Shown,
        /// Why.
        why: String,
    },
}

/// Something that a span made and keeps elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ArtifactView {
    /// Its file name, else its address.
    pub name: Shown,
    /// What the agent calls it.
    pub mime: Option<Shown>,
    /// What it is for.
    pub role: Option<Shown>,
    /// How long it is kept.
    pub retention: Option<Shown>,
    /// Where it lies: shown, never fetched.
    pub url: Option<Shown>,
    /// Digest, as the agent states it.
    pub sha256: Option<Shown>,
    /// Bytes, as the agent states them.
    #[ts(type = "number | null")]
    pub size: Option<u64>,
}

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SpanFaultKind {
    /// The tool lacks a credential.
    Credential,
    /// The balance does not cover it.
    Balance,
    /// The tool failed.
    Tool,
    /// The tool did not answer in time.
    ToolTimeout,
    /// The arguments did not fit the tool.
    Validation,
    /// Anything else.
    Other,
}

/// What went wrong in a span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SpanFault {
    /// What kind.
    pub kind: SpanFaultKind,
    /// The framework's code.
    pub code: Option<Shown>,
    /// The framework's name of the error.
    pub error_type: Option<Shown>,
    /// The agent's words.
    pub message: Option<Shown>,
    /// Credentials that are missing.
    pub missing_keys: Vec<Shown>,
    /// The tool that was called wrongly.
    pub tool: Option<Shown>,
    /// The argument that is wrong.
    pub param: Option<Shown>,
    /// What is wrong with it.
    pub issue: Option<Shown>,
    /// What the framework proposes.
    pub suggestion: Option<Shown>,
}

/// One call of a chain, as the chain's own record says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChainCall {
    /// The tool.
    pub tool: Shown,
    /// `ok`, `error`, `denied`, `timeout`, or the framework's own word.
    pub status: Shown,
    /// How long it took.
    #[ts(type = "number | null")]
    pub duration_ms: Option<i64>,
    /// The framework's own digest of the arguments.
    pub args_digest: Option<Shown>,
}

/// A name that the agent gave to something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct NamedId {
    /// `span`, `parent`, `run`, `thread`, `call`, `request`, `arguments`.
    pub name: String,
    /// Its id.
    pub id: Shown,
}

/// One span whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SpanView {
    /// `span:N`, which `span_raw` takes.
    pub key: String,
    /// What it is called.
    pub name: Shown,
    /// `WORKSPACE/AGENT` that wrote it.
    pub agent: String,
    /// The protocol's word for its state.
    pub status: Option<String>,
    /// The tool.
    pub tool: Option<Shown>,
    /// By the agent's clock.
    #[ts(type = "number")]
    pub started_ms: i64,
    /// Ids that the agent gave.
    pub ids: Vec<NamedId>,
    /// What went in.
    pub input: Vec<ArgEntry>,
    /// What went in is longer than is shown.
    pub input_cut: bool,
    /// What came out.
    pub output: Vec<PartView>,
    /// What it made.
    pub artifacts: Vec<ArtifactView>,
    /// What went wrong.
    pub fault: Option<SpanFault>,
    /// The calls of a chain, where its record lists them.
    pub chain: Vec<ChainCall>,
    /// What it used alone.
    pub usage: Option<UsageView>,
    /// Attributes in the framework's names.
    pub attributes: Vec<ArgEntry>,
    /// There are more than are shown.
    pub attributes_cut: bool,
}
