//! The same accounts and permissions as claims of NATS JWTs, for servers with an operator.
//!
//! Public exports are rejected: an account that nobody invited could import them.

use super::BusError;
use super::accounts::{AgentAccess, EXPORTED_SERVICES, EXPORTED_STREAM, check_nkey};
use serde_json::{Value, json};

/// What to sign, for consoles with these public nkeys and these agents.
///
/// `accounts` has the claims (`nats`) of `CORE` and `AGENTS`. Where it says the name of an account, its public
/// key belongs. Every import needs the `token` of an activation, signed by `CORE` for `AGENTS`, with the
/// import's subject and kind. `users` has a public nkey, its account and its claims for each login.
///
/// Errors: [`BusError::BadName`].
pub fn account_claims(consoles: &[String], agents: &[AgentAccess]) -> Result<Value, BusError> {
    let exported: Vec<(&str, &str)> = EXPORTED_SERVICES
        .iter()
        .map(|subject| (*subject, "service"))
        .chain([(EXPORTED_STREAM, "stream")])
        .collect();
    let exports: Vec<Value> = exported
        .iter()
        .map(|(subject, kind)| {
            json!({ "name": subject, "subject": subject, "type": kind, "token_req": true })
        })
        .collect();
    let imports: Vec<Value> = exported
        .iter()
        .map(|(subject, kind)| {
            json!({ "name": subject, "subject": subject, "type": kind, "account": "CORE" })
        })
        .collect();
    let mut users = Vec::new();
    for nkey in consoles {
        check_nkey("console key", nkey)?;
        users.push(json!({ "account": "CORE", "name": "console", "sub": nkey, "nats": {} }));
    }
    for agent in agents {
        let permissions = agent.permissions()?;
        users.push(json!({
            "account": "AGENTS",
            "name": format!("{}/{}", agent.workspace, agent.agent),
            "sub": agent.nkey,
            "nats": {
                "pub": { "allow": permissions.publish },
                "sub": { "allow": permissions.subscribe },
            },
        }));
    }
    Ok(json!({
        "accounts": {
            "CORE": {
                "limits": { "mem_storage": -1, "disk_storage": -1 },
                "exports": exports,
            },
            "AGENTS": { "imports": imports },
        },
        "users": users,
    }))
}
