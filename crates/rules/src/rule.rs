//! A rule as it is kept.

use std::collections::BTreeMap;

use countersign_shell::Shell;
use countersign_wire::{MAX_SAFE_INTEGER, RequestKind, Risk, Sha256Digest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::commands::{CommandPattern, POWERSHELL, PathPattern};
use super::glob::Glob;
use crate::domain::Timestamp;

pub use super::effect::Effect;

/// Whether a rule acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "RuleState"))]
#[serde(rename_all = "snake_case")]
pub enum Enabled {
    /// It acts.
    On,
    /// It does nothing.
    Off,
    /// It only records what it would have done.
    Shadow,
}

/// What one argument must be; every given part must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ArgTest {
    /// Equal to this JSON value.
    pub eq: Option<Value>,
    /// Equal to one of these.
    pub one_of: Option<Vec<Value>>,
    /// A text that matches.
    pub glob: Option<Glob>,
    /// A number below this one.
    pub lt: Option<f64>,
    /// A number above this one.
    pub gt: Option<f64>,
    /// A text of at least so many characters, or a list of at least so many items.
    pub min_len: Option<u64>,
    /// A text of at most so many characters, or a list of at most so many items.
    pub max_len: Option<u64>,
}

/// What a request must be; every part that is not empty must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matchers {
    /// Names of agents.
    pub agent: Vec<Glob>,
    /// Names of tools.
    pub tool: Vec<Glob>,
    /// Effective risks.
    pub risk: Vec<Risk>,
    /// Kinds of request.
    pub kind: Vec<RequestKind>,
    /// Where the tool comes from, as the agent says.
    pub origin: Vec<String>,
    /// Names of frameworks.
    pub framework: Vec<Glob>,
    /// Names of skills.
    pub skill: Vec<Glob>,
    /// Threads.
    pub thread_id: Vec<String>,
    /// Digests of the arguments.
    pub args_digest: Vec<Sha256Digest>,
    /// By JSON pointer.
    pub args: BTreeMap<String, ArgTest>,
    /// Commands by JSON pointer, read as the shell would.
    pub command: BTreeMap<String, Vec<CommandPattern>>,
    /// The language of the commands.
    pub shell: Shell,
    /// Paths by JSON pointer, read as the file system would.
    pub path: BTreeMap<String, Vec<PathPattern>>,
    /// Files that commands of an approve may be redirected to.
    pub writes: Vec<PathPattern>,
    /// No argument beside those that `args`, `command` and `path` name.
    pub only_args: bool,
    /// Matchers that are in the shared policy as an empty list: the rule matches nothing.
    pub empty: Vec<String>,
}

impl Matchers {
    /// Whether `args`, `command` or `path` name this place of the arguments.
    #[must_use]
    pub fn names(&self, at: &str) -> bool {
        self.args.contains_key(at) || self.command.contains_key(at) || self.path.contains_key(at)
    }
}

/// How often a rule may approve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// At most so many calls,
    pub count: u64,
    /// in so many milliseconds.
    pub per_ms: i64,
}

/// How much a rule may approve.
#[derive(Debug, Clone, PartialEq)]
pub struct Sum {
    /// Where the amount is in the arguments.
    pub pointer: String,
    /// At most so much,
    pub max: f64,
    /// in so many milliseconds.
    pub per_ms: i64,
}

/// One rule of a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// `[a-z0-9-]{1,64}`, never used for another rule.
    pub id: String,
    /// The console adds 1 at each change.
    pub version: u64,
    /// For people.
    pub name: String,
    /// Whether it acts.
    pub enabled: Enabled,
    /// What it does.
    pub effect: Effect,
    /// From here on it does nothing.
    pub expires_at: Option<Timestamp>,
    /// What it is about.
    pub matchers: Matchers,
    /// A condition in CEL.
    pub when: Option<String>,
    /// Past it: ask.
    pub limit: Option<Limit>,
    /// Past it: ask.
    pub sum: Option<Sum>,
    /// Ask: how many operators must agree.
    pub approvals: Option<u8>,
    /// Deny: what the agent is informed.
    pub message: Option<String>,
    /// When this version was made, by the console that wrote it: a tool that changed later is not covered.
    pub since: Timestamp,
}

