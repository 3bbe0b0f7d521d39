//! One call as it is looked at.

use std::sync::OnceLock;

use countersign_shell::Script;
use countersign_wire::{ApprovalRequest, KeptJson};
use serde_json::Value;

use crate::cell::Cell;
use crate::leaf::{Leaf, among, leaves, words_of};

/// A call with its arguments, and what the agent says to the person who approves.
#[derive(Debug)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The arguments.
    pub args: &'a Value,
    /// Digest of the arguments; empty if there is none.
    pub digest: String,
    /// Reason, title and preview.
    pub said: Vec<&'a str>,
    /// Whether a value under this name is a secret: no sentence says it.
    pub hides: fn(&str) -> bool,
    /// What the framework says of the call itself.
    native: Option<&'a KeptJson>,
    /// The server's day of its arrival, as days since 1970; none where it is not known.
    pub today: Option<i64>,
    pub(crate) leaves: Vec<Leaf<'a>>,
    /// Its commands, read: number of the leaf, place, commands.
    pub(crate) scripts: OnceLock<Vec<(usize, String, Script)>>,
    /// What is written inside of texts: in JSON, options of commands, parameters of URLs, headers of mails.
    pub(crate) inner: OnceLock<Vec<Leaf<'static>>>,
    /// The values as they are compared with those of earlier calls.
    pub(crate) cells: OnceLock<Vec<Cell>>,
    pub(crate) tool_words: Vec<String>,
}

impl<'a> Call<'a> {
    /// The call of a tool with these arguments; the agent says nothing.
    #[must_use]
    pub fn new(tool: &'a str, args: &'a Value) -> Self {
        Self {
            tool,
            args,
            digest: String::new(),
            said: Vec::new(),
            hides: |_| false,
            native: None,
            today: None,
            leaves: leaves(args),
            scripts: OnceLock::new(),
            inner: OnceLock::new(),
            cells: OnceLock::new(),
            tool_words: words_of(tool),
        }
    }

    /// The call that a request asks for; none for questions and forms.
    #[must_use]
    pub fn of(request: &'a ApprovalRequest) -> Option<Self> {
        let mut call = Self::new(&request.tool.as_ref()?.name, request.args.as_ref()?);
        let said = [&request.reason, &request.title, &request.preview];
        call.said = said.into_iter().flatten().map(String::as_str).collect();
        call.native = request.native.as_ref();
        let digest = request.args_digest.as_ref().map(ToString::to_string);
        call.digest = digest.unwrap_or_default();
        Some(call)
    }

    /// The folder in which the agent works, as its framework says.
    pub(crate) fn folder(&self) -> Option<String> {
        let native = self.native?.value()?;
        native.get("cwd")?.as_str().map(str::to_owned)
    }

    /// Whether a value is a secret by its name, or by that of what it is in.
    pub(crate) fn is_hidden(&self, leaf: &Leaf<'_>) -> bool {
        leaf.at.split('/').any(|name| (self.hides)(name))
    }

    /// Whether the tool's name has one of these words.
    pub(crate) fn tool_is(&self, words: &str) -> bool {
        self.tool_words.iter().any(|word| among(words, word))
    }

    /// A tool that only looks, by its name.
    pub(crate) fn only_reads(&self) -> bool {
        const READS: &str = "read list get search find grep glob ls view show fetch describe query lookup cat inspect status browse";
        const WRITES: &str = "write delete remove update edit replace sync set send";
        self.tool_is(READS) && !self.tool_is(WRITES)
    }
}
