//! The settings of the seven stores (protocol, section 1 "Streams") and how a found one differs.
//!
//! Refuses to judge what a bus owner may choose, such as replicas, placement or compression.

use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Republish, RetentionPolicy, StorageType,
};
use std::collections::HashMap;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const GIB: i64 = 1024 * 1024 * 1024;
/// The longest life of a request is 30 days (protocol, section 2); its message must outlive it.
const SHORTEST_REQUEST_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

pub(super) const REALM: &str = "countersign-realm";
pub(super) const EPOCH: &str = "countersign-epoch";

/// One setting of one stream which is not as the protocol demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamDifference {
    /// The stream.
    pub stream: String,
    /// The field of its configuration, by the name in NATS's JSON.
    pub field: &'static str,
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub found: String,
}

/// Configuration of the named store, without metadata.
pub(super) fn config(name: &'static str, replicas: usize) -> Config {
    let base = Config {
        name: name.into(),
        storage: StorageType::File,
        retention: RetentionPolicy::Limits,
        num_replicas: replicas,
        discard: DiscardPolicy::Old,
        max_bytes: -1,
        max_messages: -1,
        max_messages_per_subject: -1,
        max_consumers: -1,
        ..Config::default()
    };
    let subjects = |words: &[&str]| {
        words
            .iter()
            .map(|word| format!("countersign.v1.{word}.>"))
            .collect()
    };
    let write_once = Config {
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        ..base.clone()
    };
    match name {
        "CS_REQUESTS" => Config {
            subjects: subjects(&["request", "withdraw", "tighten"]),
            max_age: 60 * DAY,
            max_bytes: 4 * GIB,
            ..write_once
        },
        "CS_DECISIONS" => Config {
            subjects: subjects(&["decision", "vote"]),
            deny_delete: true,
            deny_purge: true,
            allow_direct: true,
            republish: Some(Republish {
                source: "countersign.v1.decision.>".into(),
                destination: "countersign.v1.decided.>".into(),
                headers_only: false,
            }),
            ..write_once
        },
        "CS_RECEIPTS" => Config {
            subjects: subjects(&["receipt"]),
            max_age: 400 * DAY,
            max_messages_per_subject: 8,
            ..base
        },
        "CS_EVENTS" => Config {
            subjects: subjects(&["event"]),
            max_age: 14 * DAY,
            max_bytes: 8 * GIB,
            ..base
        },
        "CS_AGENTS" => Config {
            subjects: subjects(&["hello"]),
            max_messages_per_subject: 1,
            ..base
        },
        "CS_AUDIT" => Config {
            subjects: subjects(&["audit"]),
            deny_delete: true,
            deny_purge: true,
            ..base
        },
        // A key-value bucket is a stream by this name; consoles never purge a key.
        _ => Config {
            subjects: vec!["$KV.CS_POLICY.>".into()],
            max_messages_per_subject: 64,
            discard: DiscardPolicy::New,
            deny_delete: true,
            allow_direct: true,
            ..base
        },
    }
}

pub(super) fn metadata(realm: &str, epoch: &str) -> HashMap<String, String> {
    HashMap::from([(REALM.into(), realm.into()), (EPOCH.into(), epoch.into())])
}

/// Every setting of `found` which breaks a promise of the protocol.
pub(super) fn differences(expected: &Config, found: &Config) -> Vec<StreamDifference> {
    let mut list = Differences {
        stream: &expected.name,
        found: Vec::new(),
    };
    let (want, have) = (expected, found);
    let sorted = |config: &Config| {
        let mut subjects = config.subjects.clone();
        subjects.sort();
        subjects.join(" ")
    };
    list.compare("subjects", sorted(want), sorted(have));
    list.compare(
        "storage",
        format!("{:?}", want.storage),
        format!("{:?}", have.storage),
    );
    list.compare(
        "retention",
        format!("{:?}", want.retention),
        format!("{:?}", have.retention),
    );
    list.compare(
        "discard",
        format!("{:?}", want.discard),
        format!("{:?}", have.discard),
    );
    list.compare(
        "discard_new_per_subject",
        want.discard_new_per_subject,
        have.discard_new_per_subject,
    );
    list.compare(
        "max_msgs_per_subject",
        want.max_messages_per_subject,
        have.max_messages_per_subject,
    );
    list.compare(
        "max_msgs",
        unlimited(want.max_messages),
        unlimited(have.max_messages),
    );
    list.compare("no_ack", want.no_ack, have.no_ack);
    list.compare("sealed", want.sealed, have.sealed);
    list.compare("mirror", want.mirror.is_some(), have.mirror.is_some());
    list.compare(
        "sources",
        false,
        have.sources.as_ref().is_some_and(|all| !all.is_empty()),
    );
    list.compare("subject_transform", false, have.subject_transform.is_some());
    list.compare("republish", republish(want), republish(have));
    // More protection than asked for does no harm.
    list.at_least("deny_delete", want.deny_delete, have.deny_delete);
    list.at_least("deny_purge", want.deny_purge, have.deny_purge);
    list.at_least("allow_direct", want.allow_direct, have.allow_direct);
    if want.discard_new_per_subject {
        list.compare("allow_rollup_hdrs", false, have.allow_rollup);
        list.compare("allow_msg_ttl", false, have.allow_message_ttl);
    }
    compare_age(&mut list, want, have);
    list.found
}

