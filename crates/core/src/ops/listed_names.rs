//! Names of deciders, as the realm's list has them for their keys.
//!
//! The list's name wins over the name in the signed message.

use countersign_wire::{KeyRole, PublicKey, json_value};
use serde_json::{Value, json};

use super::operators::ListedState;
use super::trusted::TrustedKeys;
use crate::domain::Timestamp;
use crate::domain::facts::names::LISTED;
use crate::runtime::App;
use crate::store::re_asks::EarlierCall;
use crate::store::request_list::RequestSummary;

/// What a decision says of who gave it, with the list's name of the key as `listed_name`.
fn with_listed(trusted: &TrustedKeys, decided_by: &str, at: Timestamp) -> Option<String> {
    let Value::Object(mut by) = json_value(decided_by.as_bytes())? else {
        return None;
    };
    by.remove(LISTED);
    let key = by.get("key").and_then(Value::as_str);
    if let Some(listed) = key.and_then(|key| trusted.name(key, at)) {
        by.insert(LISTED.to_owned(), json!(listed));
    }
    Some(Value::Object(by).to_string())
}

impl App {
    /// Another operator's key in force whose name this console's operator signs with, while the realm's list has
    /// another name for the own key.
    #[must_use]
    pub fn borrowed_name(&self) -> Option<PublicKey> {
        let name = &self.identity().operator;
        let (listed, _) = self.operators();
        let mut people = listed
            .into_iter()
            .filter(|line| line.role == KeyRole::Human && line.state == ListedState::InForce);
        if people.clone().any(|line| line.mine && line.name == *name) {
            return None;
        }
        let other = people.find(|line| !line.mine && line.name == *name)?;
        Some(other.key)
    }

    /// The line with the list's name of who decided. What does not verify says whatever its writer wanted.
    pub(super) fn with_listed_name(&self, mut line: RequestSummary) -> RequestSummary {
        if line.state != "void"
            && let Some(by) = &line.decided_by
        {
            let at = line.decided_at.map_or_else(|| self.now(), Timestamp);
            line.decided_by = with_listed(&self.inner.shared.trusted, by, at);
        }
        line
    }

    /// The same of an earlier call.
    pub(super) fn with_its_listed_name(&self, mut earlier: EarlierCall) -> EarlierCall {
        if let Some(by) = &earlier.decided_by {
            let at = Timestamp(earlier.decided_at);
            earlier.decided_by = with_listed(&self.inner.shared.trusted, by, at);
        }
        earlier
    }
}
