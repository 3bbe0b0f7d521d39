//! Rights for everybody, in arguments.

use countersign_wire::pointer;
use serde_json::Value;

use crate::call::Call;
use crate::direction;
use crate::finding::{Code, Hazard};
use crate::inner;
use crate::leaf::Leaf;
use crate::leaf::among;
use crate::role::{is_command, is_prose, is_sql_name};
use crate::shown::shown;

pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    let mut found = Vec::new();
    for leaf in inner::values(call) {
        // Programs have readers of their own.
        if leaf.place.contains(" --")
            || is_command(leaf, call)
            || is_sql_name(leaf)
            || is_prose(leaf)
        {
            continue;
        }
        let opens = open(leaf, call).filter(|_| !direction::is_closed(leaf, call));
        if let Some((what, value)) = opens {
            let message = format!("{} {what}.", shown(&value));
            found.push(Hazard::stop(
                Code::OpensRights,
                &leaf.at,
                format!("{} {value}", leaf.place),
                message,
            ));
        }
    }
    statements(call.args, "", &mut found);
    for leaf in inner::values(call) {
        // A policy that is written as a text.
        let text = leaf.text().filter(|text| text.contains("Statement"));
        let policy = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
        if let Some(policy) = policy {
            let mut inside = Vec::new();
            statements(&policy, "", &mut inside);
            found.extend(inside.into_iter().take(1).map(|mut hazard| {
                hazard.finding.at = leaf.at.clone();
                hazard
            }));
        }
    }
    found
}

fn open(leaf: &Leaf<'_>, call: &Call<'_>) -> Option<(&'static str, String)> {
    const STORE: &str =
        "bucket share file files drive folder document doc object blob storage s3 repo dashboard";
    let stores = call.tool_is(STORE)
        || call.leaves.iter().any(|other| other.has_word(STORE))
        || call.tool_is("sharing permission permissions acl repository");
    match leaf.value.as_ref() {
        Value::String(text) => {
            let word = text.trim().to_lowercase();
            let outward = leaf.has_word("egress destination route routes bind listen dest")
                || leaf.place.contains("egress")
                || leaf.place.contains("route")
                || inner::beside(call, leaf).any(|other| {
                    let way = other.text().unwrap_or_default().to_lowercase();
                    other.named("direction") && among("egress outbound", &way)
                })
                || call.tool_is("route routes egress");
            if (word == "0.0.0.0/0" || word == "::/0") && !outward && !call.only_reads() {
                return Some(("lets in every address", text.clone()));
            }
            let acl = [
                "public-read",
                "public-read-write",
                "allusers",
                "allauthenticatedusers",
                "publicread",
                "authenticated-read",
                "anyone_with_link",
                "anyone-with-link",
                "anyonewithlink",
            ];
            if acl.contains(&word.as_str()) {
                return Some(("gives access to everybody", text.clone()));
            }
            let access = leaf.has_word("acl access visibility sharing share audience permission type scope policy role principal grantee member \
    link");
            let everybody = among(
                "public anyone everyone world anonymous public_link",
                word.as_str(),
            );
            (access && everybody && stores && !call.only_reads())
                .then(|| ("gives access to everybody", text.clone()))
        }
        Value::Bool(true) => {
            let public = leaf.named("public is_public make_public publicly_accessible public_access anonymous_access public_read \
    allow_public_access public_link");
            (public && (stores || leaf.name != "public") && !call.only_reads())
                .then(|| ("is on: everybody gets access", leaf.name.clone()))
        }
        Value::Bool(false) => {
            let block = leaf.named("block_public_acls block_public_access block_public_policy restrict_public_buckets ignore_public_acls");
            block.then(|| ("is off: everybody may get access", leaf.name.clone()))
        }
        _ => None,
    }
}

/// `*` as Principal or Action of a statement that allows.
fn statements(value: &Value, at: &str, found: &mut Vec<Hazard>) {
    match value {
        Value::Object(fields) => {
            let allows = fields.get("Effect").and_then(Value::as_str) == Some("Allow");
            if allows {
                for name in ["Principal", "Action"] {
                    if let Some(place) = fields.get(name).and_then(star) {
                        let at = format!("{at}/{name}{place}");
                        let message = format!("An Allow statement has * as its {name}.");
                        found.push(Hazard::stop(
                            Code::OpensRights,
                            &at,
                            format!("{name} *"),
                            message,
                        ));
                    }
                }
            }
            for (key, value) in fields {
                statements(value, &pointer::below(at, key), found);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                statements(value, &format!("{at}/{place}"), found);
            }
        }
        _ => {}
    }
}

/// Where below it a `*` is.
fn star(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (text == "*" || text == "*:*").then(String::new),
        Value::Array(items) => items
            .iter()
            .position(|item| star(item).is_some())
            .map(|place| format!("/{place}")),
        Value::Object(fields) => fields
            .iter()
            .find_map(|(key, value)| Some(format!("/{key}{}", star(value)?))),
        _ => None,
    }
}