impl Rule {
    /// As it is kept in `CS_POLICY`: only what was given.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut map = self.body();
        map.insert("version".into(), self.version.into());
        map.insert("since".into(), self.since.rfc3339().into());
        Value::Object(map)
    }

    /// Whether it lets anything run at this time.
    #[must_use]
    pub fn approves(&self, now: Timestamp) -> bool {
        self.effect == Effect::Approve && self.enabled == Enabled::On && !self.is_over(now)
    }

    /// Whether it would approve, were its time not over: nobody wants to write such a rule.
    #[must_use]
    pub fn is_late(&self, now: Timestamp) -> bool {
        self.effect == Effect::Approve && self.enabled != Enabled::Off && self.is_over(now)
    }

    /// Whether its time is over.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| now >= at)
    }

    /// Whether it says the same as another one; versions and their times aside.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.body() == other.body()
    }

    fn body(&self) -> Map<String, Value> {
        let mut map = Map::new();
        let mut put = |name: &str, value: Value| {
            map.insert(name.to_owned(), value);
        };
        put("id", self.id.as_str().into());
        put("name", self.name.as_str().into());
        put("effect", self.effect.as_str().into());
        put(
            "enabled",
            match self.enabled {
                Enabled::On => true.into(),
                Enabled::Off => false.into(),
                Enabled::Shadow => "shadow".into(),
            },
        );
        if let Some(at) = self.expires_at {
            put("expires_at", at.rfc3339().into());
        }
        let of = &self.matchers;
        let lists: [(&str, Vec<&str>); 8] = [
            ("agent", patterns(&of.agent)),
            ("tool", patterns(&of.tool)),
            ("framework", patterns(&of.framework)),
            ("skill", patterns(&of.skill)),
            ("risk", of.risk.iter().map(|risk| risk.as_str()).collect()),
            ("kind", of.kind.iter().map(|kind| kind.as_str()).collect()),
            ("origin", of.origin.iter().map(String::as_str).collect()),
            (
                "thread_id",
                of.thread_id.iter().map(String::as_str).collect(),
            ),
        ];
        for (name, words) in lists.into_iter().filter(|(_, words)| !words.is_empty()) {
            put(name, words.into());
        }
        for name in &of.empty {
            put(name, json!([]));
        }
        if !of.args_digest.is_empty() {
            let digests = of.args_digest.iter().map(ToString::to_string);
            put("args_digest", digests.collect::<Vec<_>>().into());
        }
        if !of.args.is_empty() {
            let tests = of
                .args
                .iter()
                .map(|(at, test)| (at.clone(), test.to_json()));
            put("args", Value::Object(tests.collect()));
        }
        let commands = of.command.iter().map(|(at, list)| {
            let texts: Vec<&str> = list.iter().map(CommandPattern::as_str).collect();
            (at.clone(), json!(texts))
        });
        let paths = of
            .path
            .iter()
            .map(|(at, list)| (at.clone(), json!(texts_of(list))));
        for (name, map) in [
            ("command", commands.collect::<Map<_, _>>()),
            ("path", paths.collect()),
        ] {
            if !map.is_empty() {
                put(name, Value::Object(map));
            }
        }
        if of.shell == Shell::PowerShell {
            put("shell", POWERSHELL.into());
        }
        if !of.writes.is_empty() {
            put("writes", texts_of(&of.writes).into());
        }
        if of.only_args {
            put("only_args", true.into());
        }
        if let Some(when) = &self.when {
            put("when", when.as_str().into());
        }
        if let Some(limit) = self.limit {
            put(
                "limit",
                json!({ "count": limit.count, "per": per(limit.per_ms) }),
            );
        }
        if let Some(Sum {
            pointer,
            max,
            per_ms,
        }) = &self.sum
        {
            put(
                "sum",
                json!({ "pointer": pointer, "max": number(*max), "per": per(*per_ms) }),
            );
        }
        if let Some(approvals) = self.approvals {
            put("approvals", approvals.into());
        }
        if let Some(message) = &self.message {
            put("message", message.as_str().into());
        }
        map
    }
}

fn patterns(globs: &[Glob]) -> Vec<&str> {
    globs.iter().map(Glob::as_str).collect()
}

impl ArgTest {
    fn to_json(&self) -> Value {
        let mut map = Map::new();
        let parts = [
            ("eq", self.eq.clone()),
            ("in", self.one_of.clone().map(Value::Array)),
            ("glob", self.glob.as_ref().map(|glob| glob.as_str().into())),
            ("lt", self.lt.map(number)),
            ("gt", self.gt.map(number)),
            ("min_len", self.min_len.map(Value::from)),
            ("max_len", self.max_len.map(Value::from)),
        ];
        for (name, value) in parts {
            if let Some(value) = value {
                map.insert(name.to_owned(), value);
            }
        }
        Value::Object(map)
    }
}

/// A number without a needless fraction.
fn number(value: f64) -> Value {
    whole(value).map_or_else(|| Value::from(value), Value::from)
}

/// The whole number that this is, where JSON keeps it exactly.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
pub(crate) fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() <= MAX_SAFE_INTEGER as f64).then_some(value as i64)
}

fn texts_of(list: &[PathPattern]) -> Vec<&str> {
    list.iter().map(PathPattern::as_str).collect()
}

const UNITS: [(&str, i64); 5] = [
    ("w", 7 * Timestamp::DAY_MS),
    ("d", Timestamp::DAY_MS),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
];
/// The longest window: 366 days.
const WINDOW_MAX_MS: i64 = 366 * Timestamp::DAY_MS;

/// A length of time as a person writes it: `90s`, `15m`, `1h`, `7d`, `2w`.
#[must_use]
pub fn per(ms: i64) -> String {
    let unit = UNITS.iter().find(|(_, length)| ms % length == 0);
    let (word, length) = unit.copied().unwrap_or(("s", 1_000));
    format!("{}{word}", ms / length)
}

/// Reads what [`per`] writes.
#[must_use]
pub fn read_per(text: &str) -> Option<i64> {
    let (word, length) = UNITS.iter().find(|(word, _)| text.ends_with(word))?;
    let digits = text.strip_suffix(word)?;
    if digits.is_empty() || digits.len() > 9 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let ms = digits.parse::<i64>().ok()?.checked_mul(*length)?;
    (1..=WINDOW_MAX_MS).contains(&ms).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_reads_as_it_is_written() {
        for (text, ms) in [
            ("90s", 90_000),
            ("15m", 900_000),
            ("1h", 3_600_000),
            ("2w", 1_209_600_000),
        ] {
            assert_eq!(read_per(text), Some(ms));
            assert_eq!(per(ms), text);
        }
        assert_eq!(per(7_200_000), "2h");
        for bad in [
            "",
            "h",
            "-1h",
            "1.5h",
            "0s",
            "1 h",
            "1y",
            "9999999999s",
            "400d",
            "1H",
        ] {
            assert_eq!(read_per(bad), None, "{bad}");
        }
    }
}
