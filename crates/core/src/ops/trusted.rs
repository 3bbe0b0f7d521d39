//! Which keys may decide, and since when.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use countersign_wire::{KeyRole, OperatorList};

use crate::domain::Timestamp;
use crate::identity::Identity;

/// A registration is stamped with an estimate of the server's time; a decision may be stored a moment
/// before that estimate.
const CLOCK_SLACK_MS: i64 = 5_000;

#[derive(Debug, Clone, Copy)]
struct Term {
    role: KeyRole,
    from: Timestamp,
    until: Option<Timestamp>,
    /// Stands on a list that an endorsed key signed: agents can follow the chain of signatures.
    endorsed: bool,
}

/// The keys of the realm as this console accepted them. A cheap clone shares one list.
#[derive(Clone)]
pub struct TrustedKeys(Arc<RwLock<HashMap<String, Term>>>);

impl TrustedKeys {
    /// Trusts only this console's own keys, always.
    #[must_use]
    pub fn of(identity: &Identity) -> Self {
        let own = |role| Term {
            role,
            from: Timestamp(i64::MIN),
            until: None,
            endorsed: true,
        };
        Self(Arc::new(RwLock::new(HashMap::from([
            (identity.human_key().to_string(), own(KeyRole::Human)),
            (identity.auto_key().to_string(), own(KeyRole::Auto)),
        ]))))
    }

    /// Takes over a list that `signer` signed; keys that are not in it stay as they are.
    pub fn accept(&self, list: &OperatorList, signer: &str) {
        let Ok(mut keys) = self.0.write() else { return };
        let endorses = keys.get(signer).is_some_and(|term| term.endorsed);
        for entry in &list.operators {
            let key = entry.key.to_string();
            let endorsed = endorses || keys.get(&key).is_some_and(|term| term.endorsed);
            let from = entry.from.get().into();
            let until = entry.until.map(|at| at.get().into());
            keys.insert(
                key,
                Term {
                    role: entry.role,
                    from,
                    until,
                    endorsed,
                },
            );
        }
    }

    /// Takes over the list that this console accepted in an earlier life.
    pub fn remember(&self, list: &OperatorList) {
        let Ok(mut keys) = self.0.write() else { return };
        for entry in &list.operators {
            let from = entry.from.get().into();
            let until = entry.until.map(|at| at.get().into());
            keys.insert(
                entry.key.to_string(),
                Term {
                    role: entry.role,
                    from,
                    until,
                    endorsed: true,
                },
            );
        }
    }

    /// Whether agents that trust this console can be led to trust this key.
    #[must_use]
    pub fn is_endorsed(&self, key: &str) -> bool {
        self.0
            .read()
            .is_ok_and(|keys| keys.get(key).is_some_and(|term| term.endorsed))
    }

    /// The role of a key for a decision stored at `stored_at`.
    #[must_use]
    pub fn role(&self, key: &str, stored_at: Timestamp) -> Option<KeyRole> {
        let keys = self.0.read().ok()?;
        let term = keys.get(key)?;
        let begun = stored_at.plus_ms(CLOCK_SLACK_MS) >= term.from;
        let ended = term.until.is_some_and(|until| stored_at >= until);
        (begun && !ended).then_some(term.role)
    }

    /// Whether a key was ever trusted.
    #[must_use]
    pub fn knows(&self, key: &str) -> bool {
        self.0.read().is_ok_and(|keys| keys.contains_key(key))
    }
}
