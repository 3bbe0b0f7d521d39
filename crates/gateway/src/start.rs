//! The gateway from its flags to its end.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use countersign_post::Post;
use countersign_sdk::{Enrolment, EnrolmentSource, Gate};
use countersign_wire::AgentKey;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::callback::Callbacks;
use crate::desk::Desk;
use crate::journal::Journal;
use crate::link;
use crate::origins::Origins;
use crate::routes::routes;
use crate::serve::{Listening, Tls, serve};
use crate::shared::Shared;
use crate::start_error::StartError;
use crate::tokens::Tokens;

/// Logins of one gateway.
const MOST_AGENTS: usize = 64;
/// How long answers that are known may take to be sent at the end.
const STOP_WITHIN: Duration = Duration::from_secs(2);
/// On this machine, by any of its names.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// How a gateway is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// The logins of its agents.
    pub agents: Vec<PathBuf>,
    /// Where it listens; none: not on TCP.
    pub listen: Option<SocketAddr>,
    /// A socket in the file system.
    pub unix: Option<PathBuf>,
    /// Its folder, which one process has at a time.
    pub dir: PathBuf,
    /// Further names under which it answers.
    pub hosts: Vec<String>,
    /// Origins that a `callback_url` may be below.
    pub callbacks: Vec<String>,
    /// Certificate and key (PEM).
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Beyond loopback without TLS.
    pub allow_plain_text: bool,
}

/// A gateway at work.
pub struct Gateway {
    /// Where it listens on TCP.
    pub url: Option<String>,
    /// Whose logins it holds.
    pub agents: Vec<AgentKey>,
    /// `plain_text` where it listens beyond loopback without TLS.
    pub insecure: Vec<&'static str>,
    stop: watch::Sender<bool>,
    servers: JoinSet<()>,
}

impl Gateway {
    /// Starts; the bus may be away.
    ///
    /// # Errors
    /// [`StartError`]; nothing is served then.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let origins = Origins::read(&options.callbacks).map_err(|text| {
            let why = format!(
                "--callback {text:?} is no origin: write https://HOST, or http:// to loopback"
            );
            StartError::Usage(why)
        })?;
        let plain_text = check(&options)?;
        let enrolments = enrolments(&options.agents).await?;
        let journal = Arc::new(Journal::open(&options.dir)?);
        let asks = journal.asks()?;
        let tokens = Tokens::follow(&options.dir)?;
        let tls = options
            .tls
            .map(|(cert, key)| Tls::read(cert, key))
            .transpose()?;
        let listening = Listening::open(options.listen, options.unix).await?;
        let post = Post::new().map_err(|source| StartError::Listen {
            at: "callbacks".to_owned(),
            source,
        })?;
        let callbacks = Arc::new(Callbacks::new(post, tokens.clone()));
        let mut desks = HashMap::new();
        let mut agents = Vec::new();
        for enrolment in enrolments {
            let (agent, realm) = (enrolment.agent_key(), enrolment.realm);
            let link = link::connect(enrolment, Arc::clone(&journal));
            let desk = Desk::new(
                agent.clone(),
                realm,
                Arc::clone(&journal),
                link,
                Arc::clone(&callbacks),
            );
            let desk = Arc::new(desk);
            desk.resume(&asks);
            agents.push(agent.clone());
            desks.insert(agent, desk);
        }
        drop(asks);
        let (stop, stopped) = watch::channel(false);
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim().to_owned();
        let shared = Arc::new(Shared {
            desks,
            tokens,
            origins,
            host,
            stop: stopped,
        });
        let mut hosts: Vec<String> = LOCAL.map(str::to_owned).to_vec();
        hosts.extend(options.hosts);
        let url = listening.tcp.as_ref().map(|(_, address)| {
            hosts.push(match address.ip() {
                std::net::IpAddr::V6(ip) => format!("[{ip}]"),
                ip => ip.to_string(),
            });
            let scheme = if tls.is_some() { "https" } else { "http" };
            format!("{scheme}://{address}")
        });
        let insecure = if plain_text {
            vec!["plain_text"]
        } else {
            Vec::new()
        };
        let over_tcp = routes(Arc::clone(&shared), Some(Arc::new(hosts)));
        let over_unix = routes(shared, None);
        let servers = serve(listening, tls, [over_tcp, over_unix], &stop);
        Ok(Self {
            url,
            agents,
            insecure,
            stop,
            servers,
        })
    }

    /// Ends long polls with what is known and lets answers out. Requests stay on the bus, so the process has to end
    /// without dropping what waits.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let ended = async { while self.servers.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(STOP_WITHIN, ended).await;
    }
}

/// Whether it will listen beyond loopback without TLS.
fn check(options: &Options) -> Result<bool, StartError> {
    if options.listen.is_none() && options.unix.is_none() {
        return Err(StartError::Usage(
            "nothing to listen on: give --listen or --unix".to_owned(),
        ));
    }
    if options.agents.is_empty() || options.agents.len() > MOST_AGENTS {
        return Err(StartError::Usage(format!(
            "name 1 to {MOST_AGENTS} logins with --agent-json"
        )));
    }
    let beyond = options
        .listen
        .is_some_and(|address| !address.ip().is_loopback());
    let plain_text = beyond && options.tls.is_none();
    if plain_text && !options.allow_plain_text {
        let why = "the address can be reached from other machines: give --tls-cert and --tls-key, or --allow-plain-text";
        return Err(StartError::Usage(why.to_owned()));
    }
    Ok(plain_text)
}

async fn enrolments(paths: &[PathBuf]) -> Result<Vec<Enrolment>, StartError> {
    let mut found: Vec<Enrolment> = Vec::new();
    for path in paths {
        let enrolment = EnrolmentSource::from(path.clone()).read().await;
        let enrolment = enrolment.and_then(|enrolment| Gate::check(&enrolment).map(|()| enrolment));
        let enrolment = enrolment.map_err(|source| StartError::Agent {
            path: path.clone(),
            source,
        })?;
        if found
            .iter()
            .any(|other| other.agent_key() == enrolment.agent_key())
        {
            let why = format!(
                "{}: a second login of {}",
                path.display(),
                enrolment.agent_key()
            );
            return Err(StartError::Usage(why));
        }
        found.push(enrolment);
    }
    Ok(found)
}
