//! Calls of one agent and tool that look alike.
//!
//! Refuses to keep a secret: arguments that hold one are distinguished by their digest alone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::Decided;
use crate::domain::Timestamp;
use crate::rule::ArgTest;

/// Values of one argument that a rule lists; more are not a narrow rule.
const VALUES_MAX: usize = 5;
/// How often each of them was approved; a value that does not repeat will not match again.
const REPEATS_MIN: u64 = 2;
/// Different calls of a group that are distinguished.
const DIGESTS_MAX: usize = 1_000;
const SAMPLES: usize = 5;

/// Approvals of the same.
#[derive(Debug, Clone)]
pub(super) struct Exact {
    pub(super) approvals: u64,
    pub(super) operators: BTreeSet<String>,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    pub(super) requests: VecDeque<String>,
    /// The arguments; none where a rule cannot name them.
    pub(super) args: Option<BTreeMap<String, ArgTest>>,
}

impl Default for Exact {
    fn default() -> Self {
        Self {
            approvals: 0,
            operators: BTreeSet::new(),
            first: Timestamp(0),
            last: Timestamp(0),
            requests: VecDeque::new(),
            args: None,
        }
    }
}

impl Exact {
    /// With those of another; calls come in the order of their times.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.approvals == 0 {
            self.first = other.first;
        }
        self.approvals += other.approvals;
        self.last = other.last;
        self.operators.extend(other.operators.iter().cloned());
        self.requests.extend(other.requests.iter().cloned());
        let more = self.requests.len().saturating_sub(SAMPLES);
        self.requests.drain(..more);
    }

    pub(super) fn take(&mut self, call: &Decided<'_>) {
        if self.approvals == 0 {
            self.first = call.at;
        }
        self.approvals += 1;
        self.last = call.at;
        self.operators.insert(call.operator.to_owned());
        self.requests.push_back(call.request_id.to_owned());
        if self.requests.len() > SAMPLES {
            self.requests.pop_front();
        }
    }
}

/// Calls whose arguments have the same names.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    /// All of them.
    pub(super) exact: Exact,
    pub(super) by_digest: BTreeMap<String, Exact>,
    values: BTreeMap<String, Vec<(Value, u64)>>,
    /// Somewhere a rule cannot name the arguments.
    unnamed: bool,
}

impl Group {
    pub(super) fn take(
        &mut self,
        call: &Decided<'_>,
        named: Option<BTreeMap<String, Value>>,
        digest: &str,
    ) {
        self.exact.take(call);
        if self.by_digest.contains_key(digest) || self.by_digest.len() < DIGESTS_MAX {
            let exact = self.by_digest.entry(digest.to_owned()).or_default();
            exact.take(call);
            exact.args = named.as_ref().map(|named| {
                let one = |(at, value): (&String, &Value)| (at.clone(), is(value.clone()));
                named.iter().map(one).collect()
            });
        }
        let Some(named) = named else {
            self.unnamed = true;
            return;
        };
        for (pointer, value) in named {
            let values = self.values.entry(pointer).or_default();
            match values.iter().position(|(known, _)| *known == value) {
                Some(place) => values[place].1 += 1,
                None if values.len() <= VALUES_MAX => values.push((value, 1)),
                None => {}
            }
        }
    }

    /// Every argument as all these calls had it: one value, or one of a few that repeat.
    pub(super) fn alike(&self) -> Option<BTreeMap<String, ArgTest>> {
        if self.unnamed || self.values.is_empty() {
            return None;
        }
        let test = |(pointer, values): (&String, &Vec<(Value, u64)>)| {
            let repeat = values.iter().all(|(_, count)| *count >= REPEATS_MIN);
            let test = match values.as_slice() {
                [(one, _)] => is(one.clone()),
                // A list of commands is a list of texts: patterns say what they have in common.
                several if several.len() <= VALUES_MAX && repeat && pointer != "/command" => {
                    ArgTest {
                        one_of: Some(several.iter().map(|(value, _)| value.clone()).collect()),
                        ..ArgTest::default()
                    }
                }
                _ => return None,
            };
            Some((pointer.clone(), test))
        };
        self.values.iter().map(test).collect()
    }
}

fn is(value: Value) -> ArgTest {
    ArgTest {
        eq: Some(value),
        ..ArgTest::default()
    }
}
