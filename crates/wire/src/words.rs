//! The words that requests and decisions are made of (protocol, sections 2 and 5).
//!
//! An unknown word is read at its worst: an unknown risk is critical, an unknown effect is irreversible, an unknown
//! verdict permits nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is asked.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// May this tool be called?
    ToolCall,
    /// A question to a person.
    Question,
    /// A form to fill in.
    Form,
}

/// How dangerous the agent says the call is; ordered.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// No harm.
    Safe,
    /// Little harm.
    Low,
    /// Some harm.
    Medium,
    /// Great harm.
    High,
    /// The greatest harm, and every word that is not known.
    Critical,
}

/// What a tool does to the world.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Effects {
    /// Reads only.
    Read,
    /// Changes something.
    Write,
    /// Not known to the agent.
    Unknown,
    /// Cannot be undone.
    Irreversible,
}

/// Where a tool comes from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ToolOrigin {
    /// The agent's own process.
    Local,
    /// Defined by the model's provider.
    ProviderDefined,
    /// Runs at the provider.
    Hosted,
    /// From an MCP server.
    Mcp,
    /// From a market place.
    Marketplace,
}

/// What an operator can answer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Run it as asked.
    Approve,
    /// Run it with other arguments.
    Modify,
    /// Do not run it.
    Deny,
    /// Do not run it, without denying it.
    Skip,
    /// Do not run it; here is the answer.
    Respond,
    /// Ask the agent's own next approver.
    Escalate,
    /// Do not run it and end the run.
    Terminate,
}

impl Verdict {
    /// Whether the call may run after this verdict.
    #[must_use]
    pub const fn lets_it_run(self) -> bool {
        matches!(self, Self::Approve | Self::Modify)
    }
}

/// Whether limits bind this verdict. A denial is always allowed: no limit makes a call run.
pub fn is_bound_by_limits(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::Deny | Verdict::Terminate)
}

/// Gives an enum without data its words, and reads and writes them: `ALL`, `as_str`, `from_word`, `Display`.
#[macro_export]
macro_rules! words {
    ($name:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        $crate::words!(@read $name { $($variant => $word),+ });

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
    // For an error, whose message is a sentence of its own.
    (@read $name:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $name {
            /// Every word.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The stable word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value of a word; `None` when it is not known.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}
pub(crate) use words;

words!(RequestKind { ToolCall => "tool_call", Question => "question", Form => "form" });
words!(Risk {
    Safe => "safe", Low => "low", Medium => "medium", High => "high", Critical => "critical",
});
words!(Effects {
    Read => "read", Write => "write", Unknown => "unknown", Irreversible => "irreversible",
});
words!(ToolOrigin {
    Local => "local", ProviderDefined => "provider_defined", Hosted => "hosted", Mcp => "mcp",
    Marketplace => "marketplace",
});
words!(Verdict {
    Approve => "approve", Modify => "modify", Deny => "deny", Skip => "skip",
    Respond => "respond", Escalate => "escalate", Terminate => "terminate",
});

impl Risk {
    /// The risk to act on: any word that is not known is critical (protocol, section 2).
    pub fn effective(word: &str) -> Self {
        Self::from_word(word).unwrap_or(Self::Critical)
    }
}

impl Effects {
    /// The effects to act on: absent is unknown, any word that is not known is irreversible.
    pub fn effective(word: Option<&str>) -> Self {
        word.map_or(Self::Unknown, |word| {
            Self::from_word(word).unwrap_or(Self::Irreversible)
        })
    }
}

/// The verdicts that an agent can honour; always holds `deny`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VerdictSet(u8);

impl VerdictSet {
    /// Only `deny`.
    pub const DENY_ONLY: Self = Self(1 << Verdict::Deny as u8);

    /// Reads the words of `allowed_verdicts`; unknown ones are ignored (protocol, section 2).
    pub fn from_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        words.into_iter().filter_map(Verdict::from_word).collect()
    }

    /// Whether the verdict may be given.
    pub const fn contains(self, verdict: Verdict) -> bool {
        self.0 & (1 << verdict as u8) != 0
    }

    /// The verdicts, in the order of the protocol.
    pub fn iter(self) -> impl Iterator<Item = Verdict> {
        Verdict::ALL
            .iter()
            .copied()
            .filter(move |verdict| self.contains(*verdict))
    }
}

impl FromIterator<Verdict> for VerdictSet {
    fn from_iter<I: IntoIterator<Item = Verdict>>(verdicts: I) -> Self {
        let add = |set: Self, verdict| Self(set.0 | 1 << verdict as u8);
        verdicts.into_iter().fold(Self::DENY_ONLY, add)
    }
}

impl Serialize for VerdictSet {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for VerdictSet {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let words = Vec::<String>::deserialize(from)?;
        Ok(Self::from_words(words.iter().map(String::as_str)))
    }
}

#[cfg(feature = "typescript")]
impl ts_rs::TS for VerdictSet {
    type WithoutGenerics = Self;
    type OptionInnerType = Self;

    fn name(cfg: &ts_rs::Config) -> String {
        format!("Array<{}>", Verdict::name(cfg))
    }

    fn inline(cfg: &ts_rs::Config) -> String {
        Self::name(cfg)
    }

    fn visit_dependencies(visitor: &mut impl ts_rs::TypeVisitor) {
        visitor.visit::<Verdict>();
    }
}
