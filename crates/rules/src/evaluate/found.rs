//! What a judgement finds.

use serde_json::Value;

use crate::conditions::ConditionError;
use crate::domain::controls::AutomaticOff;
use crate::rule::{Effect, Rule};
use crate::unsure::Unsure;

/// What a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Matcher {
    /// The agent's name.
    Agent,
    /// The tool's name.
    Tool,
    /// The risk.
    Risk,
    /// The kind.
    Kind,
    /// Where the tool comes from.
    Origin,
    /// The framework.
    Framework,
    /// The skill.
    Skill,
    /// The thread.
    ThreadId,
    /// The digest of the arguments.
    ArgsDigest,
    /// One argument, by its place among the rule's.
    Arg(usize),
    /// One command, by its place among the rule's.
    Command(usize),
    /// One path, by its place among the rule's.
    Path(usize),
    /// No argument beside the named ones.
    OnlyArgs,
    /// The condition.
    When,
    /// The rule's end.
    ExpiresAt,
    /// Never covered: a critical call.
    CriticalRisk,
    /// Never covered: characters that hide or reorder text.
    HiddenCharacters,
    /// Never covered: a call outside the active skill.
    OutsideSkill,
    /// Never covered: the tool changed since the rule was made.
    ToolChanged,
    /// Never covered: the agent declares the setup key otherwise than when it was bound.
    SetupChanged,
    /// Never covered: several operators must agree.
    SeveralApprovals,
    /// Never covered: the agent takes no approval for this.
    NotApprovable,
    /// Never covered: who signed the rules may not let this run.
    AuthorLimit,
    /// Never covered: a finding that weighs `stop`, at a place that the rule does not name.
    Stop,
}

impl Matcher {
    /// The word for it; of an argument the pointer is behind `args`.
    #[must_use]
    pub fn word(self, rule: &Rule) -> String {
        let word = match self {
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Risk => "risk",
            Self::Kind => "kind",
            Self::Origin => "origin",
            Self::Framework => "framework",
            Self::Skill => "skill",
            Self::ThreadId => "thread_id",
            Self::ArgsDigest => "args_digest",
            Self::Arg(place) => {
                let pointer = rule.matchers.args.keys().nth(place);
                return format!("args.{}", pointer.map_or("", String::as_str));
            }
            Self::Command(place) => {
                let pointer = rule.matchers.command.keys().nth(place);
                return format!("command.{}", pointer.map_or("", String::as_str));
            }
            Self::Path(place) => {
                let pointer = rule.matchers.path.keys().nth(place);
                return format!("path.{}", pointer.map_or("", String::as_str));
            }
            Self::OnlyArgs => "only_args",
            Self::When => "when",
            Self::ExpiresAt => "expires_at",
            Self::CriticalRisk => "critical_risk",
            Self::HiddenCharacters => "hidden_characters",
            Self::OutsideSkill => "outside_skill",
            Self::ToolChanged => "tool_changed",
            Self::SetupChanged => "setup_changed",
            Self::SeveralApprovals => "several_approvals",
            Self::NotApprovable => "not_approvable",
            Self::AuthorLimit => "author_limit",
            Self::Stop => "stop",
        };
        word.to_owned()
    }
}

/// Why a rule asks though it says otherwise, or did not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// A field is missing or has another type.
    Matcher(Matcher, Unsure),
    /// The condition did not answer.
    Condition(ConditionError),
    /// The condition is refused.
    BadCondition,
    /// The amount for `sum` is missing, negative or no number.
    Amount,
    /// What the rule approved before is not known.
    UsesUnknown,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Matcher(_, why) => why.fmt(f),
            Self::Condition(why) => why.fmt(f),
            Self::BadCondition => f.write_str("the condition does not compile"),
            Self::Amount => f.write_str("the amount is missing, negative or not a number"),
            Self::UsesUnknown => f.write_str("it is not known what it approved before"),
        }
    }
}

/// What a matching rule comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    /// Let it run.
    Approve,
    /// Refuse it.
    Deny,
    /// Ask so many operators.
    Ask {
        /// Operators that must agree, at least 1.
        approvals: u8,
        /// Why an approve or a deny became an ask.
        instead: Option<Instead>,
    },
}

impl Says {
    /// Without what goes with it.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Self::Approve => Effect::Approve,
            Self::Deny => Effect::Deny,
            Self::Ask { .. } => Effect::Ask,
        }
    }
}

/// Why a rule asks instead of what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instead {
    /// It has approved as often as it may.
    Limit,
    /// It has approved as much as it may.
    Sum,
    /// It could not be read for sure.
    Trouble(Trouble),
}

/// What the setup says about the key that a request names.
#[derive(Debug, Clone, PartialEq)]
pub enum SetupSays {
    /// The agent declares no such key.
    Undeclared,
    /// Nobody bound it.
    Unbound,
    /// Its value is not the one that spares the question.
    Differs {
        /// The value in force.
        value: Value,
        /// The value that would spare it.
        skips_when: Value,
    },
    /// It would, but never for this.
    NotCovered(Matcher),
    /// It lets the call pass.
    Passes {
        /// Revision of the setup.
        revision: u64,
        /// The value in force.
        value: Value,
    },
}

/// Who approves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A rule, by its place in the set.
    Rule(usize),
    /// The setup key that the request names.
    SetupKey,
    /// A bypass of the agent.
    Bypass,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It may run.
    Approve(By),
    /// It is refused by a rule.
    Deny(usize),
    /// People decide.
    Ask {
        /// The rule that says so; none when nothing matched.
        rule: Option<usize>,
        /// How many operators must agree.
        approvals: u8,
        /// Why an approve does not count.
        held: Option<AutomaticOff>,
    },
}

impl Outcome {
    /// Without what goes with it.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Self::Approve(_) => Effect::Approve,
            Self::Deny(_) => Effect::Deny,
            Self::Ask { .. } => Effect::Ask,
        }
    }
}

/// A rule of which exactly one matcher failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearMiss {
    /// Its place in the set.
    pub rule: usize,
    /// The matcher.
    pub matcher: Matcher,
}

impl Evaluation {
    /// How many operators the rules ask for, whatever denies or approves, and the place of the rule that does.
    #[must_use]
    pub fn most_asked(&self) -> (u8, Option<usize>) {
        let asks = self.matched.iter().filter_map(|(place, says)| match says {
            Says::Ask { approvals, .. } => Some((*approvals, Some(*place))),
            Says::Approve | Says::Deny => None,
        });
        asks.max_by_key(|(most, _)| *most).unwrap_or((1, None))
    }
}

/// Everything that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// What becomes of it.
    pub outcome: Outcome,
    /// Rules that matched, with what they say.
    pub matched: Vec<(usize, Says)>,
    /// Shadow rules that would have matched.
    pub shadows: Vec<(usize, Says)>,
    /// Only when asked for.
    pub near: Vec<NearMiss>,
    /// Rules that could not be read for sure.
    pub troubles: Vec<(usize, Trouble)>,
    /// What the setup key says, where the request names one.
    pub setup: Option<SetupSays>,
    /// Limited rules that match and of which it is not known what they approved.
    pub unknown_uses: Vec<usize>,
}
