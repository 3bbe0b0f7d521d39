//! Rules that several tests put in force.

use countersign_core::App;
use countersign_core::domain::AlarmCode;
use countersign_core::ops::rules::{Accepted, RulesChange, RulesChanged};
use countersign_core::ops::waiting_calls::AcceptWaiting;
use countersign_core::policy::read_file;
use countersign_wire::{Context, PolicyKey, SignedEnvelope, WorkspaceName};
use serde_json::json;

use crate::agent::{Desk, until};

/// Lets every invoice be deleted.
pub(crate) const INVOICES: &str = r#"
schema = 1
[[rule]]
id = "invoices"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["delete_invoice"]
"#;

pub(crate) fn acme() -> WorkspaceName {
    "acme".parse().unwrap()
}

/// Puts a file's rules in the place of those that were.
pub(crate) async fn apply(app: &App, file: &str) -> RulesChanged {
    let rules = read_file(file).unwrap();
    let change = RulesChange::Replace { rules, seen: None };
    change_all(app, &change).await
}

/// Changes the rules, whatever waits.
pub(crate) async fn change_all(app: &App, change: &RulesChange) -> RulesChanged {
    let accepted = Accepted {
        waiting: AcceptWaiting::All,
        ..Accepted::default()
    };
    app.change_rules_accepting(&acme(), change, accepted)
        .await
        .unwrap()
}

/// Rules that cannot be read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unreadable {
    /// Nobody signed them.
    Unsigned,
    /// An operator signed what only a later version knows.
    Signed,
}

/// Puts such rules on the bus and waits until the console is alarmed.
pub(crate) async fn break_rules(app: &App, how: Unreadable) {
    let key = PolicyKey::Rules(acme());
    let value = match how {
        Unreadable::Unsigned => b"{}".to_vec(),
        Unreadable::Signed => SignedEnvelope::seal(
            &app.identity().signing().human,
            Context::Policy,
            &app.realm().unwrap(),
            &key.subject(),
            json!({"v": 1, "schema": 99, "rules": []})
                .to_string()
                .as_bytes(),
        )
        .and_then(|value| value.to_bytes())
        .unwrap(),
    };
    let (name, bus) = (key.to_string(), app.bus().unwrap());
    let current = bus.policy_get(&name).await.unwrap();
    let revision = current.map_or(0, |current| current.revision);
    bus.policy_put(&name, revision, value.into()).await.unwrap();
    alarmed(app).await;
}

/// Waits until the console knows that the rules cannot be read.
pub(crate) async fn alarmed(app: &App) {
    until("the rules are known to be unreadable", async || {
        let alarms = app.status().await.unwrap().alarms;
        let code = AlarmCode::RulesUnusable.as_str();
        alarms.iter().any(|alarm| alarm.code.as_str() == code)
    })
    .await;
}

/// Deletes a key of the shared policy, as no console does.
pub(crate) async fn delete_key(desk: &Desk, key: &str) {
    let mut deleted = async_nats::HeaderMap::new();
    deleted.insert("KV-Operation", "DEL");
    let seed = desk.app.identity().login.seed().unwrap();
    let core = async_nats::ConnectOptions::with_nkey(seed)
        .connect(desk.app.embedded_server().unwrap().url())
        .await
        .unwrap();
    let subject = format!("$KV.CS_POLICY.{key}");
    core.request_with_headers(subject, deleted, "".into())
        .await
        .unwrap();
}
