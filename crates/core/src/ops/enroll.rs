//! Gives agents their login key and what they must trust.
//!
//! On an outside server the key is made and the file written; whoever runs that server lets the key in (`countersign
//! bus permissions` prints what it needs). On the console's own server an enrollment succeeds once the key is in force.

use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_wire::{AgentKey, Enrolment, LogHead, NkeySeed, TlsFiles, read_json};
use nkeys::KeyPair;
use serde_json::json;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::job::Job;
use super::writer_state::{Tx, WriterState};
use crate::Fault;
use crate::bus::AgentAccess;
use crate::data_dir::write_private;
use crate::runtime::{App, AppEvent, Options, access};
use crate::store::{Reader, StoreError, agents, meta};

/// How long a new key may take until the server takes it.
const LOGIN_LIMIT: Duration = Duration::from_secs(10);
/// A reload that failed is tried again this often.
const FOLLOW_EVERY: Duration = Duration::from_secs(5);
/// More than an enrolment has.
const ENROLMENT_BYTES: usize = 4096;
const LOGIN_LOOK: Duration = Duration::from_millis(50);
/// Name of the agent that every console with its own server enrols for this machine.
pub const LOCAL_AGENT: &str = "local";

/// Keeps an agent's new login key.
fn note_enrolled(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    agent: &AgentKey,
    key: &str,
) -> Result<(), StoreError> {
    agents::enroll(batch.tx, agent, key, batch.now)?;
    let me = writer.identity.human_key().to_string();
    batch.record(me, "enroll", agent.to_string(), json!({ "key": key }));
    Ok(())
}

/// Forgets an agent's login key. Returns whether it had one.
fn note_revoked(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    agent: &AgentKey,
) -> Result<bool, StoreError> {
    let had_one = agents::revoke(batch.tx, agent, batch.now)?;
    if had_one {
        let me = writer.identity.human_key().to_string();
        batch.record(me, "revoke", agent.to_string(), json!({}));
    }
    Ok(had_one)
}

impl App {
    /// Enrolls an agent: a new login key, on the embedded server in force when this returns. An earlier key of the
    /// agent is revoked.
    ///
    /// # Errors
    /// `ErrorCode::BusUnreachable` when the key is not taken in time.
    pub async fn enroll(&self, agent: &AgentKey) -> Result<Enrolment, Fault> {
        let login = KeyPair::new_user();
        let seed = login
            .seed()
            .map_err(|_| Fault::failed("no key could be made"))?;
        let key = login.public_key();
        let (of, new) = (agent.clone(), key.clone());
        self.ask(move |writer, batch| note_enrolled(writer, batch, &of, &new))
            .await?;
        let enrolment = self.enrolment(agent, &seed, &key)?;
        if self.has_own_server() {
            self.bring_into_force().await?;
            self.wait_for_login(&enrolment).await?;
        }
        Ok(enrolment)
    }

    /// Revokes an agent's login key, in force when this returns. For an agent without a key it waits for the same: a
    /// try before may have ended before the server had loaded it.
    ///
    /// # Errors
    /// `ErrorCode::Unknown` for a name that never had one here, `ErrorCode::BusUnreachable` when the change is not in
    /// force in time.
    pub async fn revoke(&self, agent: &AgentKey) -> Result<(), Fault> {
        let of = agent.clone();
        let had_one = self.ask(move |writer, batch| note_revoked(writer, batch, &of));
        if !had_one.await? && !was_revoked(self.reader(), agent).await? {
            return Err(Fault::unknown(format!("a login of {agent}"), "agents"));
        }
        match self.has_own_server() {
            true => self.bring_into_force().await,
            false => Ok(()),
        }
    }

    /// Whether the agent has a login that was given to it here.
    pub async fn is_enrolled(&self, agent: &AgentKey) -> Result<bool, Fault> {
        let known = agents::all(self.reader()).await?;
        let mut known = known.iter();
        Ok(known.any(|row| is(row, agent) && row.key.is_some()))
    }

    /// The enrolment file of this machine's agent `local`, written anew so that it names the port and
    /// the keys of now. None on an outside server, and when it was revoked.
    pub async fn enroll_local(&self) -> Result<Option<PathBuf>, Fault> {
        if self.embedded_server().is_none() {
            return Ok(None);
        }
        let workspace = self.options().workspace.clone();
        let name = LOCAL_AGENT
            .parse()
            .map_err(|_| Fault::failed("no agent name"))?;
        let agent = AgentKey {
            workspace,
            agent: name,
        };
        let known = agents::all(self.reader()).await?;
        let revoked = known.iter().any(|row| is(row, &agent) && row.key.is_none());
        if revoked {
            return Ok(None);
        }
        let path = self.data().enrolment(agent.workspace.as_ref(), LOCAL_AGENT);
        let enrolment = match self.kept_enrolment(&path, &agent).await? {
            Some(enrolment) => enrolment,
            None => self.enroll(&agent).await?,
        };
        write_enrolment(&path, &enrolment)?;
        Ok(Some(path))
    }

