//! What the shared policy lets run without asking: bypasses and setup keys, by agent and revision.

use std::collections::BTreeMap;

use countersign_wire::{AgentKey, PolicyKey, Risk, SignedEnvelope, parse_bypass};
use serde_json::Value;
use time::OffsetDateTime;

use crate::facts::Stored;

/// A bypass as somebody set it, or its end.
#[derive(Debug, Clone)]
pub(crate) struct Bypass {
    /// The highest risk and the end; none where the bypass was ended.
    pub(crate) grant: Option<(Risk, OffsetDateTime)>,
}

/// One value of a key with its place.
#[derive(Debug, Clone)]
pub(crate) struct Version<T> {
    /// The server's stamp.
    pub(crate) at: OffsetDateTime,
    pub(crate) value: T,
}

/// Every version of a key that the bucket remembers.
pub(crate) type Versions<T> = BTreeMap<AgentKey, BTreeMap<u64, Version<T>>>;

/// Everything of the kind.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    pub(crate) bypasses: Versions<Bypass>,
    /// Values and bindings, as the operators' consoles wrote them.
    pub(crate) setups: Versions<Value>,
}

impl Grants {
    /// Takes a value of the bucket, where it is one of these.
    pub(crate) fn take(&mut self, key: &str, stored: &Stored) -> anyhow::Result<()> {
        let payload = || SignedEnvelope::from_bytes(&stored.payload)?.payload_bytes();
        let (at, revision) = (stored.stamp, stored.seq);
        match PolicyKey::parse(key) {
            Some(PolicyKey::Bypass(agent)) => {
                let grant = parse_bypass(&payload()?)?.grant;
                let grant = grant.map(|grant| (grant.up_to, grant.until.get()));
                let value = Bypass { grant };
                let of = self.bypasses.entry(agent).or_default();
                of.insert(revision, Version { at, value });
            }
            Some(PolicyKey::Setup(agent)) => {
                let value = serde_json::from_slice(&payload()?)?;
                let of = self.setups.entry(agent).or_default();
                of.insert(revision, Version { at, value });
            }
            _ => {}
        }
        Ok(())
    }
}

/// A version, with the stamp of the one after it.
pub(crate) fn find<'v, T>(
    versions: &'v Versions<T>,
    agent: &AgentKey,
    revision: u64,
) -> Found<'v, T> {
    let Some(of) = versions.get(agent) else {
        return Found::Never;
    };
    let next = of.range(revision.saturating_add(1)..).next();
    match of.get(&revision) {
        Some(version) => Found::Stood(version, next.map(|(_, next)| next.at)),
        // The bucket remembers the last 64 only.
        None if of.keys().next().is_some_and(|first| revision < *first) => Found::Forgotten,
        None => Found::Never,
    }
}

/// What the bucket says of a revision.
#[derive(Debug)]
pub(crate) enum Found<'v, T> {
    /// It was in force until the stamp of the next one.
    Stood(&'v Version<T>, Option<OffsetDateTime>),
    /// It is too long ago.
    Forgotten,
    /// There was no such revision of this agent's key.
    Never,
}
