//! Whose signatures count.
//!
//! A list of operators needs the signature of a human key in force without limits, or of one that descends from such a
//! key, and a list that was signed earlier never replaces a later one (protocol, section 8, "Operators").

use countersign_wire::{
    Context, Enrolment, KeyRole, OperatorList, Origin, PolicyKey, Risk, SignedEnvelope, Timestamp,
    TrustedKey, WorkspaceName, is_newer_than, read_json,
};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::GateError;

/// The keys in force.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    pub(crate) realm: Uuid,
    keys: Keys,
}

#[derive(Debug, Clone)]
enum Keys {
    /// From `agent.json`: they count at any time.
    Enrolled(Vec<TrustedKey>),
    /// From the bus; `revision` is the list's stream sequence, which orders lists without a time.
    Listed { list: OperatorList, revision: u64 },
    /// No key at all, and the agent said that this is all right.
    Anyone,
}

impl Trust {
    /// Error: `no_trusted_keys`, unless `insecure`.
    pub(crate) fn of(enrolment: &Enrolment, insecure: bool) -> Result<Self, GateError> {
        let keys = match (enrolment.trusted_keys.is_empty(), insecure) {
            (false, _) => Keys::Enrolled(enrolment.trusted_keys.clone()),
            (true, true) => Keys::Anyone,
            (true, false) => return Err(GateError::NoTrustedKeys),
        };
        Ok(Self {
            realm: enrolment.realm,
            keys,
        })
    }

    /// The role of a key for what was stored at that server time. `origin` is the
    /// decision's word; it only matters where no key is known.
    pub(crate) fn role_at(
        &self,
        key: &str,
        stored_at: OffsetDateTime,
        origin: Option<Origin>,
    ) -> Option<KeyRole> {
        match &self.keys {
            Keys::Enrolled(keys) => {
                let of_key = keys.iter().filter(|trusted| trusted.key.as_str() == key);
                KeyRole::of_all(of_key.map(|trusted| trusted.role))
            }
            Keys::Listed { list, .. } => list.role_at(key, stored_at),
            Keys::Anyone => Some(match origin {
                Some(Origin::Operator) => KeyRole::Human,
                _ => KeyRole::Auto,
            }),
        }
    }

    /// Whether the limits of a key, as they were at that server time, let it say more than no. Keys of `agent.json`
    /// have none.
    pub(crate) fn may_allow(
        &self,
        key: &str,
        stored_at: OffsetDateTime,
        workspace: &WorkspaceName,
        risk: Risk,
    ) -> bool {
        match &self.keys {
            Keys::Listed { list, .. } => list.may_allow_at(key, stored_at, workspace, risk),
            Keys::Enrolled(_) | Keys::Anyone => true,
        }
    }

    /// The key under which the votes of the person who has `key` count.
    pub(crate) fn voter(&self, key: &str, stored_at: OffsetDateTime) -> String {
        match &self.keys {
            Keys::Listed { list, .. } => list.voter_at(&self.realm, key, stored_at),
            Keys::Enrolled(_) | Keys::Anyone => key.to_owned(),
        }
    }

    /// Whether a list that was signed at `at` takes the place of the one that is held. The bucket counts its revisions
    /// anew when it is made anew, and an old list can be stored again: only the signed time counts.
    fn is_later(&self, at: Option<Timestamp>, revision: u64, stored_at: OffsetDateTime) -> bool {
        match &self.keys {
            Keys::Enrolled(_) => is_newer_than(None, at, stored_at),
            Keys::Listed {
                list,
                revision: held,
            } => is_newer_than(list.at, at, stored_at) && (at.is_some() || revision > *held),
            Keys::Anyone => false,
        }
    }

    /// Whether a key may sign a list of operators; none for a key that is not known.
    fn may_list(&self, key: &str, stored_at: OffsetDateTime) -> Option<bool> {
        let known = match &self.keys {
            Keys::Enrolled(keys) => keys.iter().any(|trusted| trusted.key.as_str() == key),
            Keys::Listed { list, .. } => {
                let mut terms = list.operators.iter();
                terms.any(|entry| entry.key.as_str() == key)
            }
            Keys::Anyone => false,
        };
        known.then(|| match &self.keys {
            // An operator under limits could write himself out of them.
            Keys::Listed { list, .. } => list.may_edit_at(key, stored_at),
            _ => self.role_at(key, stored_at, None) == Some(KeyRole::Human),
        })
    }