    /// The file's enrolment with the port and keys of now, if its login key still counts.
    async fn kept_enrolment(
        &self,
        path: &Path,
        agent: &AgentKey,
    ) -> Result<Option<Enrolment>, Fault> {
        let text = std::fs::read(path).ok();
        let Some(old) = text.and_then(|t| read_json::<Enrolment>(&t).ok()) else {
            return Ok(None);
        };
        let Ok(login) = KeyPair::from_seed(old.nkey_seed.reveal()) else {
            return Ok(None);
        };
        let key = login.public_key();
        let known = agents::all(self.reader()).await?;
        let mut known = known.iter();
        let counts = known.any(|row| is(row, agent) && row.key.as_deref() == Some(key.as_str()));
        if !counts {
            return Ok(None);
        }
        self.enrolment(agent, old.nkey_seed.reveal(), &key)
            .map(Some)
    }

    fn enrolment(&self, agent: &AgentKey, seed: &str, key: &str) -> Result<Enrolment, Fault> {
        let shared = &self.inner.shared;
        let nats_url = match self.embedded_server() {
            Some(server) => server.url(),
            None => self
                .data()
                .read_runtime()
                .map(|info| info.nats_url)
                .ok_or_else(|| {
                    Fault::bus_unreachable(
                        "no console runs in this data folder; start it with `countersign serve`",
                    )
                })?,
        };
        let realm = shared.realm().ok_or_else(|| {
            Fault::bus_unreachable("this console has not connected to a bus yet; try again once `countersign status` says that it is connected")
        })?;
        let log = shared.trusted.log();
        let head = log.chain.last().map(|head| LogHead {
            root: *log.root(),
            n: head.n,
            digest: head.digest,
        });
        let head = head.ok_or_else(|| {
            Fault::bus_unreachable("this console has not read the realm log yet; try again once `countersign status` says that it is connected")
        })?;
        Ok(Enrolment {
            nats_url,
            workspace: agent.workspace.clone(),
            agent: agent.agent.clone(),
            nkey_seed: NkeySeed::new(seed),
            inbox_prefix: format!("_INBOX_{key}"),
            realm,
            log: Some(head),
            tls: agents_tls(self.options()),
            nats_creds: None,
        })
    }

    fn has_own_server(&self) -> bool {
        self.options().nats_url.is_none()
    }

    /// Brings the agents' keys into force on the embedded server. Beside a running console, waits until
    /// that console has done so.
    async fn bring_into_force(&self) -> Result<(), Fault> {
        if self.embedded_server().is_some() {
            return self.reload_server().await;
        }
        let wanted = fingerprint(&access(self.reader()).await?);
        let look = async {
            loop {
                let loaded = meta::get(self.reader(), meta::AGENTS_IN_FORCE).await;
                if matches!(loaded, Ok(Some(loaded)) if loaded == wanted) {
                    return;
                }
                tokio::time::sleep(LOGIN_LOOK).await;
            }
        };
        tokio::time::timeout(LOGIN_LIMIT, look).await.map_err(|_| {
            Fault::bus_unreachable(
                "the running console has not loaded the change; it does at its next start",
            )
        })
    }

    /// Reloads the logins of the embedded server.
    pub(crate) async fn reload_server(&self) -> Result<(), Fault> {
        let Some(server) = self.embedded_server() else {
            return Ok(());
        };
        // Read within the turn: a list that was read before somebody revoked a key must not be loaded after.
        let _turn = self.inner.reloading.lock().await;
        let agents = access(self.reader()).await?;
        server.reload(&agents).await?;
        let loaded = fingerprint(&agents);
        self.submit(Job::kept(move |_, batch| {
            meta::put(batch.tx, meta::AGENTS_IN_FORCE, &loaded).map(drop)
        }))
        .await
    }

    async fn wait_for_login(&self, enrolment: &Enrolment) -> Result<(), Fault> {
        let look = async {
            while !can_log_in(enrolment).await {
                tokio::time::sleep(LOGIN_LOOK).await;
            }
        };
        tokio::time::timeout(LOGIN_LIMIT, look).await.map_err(|_| {
            Fault::bus_unreachable("the server does not take the new key; see its log in nats/")
        })
    }

