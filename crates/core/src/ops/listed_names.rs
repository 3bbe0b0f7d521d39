//! Names of deciders, as the realm's list has them for their keys.
//!
//! The list's name wins over the name in the signed message.

use countersign_wire::{PublicKey, json_value};
use serde_json::{Value, json};

use super::realm::TrustedKeys;
use crate::domain::facts::names::LISTED;
use crate::runtime::App;
use crate::store::re_asks::EarlierCall;
use crate::store::request_list::RequestSummary;

/// What a decision says of who gave it, with the list's name of the key as `listed_name`.
fn with_listed(trusted: &TrustedKeys, decided_by: &str) -> Option<String> {
    let Value::Object(mut by) = json_value(decided_by.as_bytes())? else {
        return None;
    };
    by.remove(LISTED);
    let key = by.get("key").and_then(Value::as_str);
    if let Some(listed) = key.and_then(|key| trusted.name(key)) {
        by.insert(LISTED.to_owned(), json!(listed));
    }
    Some(Value::Object(by).to_string())
}

impl App {
    /// Another operator's key in force whose name this console's operator signs with, while the realm log has another
    /// name for the own operator.
    #[must_use]
    pub fn borrowed_name(&self) -> Option<PublicKey> {
        let name = &self.identity().operator;
        let log = self.inner.shared.trusted.log();
        let own = self.identity().human_key();
        if log.name(own.as_str()) == Some(name) {
            return None;
        }
        let mut others = log.operators.values();
        let other =
            others.find(|record| record.name == *name && record.key(own.as_str()).is_none())?;
        Some(other.id.clone())
    }

    /// The line with the list's name of who decided. What does not verify says whatever its writer wanted.
    pub(super) fn with_listed_name(&self, mut line: RequestSummary) -> RequestSummary {
        if line.state != "void"
            && let Some(by) = &line.decided_by
        {
            line.decided_by = with_listed(&self.inner.shared.trusted, by);
        }
        line
    }

    /// The same of an earlier call.
    pub(super) fn with_its_listed_name(&self, mut earlier: EarlierCall) -> EarlierCall {
        if let Some(by) = &earlier.decided_by {
            earlier.decided_by = with_listed(&self.inner.shared.trusted, by);
        }
        earlier
    }
}
