//! The settings of the seven stores (protocol, section 1 "Streams") and how a found one differs.
//!
//! What a bus owner may choose, such as replicas, placement or compression, is not judged.

use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Republish, RetentionPolicy, StorageType,
};
use countersign_wire::{Sha256Digest, Stream};
use std::collections::HashMap;
use std::time::Duration;
use uuid::Uuid;

use super::POLICY_STREAM;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const GIB: i64 = 1024 * 1024 * 1024;
/// The longest life of a request is 30 days (protocol, section 2); its message must outlive it.
const SHORTEST_REQUEST_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

pub(super) const REALM: &str = "countersign-realm";
pub(super) const EPOCH: &str = "countersign-epoch";
pub(super) const ROOT: &str = "countersign-root";

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

/// A store of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    Stream(Stream),
    /// The bucket of the shared policy, which is a stream by another name.
    Policy,
}

impl Store {
    /// In the order in which they are created. The first settles the realm when two consoles create at the same time.
    pub(super) const ALL: [Self; 7] = [
        Self::Stream(Stream::Requests),
        Self::Stream(Stream::Decisions),
        Self::Stream(Stream::Receipts),
        Self::Stream(Stream::Events),
        Self::Stream(Stream::Agents),
        Self::Stream(Stream::Audit),
        Self::Policy,
    ];

    /// Its name on the server.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Stream(stream) => stream.name(),
            Self::Policy => POLICY_STREAM,
        }
    }

    fn subjects(self) -> Vec<String> {
        match self {
            Self::Stream(stream) => stream.subjects().iter().map(|&of| of.into()).collect(),
            Self::Policy => vec!["$KV.CS_POLICY.>".into()],
        }
    }
}

/// Configuration of a store, without metadata.
pub(super) fn config(store: Store, replicas: usize) -> Config {
    let base = Config {
        name: store.name().into(),
        subjects: store.subjects(),
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
    let write_once = Config {
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        ..base.clone()
    };
    match store {
        Store::Stream(Stream::Requests) => Config {
            max_age: 60 * DAY,
            max_bytes: 4 * GIB,
            ..write_once
        },
        Store::Stream(Stream::Decisions) => Config {
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
        Store::Stream(Stream::Receipts) => Config {
            max_age: 400 * DAY,
            // The oldest go, read or not: a console that is away until they are gone does not learn of them.
            max_bytes: 4 * GIB,
            max_messages_per_subject: 8,
            ..base
        },
        Store::Stream(Stream::Events) => Config {
            max_age: 14 * DAY,
            max_bytes: 8 * GIB,
            ..base
        },
        Store::Stream(Stream::Agents) => Config {
            max_messages_per_subject: 1,
            ..base
        },
        Store::Stream(Stream::Audit) => Config {
            deny_delete: true,
            deny_purge: true,
            ..base
        },
        // Consoles never purge a key.
        Store::Policy => Config {
            max_messages_per_subject: 64,
            discard: DiscardPolicy::New,
            deny_delete: true,
            allow_direct: true,
            ..base
        },
    }
}

/// What names a store's realm and epoch; of the decisions also the root of the realm log.
pub(super) fn metadata(store: Store, realm: &Uuid, root: &Sha256Digest) -> HashMap<String, String> {
    let mut metadata = HashMap::from([
        (REALM.into(), realm.to_string()),
        (EPOCH.into(), Uuid::new_v4().to_string()),
    ]);
    if store == Store::Stream(Stream::Decisions) {
        metadata.insert(ROOT.into(), root.to_string());
    }
    metadata
}

/// Every setting of `found` which breaks a promise of the protocol.
pub(super) fn differences(store: Store, found: &Config) -> Vec<StreamDifference> {
    let mut list = Differences {
        stream: store.name(),
        found: Vec::new(),
    };
    let (want, have) = (&config(store, 1), found);
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
    compare_age(&mut list, store, (want, have));
    list.found
}

/// No age limit may be shorter than the promise that rests on it.
fn compare_age(list: &mut Differences<'_>, store: Store, (want, have): (&Config, &Config)) {
    let shortest = match store {
        Store::Stream(Stream::Requests) => SHORTEST_REQUEST_AGE,
        Store::Stream(Stream::Receipts | Stream::Events) => return,
        Store::Stream(Stream::Decisions | Stream::Audit | Stream::Agents) | Store::Policy => {
            Duration::MAX
        }
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
    use super::*;

    const REQUESTS: Store = Store::Stream(Stream::Requests);
    const DECISIONS: Store = Store::Stream(Stream::Decisions);
    const AUDIT: Store = Store::Stream(Stream::Audit);

    type Change = fn(&mut Config);

    #[test]
    fn a_stream_as_created_has_no_difference() {
        for store in Store::ALL {
            assert_eq!(differences(store, &config(store, 3)), []);
        }
    }

    #[test]
    fn every_setting_that_a_promise_rests_on_is_named_when_it_differs() {
        let cases: &[(Store, &str, Change)] = &[
            (DECISIONS, "discard", |c| c.discard = DiscardPolicy::Old),
            (DECISIONS, "discard_new_per_subject", |c| {
                c.discard_new_per_subject = false
            }),
            (DECISIONS, "max_msgs_per_subject", |c| {
                c.max_messages_per_subject = 2
            }),
            (DECISIONS, "max_msgs", |c| c.max_messages = 10),
            (DECISIONS, "deny_delete", |c| c.deny_delete = false),
            (DECISIONS, "deny_purge", |c| c.deny_purge = false),
            (DECISIONS, "allow_direct", |c| c.allow_direct = false),
            (DECISIONS, "allow_rollup_hdrs", |c| c.allow_rollup = true),
            (DECISIONS, "allow_msg_ttl", |c| c.allow_message_ttl = true),
            (DECISIONS, "max_age", |c| c.max_age = 400 * DAY),
            (DECISIONS, "republish", |c| c.republish = None),
            (DECISIONS, "subjects", |c| c.subjects.truncate(1)),
            (DECISIONS, "storage", |c| c.storage = StorageType::Memory),
            (REQUESTS, "max_age", |c| c.max_age = 29 * DAY),
            (REQUESTS, "retention", |c| {
                c.retention = RetentionPolicy::WorkQueue
            }),
            (REQUESTS, "no_ack", |c| c.no_ack = true),
            (AUDIT, "deny_purge", |c| c.deny_purge = false),
            (Store::Policy, "allow_direct", |c| c.allow_direct = false),
            (Store::Policy, "max_msgs_per_subject", |c| {
                c.max_messages_per_subject = 1
            }),
        ];
        for &(store, field, change) in cases {
            let mut found = config(store, 1);
            change(&mut found);
            let named: Vec<_> = differences(store, &found)
                .into_iter()
                .map(|difference| (difference.stream, difference.field))
                .collect();
            assert_eq!(named, [(store.name().to_owned(), field)]);
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
            let mut found = config(REQUESTS, 1);
            change(&mut found);
            assert_eq!(differences(REQUESTS, &found), []);
        }
    }
}
