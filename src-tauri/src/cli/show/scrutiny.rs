//! Findings of a call and the call that it is compared with, as `show` prints them.

use countersign_core::domain::Timestamp;
use countersign_core::ops::scrutiny::{Compared, Finding, Weight};
use serde_json::{Map, Value, json};

use super::super::output::plain;
use countersign_redaction::is_secret_key;
use countersign_view::secrets::{Secrets, hiding};

/// As JSON, the strongest first.
pub(super) fn findings(of: &[Finding], secrets: Secrets) -> Vec<Value> {
    let finding = of.iter().map(|finding| {
        json!({
            "code": finding.code, "weight": finding.weight, "at": finding.at,
            "message": secrets.sentence(&finding.message),
        })
    });
    finding.collect()
}

/// The nearest approved call, with only what differs.
pub(crate) fn compared(of: &Compared, secrets: Secrets) -> Value {
    let differs = of.differs.iter().map(|differs| {
        let name = hiding_name(&differs.at);
        let value = |value: &Value| match secrets {
            Secrets::Hidden => hiding().field(name, value),
            Secrets::Revealed => value.clone(),
        };
        let mut found = Map::new();
        // A name can be a secret, too.
        let at = match secrets {
            Secrets::Hidden => hiding().text(&differs.at),
            Secrets::Revealed => differs.at.clone(),
        };
        found.insert("at".to_owned(), json!(at));
        let both = [("was", &differs.was), ("is", &differs.is)];
        found.extend(
            both.into_iter()
                .filter_map(|(key, of)| Some((key.to_owned(), value(of.as_ref()?)))),
        );
        Value::Object(found)
    });
    json!({
        "request_id": plain(&of.request_id), "at": Timestamp(of.at).rfc3339(), "by": of.by.as_deref().map(plain),
        "differs": differs.collect::<Vec<_>>(),
    })
}

/// The name of a place by which its value is hidden: what is inside of a secret is secret too.
fn hiding_name(at: &str) -> &str {
    let mut names = at.split('/');
    let secret = names.find(|name| is_secret_key(name));
    secret.unwrap_or_else(|| at.rsplit('/').next().unwrap_or_default())
}

/// For a person, the strongest first, down to a weight.
pub(crate) fn lines(of: &[Finding], least: Weight, secrets: Secrets) -> Vec<String> {
    let line = of.iter().filter(|of| of.weight <= least).map(|finding| {
        let at = if finding.at.is_empty() {
            "call"
        } else {
            &finding.at
        };
        format!(
            "{} {}: {}",
            finding.code.as_str(),
            secrets.line(at),
            secrets.sentence(&finding.message)
        )
    });
    line.collect()
}

/// How a person looked at it, as the decision keeps it.
pub(super) fn looked(stored: &str) -> Option<Value> {
    serde_json::from_str(stored).ok()
}

#[cfg(test)]
mod tests {
    use super::hiding_name;

    #[test]
    fn what_is_inside_of_a_secret_is_hidden_by_its_name() {
        for (at, name) in [
            ("/password/0", "password"),
            ("/settings/api_key/value", "api_key"),
            ("/to/0", "0"),
            ("/to", "to"),
            ("", ""),
        ] {
            assert_eq!(hiding_name(at), name, "{at}");
        }
    }
}
