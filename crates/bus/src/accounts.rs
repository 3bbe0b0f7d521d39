//! The accounts and permissions of one bus as nats.conf text (protocol, section 1).
//!
//! A name or key must match its grammar: a dot, a wildcard or a quote in one would widen what its owner may do.

use super::BusError;
use std::fmt::Write;

/// What agents may call in the consoles' account, each answered to the agent's own inbox.
pub(super) const EXPORTED_SERVICES: [&str; 9] = [
    "countersign.v1.request.>",
    "countersign.v1.withdraw.>",
    "countersign.v1.tighten.>",
    "countersign.v1.receipt.>",
    "countersign.v1.event.>",
    "countersign.v1.hello.>",
    "countersign.v1.alive.>",
    "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.>",
    REALM_GET,
];
/// What agents hear from the consoles' account.
pub(super) const EXPORTED_STREAM: &str = "countersign.v1.decided.>";
const REALM_GET: &str = "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.realm.*";

/// A console's login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleAccess {
    /// Public user nkey (`U…`).
    pub nkey: String,
    /// Whose console it is, for who reads the configuration.
    pub whose: Option<String>,
}

impl From<String> for ConsoleAccess {
    fn from(nkey: String) -> Self {
        Self { nkey, whose: None }
    }
}

/// One enrolled agent: who it is and the public nkey with which it logs in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentAccess {
    /// Workspace, `[a-z0-9][a-z0-9_-]{0,62}`.
    pub workspace: String,
    /// Agent name, same grammar.
    pub agent: String,
    /// Public user nkey (`U…`).
    pub nkey: String,
}

/// Everything one agent may do on the bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPermissions {
    /// Subjects it may publish on.
    pub publish: Vec<String>,
    /// Subjects it may subscribe to.
    pub subscribe: Vec<String>,
}

impl AgentAccess {
    /// The agent's permissions; [`BusError::BadName`] when a name or the key is outside its grammar.
    pub fn permissions(&self) -> Result<AgentPermissions, BusError> {
        check_name("workspace", &self.workspace)?;
        check_name("agent", &self.agent)?;
        check_nkey("agent key", &self.nkey)?;
        let who = format!("{}.{}", self.workspace, self.agent);
        let mut publish: Vec<String> = ["request", "withdraw", "tighten", "receipt"]
            .iter()
            .map(|word| format!("countersign.v1.{word}.{who}.*"))
            .collect();
        publish
            .extend(["event", "hello", "alive"].map(|word| format!("countersign.v1.{word}.{who}")));
        publish.push(format!(
            "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.{who}.*"
        ));
        publish.push(REALM_GET.into());
        Ok(AgentPermissions {
            publish,
            subscribe: vec![
                format!("countersign.v1.decided.{who}.*"),
                format!("_INBOX_{}.>", self.nkey),
            ],
        })
    }
}

/// The `accounts` block for an outside server: paste it into its nats.conf.
///
/// A comment above each user names its owner: blocks of several consoles are put together, and one day somebody leaves.
/// Errors: [`BusError::BadName`].
pub fn permissions_block(
    consoles: &[ConsoleAccess],
    agents: &[AgentAccess],
) -> Result<String, BusError> {
    let mut out = String::from("accounts {\n  CORE {\n    jetstream: enabled\n    users: [\n");
    for ConsoleAccess { nkey, whose } in consoles {
        check_nkey("console key", nkey)?;
        if let Some(whose) = whose {
            // A comment ends with its line.
            let whose: String = whose.chars().filter(|c| !c.is_control()).collect();
            let _ = writeln!(out, "      # {whose}");
        }
        let _ = writeln!(out, "      {{ nkey: {nkey} }}");
    }
    out.push_str("    ]\n    exports: [\n");
    for subject in EXPORTED_SERVICES {
        let _ = writeln!(
            out,
            "      {{ service: \"{subject}\", accounts: [AGENTS] }}"
        );
    }
    let _ = writeln!(
        out,
        "      {{ stream: \"{EXPORTED_STREAM}\", accounts: [AGENTS] }}"
    );
    out.push_str("    ]\n  }\n  AGENTS {\n    users: [\n");
    for agent in agents {
        write_agent(&mut out, agent)?;
    }
    out.push_str("    ]\n    imports: [\n");
    for subject in EXPORTED_SERVICES {
        let _ = writeln!(
            out,
            "      {{ service: {{ account: CORE, subject: \"{subject}\" }} }}"
        );
    }
    let _ = writeln!(
        out,
        "      {{ stream: {{ account: CORE, subject: \"{EXPORTED_STREAM}\" }} }}"
    );
    out.push_str("    ]\n  }\n}\n");
    Ok(out)
}

fn write_agent(out: &mut String, agent: &AgentAccess) -> Result<(), BusError> {
    let permissions = agent.permissions()?;
    let _ = writeln!(out, "      # {}/{}", agent.workspace, agent.agent);
    let _ = writeln!(out, "      {{ nkey: {}, permissions: {{", agent.nkey);
    for (verb, subjects) in [
        ("publish", &permissions.publish),
        ("subscribe", &permissions.subscribe),
    ] {
        let _ = writeln!(out, "        {verb}: {{ allow: [");
        for subject in subjects {
            let _ = writeln!(out, "          \"{subject}\"");
        }
        out.push_str("        ] }\n");
    }
    out.push_str("      } }\n");
    Ok(())
}

/// Workspace and agent names, `[a-z0-9][a-z0-9_-]{0,62}` (protocol, "Names").
fn check_name(what: &'static str, value: &str) -> Result<(), BusError> {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = value.as_bytes();
    let ok = (1..=63).contains(&bytes.len())
        && word(bytes[0])
        && bytes.iter().all(|&b| word(b) || b == b'_' || b == b'-');
    if ok {
        return Ok(());
    }
    Err(BusError::BadName {
        what,
        value: value.escape_default().to_string(),
        rule: "use 1 to 63 of a-z, 0-9, _ and -, starting with a letter or digit",
    })
}

pub(super) fn check_nkey(what: &'static str, value: &str) -> Result<(), BusError> {
    if value.starts_with('U') && nkeys::KeyPair::from_public_key(value).is_ok() {
        return Ok(());
    }
    Err(BusError::BadName {
        what,
        value: value.escape_default().to_string(),
        rule: "use a public user nkey, 56 characters starting with U",
    })
}

#[cfg(test)]
mod tests;