    /// The trust that follows from the stored value of `operators`. None when it is not later, or signed neither by a
    /// human key in force without limits nor by one that descends from it: then the list in its `base` counts, as its
    /// signer could write nothing else there.
    pub(crate) fn take_over(
        &self,
        value: &[u8],
        revision: u64,
        stored_at: OffsetDateTime,
    ) -> Option<Self> {
        let envelope = SignedEnvelope::from_bytes(value).ok()?;
        let list: OperatorList = read_json(&envelope.payload_bytes().ok()?).ok()?;
        let base = list.base.clone();
        self.follow(&envelope, list, revision, stored_at)
            .or_else(|| {
                let base = base?;
                let before: OperatorList = read_json(&base.payload_bytes().ok()?).ok()?;
                before.at?;
                self.follow(&base, before, revision, stored_at)
            })
    }

    fn follow(
        &self,
        envelope: &SignedEnvelope,
        list: OperatorList,
        revision: u64,
        stored_at: OffsetDateTime,
    ) -> Option<Self> {
        // Read before every answer, and mostly the one that is held: it need not be verified again.
        if !self.is_later(list.at, revision, stored_at) {
            return None;
        }
        let subject = PolicyKey::Operators.subject();
        envelope.open(Context::Policy, &self.realm, &subject).ok()?;
        let signer = envelope.key.as_str();
        let known = |key: &str| self.may_list(key, stored_at);
        // A signer that is not known counts only as far as its own list lets it.
        let counts = known(signer) == Some(true) || list.may_edit_at(signer, stored_at);
        if !counts || !list.descends(&self.realm, signer, known) {
            return None;
        }
        (!list.operators.is_empty()).then_some(Self {
            realm: self.realm,
            keys: Keys::Listed { list, revision },
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use countersign_wire::{OperatorEntry, PublicKey, Vouch};
    use nkeys::KeyPair;

    use super::*;

    const NOON: &str = "2026-11-21T12:00:00Z";

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// The list as it is stored, with a second key that is retired or not.
    fn stored(
        pair: &KeyPair,
        realm: &Uuid,
        second: &PublicKey,
        until: &str,
        time: &str,
    ) -> Vec<u8> {
        let entry = |key: &PublicKey| {
            let from = at("2026-01-01T00:00:00Z");
            OperatorEntry::new(key.clone(), "Ada".into(), KeyRole::Human, from)
        };
        let mut retired = entry(second);
        retired.until = (!until.is_empty()).then(|| at(until));
        let mut list = OperatorList::new(vec![entry(&PublicKey::of(pair).unwrap()), retired]);
        list.at = (!time.is_empty()).then(|| at(time));
        let payload = serde_json::to_vec(&list).unwrap();
        let subject = PolicyKey::Operators.subject();
        let sealed = SignedEnvelope::seal(pair, Context::Policy, realm, &subject, &payload);
        sealed.unwrap().to_bytes().unwrap()
    }

    /// The same table as in the Python SDK.
    #[test]
    fn the_list_that_was_signed_last_counts_whatever_the_bucket_numbers_it() {
        let (ada, second, realm) = (KeyPair::new_user(), KeyPair::new_user(), Uuid::nil());
        let second = PublicKey::of(&second).unwrap();
        for (what, held, next, takes) in [
            ("later", ("11:00:00Z", 5), ("11:00:01Z", 6), true),
            (
                "later, in a new bucket",
                ("11:00:00Z", 449),
                ("11:00:01Z", 4),
                true,
            ),
            ("stored again", ("11:00:00Z", 5), ("10:59:59Z", 6), false),
            ("the same again", ("11:00:00Z", 5), ("11:00:00Z", 6), false),
            (
                "without a time over one with",
                ("11:00:00Z", 5),
                ("", 6),
                false,
            ),
            (
                "with a time over one without",
                ("", 449),
                ("11:00:00Z", 4),
                true,
            ),
            ("without a time, later", ("", 5), ("", 6), true),
            ("without a time, the same", ("", 5), ("", 5), false),
            ("a moment ahead", ("11:00:00Z", 5), ("12:01:00Z", 6), true),
            ("far ahead", ("11:00:00Z", 5), ("12:01:01Z", 6), false),
        ] {
            let day = |time: &str| match time {
                "" => String::new(),
                time => format!("2026-11-21T{time}"),
            };
            let enrolled = Trust {
                realm,
                keys: Keys::Enrolled(vec![TrustedKey {
                    key: PublicKey::of(&ada).unwrap(),
                    name: "Ada".into(),
                    role: KeyRole::Human,
                }]),
            };
            let noon = at(NOON).get();
            let role = |trust: &Trust| trust.role_at(second.as_str(), noon, None);
            let first = stored(&ada, &realm, &second, "", &day(held.0));
            let trust = enrolled.take_over(&first, held.1, noon).unwrap();
            assert_eq!(role(&trust), Some(KeyRole::Human));
            let retired = stored(&ada, &realm, &second, "2026-11-21T11:00:00Z", &day(next.0));
            let after = trust.take_over(&retired, next.1, noon);
            assert_eq!(after.is_some(), takes, "{what}");
            assert_eq!(after.and_then(|after| role(&after)), None);
        }
    }

    fn sealed(list: &OperatorList, signer: &KeyPair) -> Vec<u8> {
        let payload = serde_json::to_vec(list).unwrap();
        let subject = PolicyKey::Operators.subject();
        let sealed =
            SignedEnvelope::seal(signer, Context::Policy, &Uuid::nil(), &subject, &payload);
        sealed.unwrap().to_bytes().unwrap()
    }

    /// The same table as in the Python SDK. Ann's agent holds a list of hers, or starts; then Cem signs.
    #[test]
    fn a_list_is_taken_over_from_who_descends_from_operators_without_limits_as_they_are_known() {
        let [ann, bea, cem] = [0, 1, 2].map(|_| KeyPair::new_user());
        let from = at("2026-01-01T00:00:00Z");
        let entry = |pair: &KeyPair| {
            OperatorEntry::new(
                PublicKey::of(pair).unwrap(),
                "x".into(),
                KeyRole::Human,
                from,
            )
        };
        let word = |by: &KeyPair, key: &KeyPair| {
            let key = PublicKey::of(key).unwrap();
            Vouch::seal(by, &Uuid::nil(), &key, at("2026-02-01T00:00:00Z")).unwrap()
        };
        let ended = |pair: &KeyPair| OperatorEntry {
            until: Some(at("2026-03-01T00:00:00Z")),
            ..entry(pair)
        };
        let narrow = |pair: &KeyPair| OperatorEntry {
            max_risk: Some(Risk::High),
            ..entry(pair)
        };
        let all = || vec![entry(&ann), entry(&bea), entry(&cem)];
        let chain = || vec![word(&ann, &bea), word(&bea, &cem)];
        for (what, held, then, words, taken) in [
            ("starts", None, all(), chain(), true),
            ("starts, no words", None, all(), vec![], false),
            (
                "starts, a signer with limits",
                None,
                vec![entry(&ann), entry(&bea), narrow(&cem)],
                chain(),
                false,
            ),
            ("new ones", Some(vec![entry(&ann)]), all(), chain(), true),
            ("a listed one", Some(all()), all(), vec![], true),
            (
                "limits that he took away",
                Some(vec![entry(&ann), narrow(&cem)]),
                all(),
                chain(),
                false,
            ),
            (
                "an end that he took away",
                Some(vec![entry(&ann), ended(&cem)]),
                all(),
                chain(),
                false,
            ),
            (
                "over one who was retired",
                Some(vec![entry(&ann), ended(&bea)]),
                all(),
                chain(),
                false,
            ),
            (
                "over one with limits",
                Some(vec![entry(&ann), narrow(&bea)]),
                all(),
                chain(),
                false,
            ),
        ] {
            let noon = at(NOON).get();
            let mut trust = Trust {
                realm: Uuid::nil(),
                keys: Keys::Enrolled(vec![TrustedKey {
                    key: PublicKey::of(&ann).unwrap(),
                    name: "Ann".into(),
                    role: KeyRole::Human,
                }]),
            };
            if let Some(held) = held {
                let first = sealed(&OperatorList::new(held), &ann);
                trust = trust.take_over(&first, 1, noon).unwrap();
            }
            let next = OperatorList {
                vouched: words,
                ..OperatorList::new(then)
            };
            let after = trust.take_over(&sealed(&next, &cem), 2, noon);
            assert_eq!(after.is_some(), taken, "{what}");
            // Where it is not taken over, the one of Ann that it was written over is, if it is later.
            let minute = |minute: &str| Some(at(&format!("2026-11-21T11:{minute}:00Z")));
            for (minutes, follows) in [("58", true), ("00", false)] {
                let base = OperatorList {
                    at: minute(minutes),
                    ..OperatorList::new(vec![entry(&ann), entry(&bea)])
                };
                let next = OperatorList {
                    at: minute("59"),
                    base: SignedEnvelope::from_bytes(&sealed(&base, &ann))
                        .ok()
                        .map(Box::new),
                    ..next.clone()
                };
                let held = Trust {
                    keys: match trust.keys.clone() {
                        Keys::Listed { mut list, revision } => {
                            list.at = minute("30");
                            Keys::Listed { list, revision }
                        }
                        keys => keys,
                    },
                    ..trust.clone()
                };
                let after = held.take_over(&sealed(&next, &cem), 2, noon);
                let knows = |pair: &KeyPair| {
                    let key = PublicKey::of(pair).unwrap();
                    after
                        .as_ref()
                        .and_then(|after| after.role_at(key.as_str(), noon, None))
                };
                let starts = matches!(trust.keys, Keys::Enrolled(_));
                assert_eq!(knows(&bea).is_some(), taken || follows || starts, "{what}");
                assert_eq!(
                    knows(&cem).is_some(),
                    taken,
                    "{what}: only his own list has him"
                );
            }
        }
    }
}
