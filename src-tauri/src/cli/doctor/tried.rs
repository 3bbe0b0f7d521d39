//! A trial of what agents can do on the bus, with their logins and without a login.
//!
//! A bus counts as safe only after the trial.

use std::fs;
use std::path::{Path, PathBuf};

use countersign_core::App;
use countersign_core::bus::{Bus, BusError, BusOptions, Credentials, ProbedLogin, Weakness};
use countersign_wire::{Enrolment, TlsFiles};

use super::super::config::Settings;
use super::Check;
use super::Verdict::{Failed, Ok as Fine, Unknown};

/// As many agents of the data folder are tried.
const AGENTS: usize = 3;

/// A check for each login that was tried.
pub(super) async fn checks(
    settings: &Settings,
    app: &App,
    bus: &Bus,
    agent_json: Option<PathBuf>,
) -> Vec<Check> {
    let files = match agent_json {
        Some(file) => vec![file],
        None => enrolled(&settings.data_dir.join("agents")),
    };
    let mut found = vec![nobody(settings, app, bus).await];
    let mut tried = 0;
    for file in files {
        if tried == AGENTS {
            break;
        }
        match of_file(&file, app, bus).await {
            Tried::Check(check) => {
                tried += 1;
                found.push(check);
            }
            Tried::NotLetIn => {}
        }
    }
    if tried == 0 {
        let why = "no agent's login could be tried: enrol one with `countersign enroll`, or name its file with --agent-json";
        found.push(Check::new("permissions", Unknown, why));
    }
    found
}

enum Tried {
    Check(Check),
    /// Revoked, or not let in yet.
    NotLetIn,
}

/// What somebody can do who has no login at all.
async fn nobody(settings: &Settings, app: &App, bus: &Bus) -> Check {
    let url = match &settings.nats_url {
        Some(url) => without_login(url),
        None => bus.state().borrow().url_without_secrets.clone(),
    };
    let tls = TlsFiles {
        ca: settings.tls.ca.clone(),
        ..TlsFiles::default()
    };
    let login = ProbedLogin {
        options: options(app, url, Credentials::None, tls),
        inbox_prefix: None,
        agent: None,
    };
    match bus.probe(login).await {
        Ok(found) => permissions_check("whoever reaches the server", &found),
        Err(BusError::AuthRefused { .. } | BusError::Tls { .. }) => {
            Check::new("permissions", Fine, "a login is required")
        }
        Err(error) => Check::new("permissions", Unknown, error.to_string()),
    }
}

async fn of_file(file: &Path, app: &App, bus: &Bus) -> Tried {
    let unknown = |why: String| {
        let detail = format!("{} was not tried: {why}", file.display());
        Tried::Check(Check::new("permissions", Unknown, detail))
    };
    let read = fs::read(file).map_err(|error| error.to_string());
    // The parser's words may quote the file, and the file holds a seed.
    let enrolment = read.and_then(|text| {
        countersign_wire::read_json::<Enrolment>(&text).map_err(|_| "not an enrolment".to_owned())
    });
    let enrolment = match enrolment {
        Ok(enrolment) => enrolment,
        Err(why) => return unknown(why),
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    let credentials = match &enrolment.nats_creds {
        Some(creds) => Credentials::CredsFile(folder.join(creds)),
        None if enrolment.nats_url.contains('@') => Credentials::UrlUserPassword,
        None => Credentials::NkeySeed(enrolment.nkey_seed.reveal().to_owned()),
    };
    let (workspace, agent) = (enrolment.workspace.to_string(), enrolment.agent.to_string());
    let who = format!("{workspace}/{agent}");
    let tls = enrolment.tls.under(folder);
    let login = ProbedLogin {
        options: options(app, enrolment.nats_url, credentials, tls),
        inbox_prefix: Some(enrolment.inbox_prefix),
        agent: Some((workspace, agent)),
    };
    match bus.probe(login).await {
        Ok(found) => Tried::Check(permissions_check(&who, &found)),
        Err(BusError::AuthRefused { .. } | BusError::Unreachable { .. }) => Tried::NotLetIn,
        Err(error) => unknown(error.to_string()),
    }
}

fn options(app: &App, url: String, credentials: Credentials, tls: TlsFiles) -> BusOptions {
    BusOptions {
        url,
        credentials,
        tls,
        console_id: format!("{} (doctor)", app.identity().console_id),
        allow_single_account: true,
    }
}

fn permissions_check(who: &str, found: &[Weakness]) -> Check {
    if found.is_empty() {
        let detail =
            format!("{who} can neither forge decisions nor read, write or speak for others");
        return Check::new("permissions", Fine, detail);
    }
    let words: Vec<&str> = found.iter().map(|weakness| word(*weakness)).collect();
    let ways: Vec<&str> = found.iter().map(|weakness| way_out(*weakness)).collect();
    let detail = format!(
        "{who} can {}. {}. `countersign bus permissions` prints the right ones",
        words.join(", "),
        ways.join(". ")
    );
    Check::new("permissions", Failed, detail)
}

fn word(weakness: Weakness) -> &'static str {
    match weakness {
        Weakness::Forge => "publish decisions",
        Weakness::Poison => "have the server's answers stored as decisions",
        Weakness::ReadDecisions => "read others' decisions",
        Weakness::Overhear => "hear what is for others",
        Weakness::SpeakForOthers => "speak for other agents",
        Weakness::ReadPolicy => "read the policy",
        Weakness::WritePolicy => "write the policy",
        Weakness::AdministerStreams => "administer the streams",
    }
}

fn way_out(weakness: Weakness) -> &'static str {
    match weakness {
        Weakness::Forge => {
            "Remove countersign.v1.decision.> and countersign.v1.vote.> from its publish permissions"
        }
        Weakness::Poison => {
            "Move agents into an account apart from the consoles', because reply subjects are not checked inside one"
        }
        Weakness::ReadDecisions => {
            "Let it direct-get only countersign.v1.decision.{ws}.{agent}.* of CS_DECISIONS"
        }
        Weakness::Overhear => {
            "Let it subscribe only to countersign.v1.decided.{ws}.{agent}.* and its own _INBOX_{nkey}.>"
        }
        Weakness::SpeakForOthers => {
            "Name its workspace and agent in every subject it may publish on"
        }
        Weakness::ReadPolicy => "Let it read nothing of KV_CS_POLICY",
        Weakness::WritePolicy => "Remove $KV.> from its publish permissions",
        Weakness::AdministerStreams => "Remove $JS.API.> from its publish permissions",
    }
}

/// The enrolment files below `agents/WS/AGENT`, in the order of their names.
fn enrolled(folder: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut files: Vec<PathBuf> = inside(folder)
        .iter()
        .flat_map(|workspace| inside(workspace))
        .map(|agent| agent.join("agent.json"))
        .filter(|file| file.is_file())
        .collect();
    files.sort();
    files
}

fn without_login(urls: &str) -> String {
    let one = |url: &str| {
        let (scheme, rest) = url.split_once("://").unwrap_or(("nats", url));
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        format!("{scheme}://{host}")
    };
    let all: Vec<String> = urls.split(',').map(|url| one(url.trim())).collect();
    all.join(",")
}