/// No age limit may be shorter than the promise that rests on it.
fn compare_age(list: &mut Differences<'_>, want: &Config, have: &Config) {
    let shortest = match want.name.as_str() {
        "CS_REQUESTS" => SHORTEST_REQUEST_AGE,
        "CS_DECISIONS" | "CS_AUDIT" | "CS_AGENTS" | super::POLICY_STREAM => Duration::MAX,
        _ => return,
    };
    if !have.max_age.is_zero() && have.max_age < shortest {
        list.add(
            "max_age",
            format!("{:?}", want.max_age),
            format!("{:?}", have.max_age),
        );
    }
}

fn republish(config: &Config) -> String {
    match &config.republish {
        None => "none".into(),
        Some(rule) => format!(
            "{} to {} headers_only {}",
            rule.source, rule.destination, rule.headers_only
        ),
    }
}

/// The server writes -1 for "no limit", older ones 0.
fn unlimited(limit: i64) -> i64 {
    if limit <= 0 { -1 } else { limit }
}

struct Differences<'a> {
    stream: &'a str,
    found: Vec<StreamDifference>,
}

impl Differences<'_> {
    fn compare<T: PartialEq + ToString>(&mut self, field: &'static str, expected: T, found: T) {
        if expected != found {
            self.add(field, expected.to_string(), found.to_string());
        }
    }

    fn at_least(&mut self, field: &'static str, expected: bool, found: bool) {
        if expected && !found {
            self.add(field, "true".into(), "false".into());
        }
    }

    fn add(&mut self, field: &'static str, expected: String, found: String) {
        self.found.push(StreamDifference {
            stream: self.stream.into(),
            field,
            expected,
            found,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::STREAMS;
    use super::*;

    type Change = fn(&mut Config);

    #[test]
    fn a_stream_as_created_has_no_difference() {
        for name in STREAMS {
            assert_eq!(differences(&config(name, 1), &config(name, 3)), []);
        }
    }

    #[test]
    fn every_setting_that_a_promise_rests_on_is_named_when_it_differs() {
        let cases: &[(&'static str, &str, Change)] = &[
            ("CS_DECISIONS", "discard", |c| {
                c.discard = DiscardPolicy::Old
            }),
            ("CS_DECISIONS", "discard_new_per_subject", |c| {
                c.discard_new_per_subject = false
            }),
            ("CS_DECISIONS", "max_msgs_per_subject", |c| {
                c.max_messages_per_subject = 2
            }),
            ("CS_DECISIONS", "max_msgs", |c| c.max_messages = 10),
            ("CS_DECISIONS", "deny_delete", |c| c.deny_delete = false),
            ("CS_DECISIONS", "deny_purge", |c| c.deny_purge = false),
            ("CS_DECISIONS", "allow_direct", |c| c.allow_direct = false),
            ("CS_DECISIONS", "allow_rollup_hdrs", |c| {
                c.allow_rollup = true
            }),
            ("CS_DECISIONS", "allow_msg_ttl", |c| {
                c.allow_message_ttl = true
            }),
            ("CS_DECISIONS", "max_age", |c| c.max_age = 400 * DAY),
            ("CS_DECISIONS", "republish", |c| c.republish = None),
            ("CS_DECISIONS", "subjects", |c| c.subjects.truncate(1)),
            ("CS_DECISIONS", "storage", |c| {
                c.storage = StorageType::Memory
            }),
            ("CS_REQUESTS", "max_age", |c| c.max_age = 29 * DAY),
            ("CS_REQUESTS", "retention", |c| {
                c.retention = RetentionPolicy::WorkQueue
            }),
            ("CS_REQUESTS", "no_ack", |c| c.no_ack = true),
            ("CS_AUDIT", "deny_purge", |c| c.deny_purge = false),
            ("KV_CS_POLICY", "allow_direct", |c| c.allow_direct = false),
            ("KV_CS_POLICY", "max_msgs_per_subject", |c| {
                c.max_messages_per_subject = 1
            }),
        ];
        for &(name, field, change) in cases {
            let mut found = config(name, 1);
            change(&mut found);
            let named: Vec<_> = differences(&config(name, 1), &found)
                .into_iter()
                .map(|difference| (difference.stream, difference.field))
                .collect();
            assert_eq!(named, [(name.to_owned(), field)]);
        }
    }

    #[test]
    fn what_a_bus_owner_may_choose_is_no_difference() {
        let cases: &[Change] = &[
            |c| c.num_replicas = 3,
            |c| c.max_bytes = GIB,
            |c| c.description = Some("ours".into()),
            |c| c.max_age = Duration::ZERO,
            |c| c.deny_delete = true,
        ];
        for change in cases {
            let mut found = config("CS_REQUESTS", 1);
            change(&mut found);
            assert_eq!(differences(&config("CS_REQUESTS", 1), &found), []);
        }
    }
}