    /// Follows the list of agents for the server's sake: another process may enroll or revoke. `noted`: agents that
    /// dial a former port were noted at the start.
    pub(crate) async fn follow_enrolments(self, mut noted: bool) {
        let mut events = self.subscribe();
        let stop = self.inner.stop.clone();
        let mut known = None;
        loop {
            let now = access(self.reader()).await.ok();
            if now.is_some() && now != known {
                let reported = self.note_moved_port(!noted).await;
                noted |= reported.is_ok();
                if let Err(error) = &reported {
                    tracing::error!(%error, "who dials a former port of the server is not informed");
                }
                let loaded = self.reload_server().await;
                if let Err(error) = &loaded {
                    tracing::error!(%error, "the server does not know who may log in");
                }
                if reported.is_ok() && loaded.is_ok() {
                    known = now;
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(FOLLOW_EVERY) => {}
                open = may_be_another_list(&mut events) => if !open { return },
            }
        }
    }
}

async fn was_revoked(reader: &Reader, agent: &AgentKey) -> Result<bool, Fault> {
    let known = agents::all(reader).await?;
    let mut known = known.iter();
    Ok(known.any(|row| is(row, agent) && row.revoked_at.is_some()))
}

/// An agent needs the same authorities and has a certificate of its own, if any.
fn agents_tls(options: &Options) -> TlsFiles {
    let ca = options.tls.ca.as_ref();
    TlsFiles {
        ca: ca.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone())),
        ..TlsFiles::default()
    }
}

async fn can_log_in(enrolment: &Enrolment) -> bool {
    let client = async_nats::ConnectOptions::with_nkey(enrolment.nkey_seed.reveal().to_owned())
        .custom_inbox_prefix(&enrolment.inbox_prefix)
        .connection_timeout(Duration::from_secs(2))
        .connect(&enrolment.nats_url)
        .await;
    client.is_ok()
}

/// Waits for news that another process's enrollment would come with; false when the events have ended. Requests that
/// come and are answered change no list.
async fn may_be_another_list(events: &mut Receiver<AppEvent>) -> bool {
    loop {
        match events.recv().await {
            Ok(AppEvent::Changed { .. }) => {}
            Ok(AppEvent::Status) | Err(RecvError::Lagged(_)) => return true,
            Err(RecvError::Closed) => return false,
        }
    }
}

fn is(row: &agents::AgentRow, agent: &AgentKey) -> bool {
    row.ws == agent.workspace.as_ref() && row.name == agent.agent.as_ref()
}

/// Fingerprint by which two lists of agents are compared.
fn fingerprint(agents: &[AgentAccess]) -> String {
    let mut lines: Vec<String> = agents
        .iter()
        .map(|a| format!("{}/{} {}", a.workspace, a.agent, a.nkey))
        .collect();
    lines.sort_unstable();
    countersign_wire::Sha256Digest::of_bytes(lines.join("\n").as_bytes()).to_string()
}

/// Writes a file of an enrolment's size beside `path` and removes it: an agent's old key ends with the
/// new one, so a new one that cannot be handed over would leave the agent with none.
///
/// # Errors
/// `ErrorCode::Environment`: [`write_enrolment`] would not succeed here.
pub fn try_enrolment(path: &Path) -> Result<(), Fault> {
    if path.is_dir() {
        return Err(unwritten(path, &std::io::ErrorKind::IsADirectory.into()));
    }
    // A name that nobody else's file has: it is removed again.
    let beside = path.with_extension(format!("{}.trial", std::process::id()));
    let written = write_private(&beside, &[b' '; ENROLMENT_BYTES]);
    // What was not written need not go, and a trial that stays holds nothing.
    let _ = std::fs::remove_file(&beside);
    written.map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &std::io::Error) -> Fault {
    Fault::environment(format!(
        "{}: {error}; choose another folder",
        path.display()
    ))
}

/// Writes an enrolment file that only its owner can read.
pub fn write_enrolment(path: &Path, enrolment: &Enrolment) -> Result<(), Fault> {
    let failed = |error: std::io::Error| unwritten(path, &error);
    let text = serde_json::to_vec_pretty(enrolment).map_err(|error| failed(error.into()))?;
    write_private(path, &text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::broadcast;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_that_come_and_go_do_not_let_the_list_of_agents_be_read() {
        let (sender, mut events) = broadcast::channel(4);
        let changed = |number: u64| AppEvent::Changed {
            number,
            rows: Arc::from([1]),
            arrived: Arc::default(),
        };
        let mut another = async || {
            let limit = Duration::from_secs(1);
            tokio::time::timeout(limit, may_be_another_list(&mut events)).await
        };
        sender.send(changed(1)).unwrap();
        assert!(another().await.is_err(), "nothing but a request");
        sender.send(changed(2)).unwrap();
        sender.send(AppEvent::Status).unwrap();
        assert!(another().await.unwrap());
        for number in 3..9 {
            sender.send(changed(number)).unwrap();
        }
        assert!(another().await.unwrap(), "what was missed may have been it");
        drop(sender);
        assert!(!another().await.unwrap());
    }
}
