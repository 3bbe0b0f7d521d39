//! The filter of requests for `history` and `export`.
//!
//! An unknown word is refused: an empty list would read as if there were nothing.

use std::time::Duration;

use clap::Args;
use countersign_core::domain::State;
use countersign_core::domain::history::HistoryFilter;
use countersign_core::domain::search::TextQuery;
use countersign_core::ops::realm::keys_of;
use countersign_core::{App, Fault};
use countersign_wire::{AgentKey, AgentName, DecisionVerdict, NameError, Origin};

use super::args::Risk;
use super::config::Settings;
use super::console::options;
use super::failure::Failure;
use super::output::Output;
use super::when;

/// What was never looked through takes minutes for a million requests.
const INDEX_LIMIT: Duration = Duration::from_secs(30 * 60);
/// An index that is up to date needs no word about it.
const WORTH_A_WORD: Duration = Duration::from_secs(2);

#[derive(Debug, Default, Args)]
pub(crate) struct Narrow {
    /// Only requests with all of these words in the tool, the arguments as asked for, the agent's text or the
    /// operator's message. `"…"` is a phrase, a trailing `*` a prefix.
    #[arg(long, value_name = "Q", allow_hyphen_values = true)]
    query: Option<String>,
    /// Only this tool.
    #[arg(long, value_name = "T")]
    tool: Option<String>,
    /// Only this agent, `AGENT` or `WS/AGENT`.
    #[arg(long, value_name = "A")]
    agent: Option<String>,
    /// Only this effective risk.
    #[arg(long, value_enum)]
    risk: Option<Risk>,
    /// Only this verdict.
    #[arg(long, value_name = "V")]
    verdict: Option<String>,
    /// Only requests decided by: operator, rule, setup_key, timeout, agent or system.
    #[arg(long, value_name = "O")]
    origin: Option<String>,
    /// Only decisions signed by this operator or console: a listed name, or a public key.
    #[arg(long = "by", value_name = "NAME|KEY")]
    signer: Option<String>,
    /// Only what this rule decided.
    #[arg(long, value_name = "ID")]
    rule: Option<String>,
    /// Only this state: pending, holding, queued, decided, expired, withdrawn, rejected or void.
    #[arg(long, value_name = "S")]
    state: Option<String>,
    /// Stored at or after: RFC 3339, a date, or an age such as 30m, 12h, 7d.
    #[arg(long, value_name = "T")]
    since: Option<String>,
    /// Stored before: RFC 3339, a date, or an age.
    #[arg(long, value_name = "T")]
    until: Option<String>,
}

impl Narrow {
    /// The filter, as the console of `app` understands names and ages.
    pub(crate) fn filter(&self, app: &App) -> Result<HistoryFilter, Failure> {
        let time = |flag, text: &Option<String>| {
            text.as_deref()
                .map(|text| when::parse(flag, text, app.now()))
                .transpose()
        };
        let (workspace, agent) = match self.agent.as_deref().map(names).transpose()? {
            Some((workspace, agent)) => (workspace, Some(agent)),
            None => (None, None),
        };
        let (since, until) = (time("--since", &self.since)?, time("--until", &self.until)?);
        if let (Some(since), Some(until)) = (since, until)
            && since >= until
        {
            return Err(Failure::usage(format!(
                "--since {} is not before --until {}, so nothing can lie between; swap them",
                since.rfc3339(),
                until.rfc3339()
            )));
        }
        let risk = self.risk.map(countersign_wire::Risk::from);
        Ok(HistoryFilter {
            workspace,
            agent,
            tool: self.tool.clone(),
            risk: risk.map(|risk| risk.as_str().to_owned()),
            states: one(self.state.as_deref().map(state).transpose()?),
            verdicts: one(self.verdict.as_deref().map(verdict).transpose()?),
            origins: one(self.origin.as_deref().map(origin).transpose()?),
            signers: self
                .signer
                .as_deref()
                .map(|name| signers(app, name))
                .transpose()?,
            rule: self.rule.clone(),
            since,
            until,
            text: TextQuery::parse(self.query.as_deref().unwrap_or_default()),
            ..HistoryFilter::default()
        })
    }

    /// Whether words are looked for.
    pub(crate) fn has_words(&self) -> bool {
        self.query.is_some()
    }
}

/// Indexes what has arrived since somebody last did. What cannot be indexed now is said, and not found.
pub(crate) async fn bring_up_to_date(settings: &Settings, out: Output) -> Result<(), Failure> {
    let why = match App::offline(options(settings)?).await {
        Err(error) => error.to_string(),
        Ok(app) => {
            let done = catch_up_index(&app, out).await;
            app.shutdown().await;
            match done {
                Ok(0) => return Ok(()),
                Ok(left) => {
                    out.remark(&format!(
                        "{left} requests are not indexed yet; this search may miss them"
                    ));
                    return Ok(());
                }
                Err(error) => error.to_string(),
            }
        }
    };
    out.remark(&format!(
        "the newest requests are missing from this search: they could not be indexed ({why})"
    ));
    Ok(())
}

async fn catch_up_index(app: &App, out: Output) -> Result<u64, Fault> {
    let indexing = app.catch_up_search(INDEX_LIMIT);
    tokio::pin!(indexing);
    match tokio::time::timeout(WORTH_A_WORD, &mut indexing).await {
        Ok(done) => done,
        Err(_) => {
            out.remark("indexing new requests; this happens once");
            indexing.await
        }
    }
}

/// `AGENT` in any workspace, or `WS/AGENT`.
pub(crate) fn names(agent: &str) -> Result<(Option<String>, String), Failure> {
    let wrong = |error: NameError| {
        let form = "write AGENT for every workspace, or WORKSPACE/AGENT";
        Failure::usage(format!(
            "--agent: {agent:?} is not an agent; {form} ({error})"
        ))
    };
    if agent.contains('/') {
        let key: AgentKey = agent.parse().map_err(wrong)?;
        return Ok((Some(key.workspace.to_string()), key.agent.to_string()));
    }
    let name: AgentName = agent.parse().map_err(wrong)?;
    Ok((None, name.to_string()))
}

fn one<T>(wanted: Option<T>) -> Option<Vec<T>> {
    wanted.map(|wanted| vec![wanted])
}

fn signers(app: &App, name: &str) -> Result<Vec<String>, Failure> {
    let keys = keys_of(app, name);
    let is_key = name.parse::<countersign_wire::Signer>().is_ok();
    match (keys.is_empty(), is_key) {
        (false, _) => Ok(keys),
        (true, true) => Ok(vec![name.to_owned()]),
        (true, false) => Err(Failure::usage(format!(
            "--by: {name:?} is not an operator here; `countersign operators list` shows names and keys"
        ))),
    }
}

fn verdict(word: &str) -> Result<String, Failure> {
    match DecisionVerdict::from_word(word) {
        DecisionVerdict::Other(_) => Err(Failure::usage(format!(
            "--verdict: unknown verdict {word:?}; use one of approve, modify, deny, skip, respond, escalate, terminate, expired, withdrawn, rejected"
        ))),
        known => Ok(known.as_str().to_owned()),
    }
}

fn origin(word: &str) -> Result<String, Failure> {
    Origin::from_word(word)
        .map(|known| known.as_str().to_owned())
        .ok_or_else(|| {
            let words = "operator, rule, setup_key, timeout, agent, system";
            Failure::usage(format!(
                "--origin: unknown origin {word:?}; use one of {words}"
            ))
        })
}

fn state(word: &str) -> Result<State, Failure> {
    word.parse()
        .map_err(|error| Failure::usage(format!("--state: {error}")))
}
