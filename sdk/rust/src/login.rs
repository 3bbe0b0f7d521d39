//! Logging in, coming back, and hearing what the server forbids.
//!
//! A lost connection is restored without end, with growing pauses that differ from agent to agent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{
    Client, ClientError, ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerError,
};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::bus::unreachable;
use crate::clock::Timer;
use crate::identity::Identity;
use crate::{Enrolment, GateError, tls};

const LONGEST_PAUSE: Duration = Duration::from_secs(4);
const HANDSHAKE: Duration = Duration::from_secs(5);
const REMEMBERED: usize = 64;

/// How to log in.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    /// How long to try.
    pub(crate) within: Duration,
    /// How long one exchange may take.
    pub(crate) exchange: Duration,
}

/// A connection, and what is heard of it.
pub(crate) struct LoggedIn {
    pub(crate) client: Client,
    /// Changes with every connection that came back, and when messages were missed.
    pub(crate) reconnects: watch::Receiver<u64>,
    /// Whether the server refused the login when it was last tried again.
    pub(crate) refused: watch::Receiver<bool>,
    pub(crate) violations: Violations,
}

/// Who receives what the connection says.
#[derive(Clone)]
struct Tls {
    reconnects: Arc<watch::Sender<u64>>,
    refused: Arc<watch::Sender<bool>>,
    violations: Violations,
}

impl Login {
    pub(crate) async fn connect(&self, enrolment: &Enrolment) -> Result<LoggedIn, GateError> {
        let identity = Identity::of(enrolment)?;
        let servers = identity.servers.clone();
        let timer = Timer::start(self.within);
        let reported = Tls {
            reconnects: Arc::default(),
            refused: Arc::default(),
            violations: Violations::default(),
        };
        let mut attempt = 2;
        loop {
            let options = self.options(enrolment, &identity, &reported)?;
            let last = match timeout(timer.remaining(), options.connect(servers.clone())).await {
                Ok(Ok(client)) => {
                    return Ok(LoggedIn {
                        client,
                        reconnects: reported.reconnects.subscribe(),
                        refused: reported.refused.subscribe(),
                        violations: reported.violations,
                    });
                }
                Ok(Err(error)) => connect_error(&error)?,
                Err(_) => "no answer".to_owned(),
            };
            let wait = pause(attempt);
            if timer.remaining() <= wait {
                return Err(unreachable(last));
            }
            sleep(wait).await;
            attempt += 1;
        }
    }

    fn options(
        &self,
        enrolment: &Enrolment,
        identity: &Identity,
        reported: &Tls,
    ) -> Result<ConnectOptions, GateError> {
        let reported = reported.clone();
        let key = enrolment.agent_key();
        let options = identity
            .log_in()
            .custom_inbox_prefix(&identity.inbox_prefix)
            .name(format!("countersign agent {key}"))
            .connection_timeout(HANDSHAKE)
            .request_timeout(Some(self.exchange))
            .ping_interval(Duration::from_secs(10))
            .max_reconnects(None)
            .reconnect_delay_callback(pause)
            .event_callback(move |event| {
                reported.hear(&event);
                std::future::ready(())
            });
        tls::apply(options, &enrolment.tls, identity.asks_for_tls())
    }
}

impl Tls {
    fn hear(&self, event: &Event) {
        match event {
            Event::Connected => {
                self.refused(false);
                self.reconnects.send_modify(|count| *count += 1);
            }
            Event::SlowConsumer(_) => {
                tracing::warn!("hints were missed; every waiting request looks again");
                self.reconnects.send_modify(|count| *count += 1);
            }
            Event::ServerError(ServerError::Other(text)) => {
                tracing::warn!("the bus says: {text}");
                self.violations.note(text);
            }
            Event::ClientError(ClientError::Other(text)) => {
                tracing::debug!("bus: {text}");
                if self.refused(refuses_login(text)) {
                    tracing::warn!("{}", GateError::LoginRefused);
                }
            }
            other => tracing::debug!("bus: {other}"),
        }
    }

    /// True if it is so only now.
    fn refused(&self, now: bool) -> bool {
        let differs = |held: &mut bool| std::mem::replace(held, now) != now;
        self.refused.send_if_modified(differs) && now
    }
}

/// Of an attempt to come back the client gives only its kind of error, as text.
fn refuses_login(text: &str) -> bool {
    [
        ConnectErrorKind::Authentication,
        ConnectErrorKind::AuthorizationViolation,
    ]
    .iter()
    .any(|kind| kind.to_string() == text)
}

/// Subjects on which the server forbade publishing; the last few.
#[derive(Debug, Clone, Default)]
pub(crate) struct Violations(Arc<Mutex<VecDeque<String>>>);

impl Violations {
    fn note(&self, text: &str) {
        let lower = text.to_ascii_lowercase();
        let Some((_, rest)) = lower.split_once("permissions violation for publish to \"") else {
            return;
        };
        let Some((subject, _)) = rest.split_once('"') else {
            return;
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == REMEMBERED {
            kept.pop_front();
        }
        kept.push_back(subject.to_owned());
    }

    /// Whether the server complained about the subject; it is forgotten with the answer.
    pub(crate) fn forbids(&self, subject: &str) -> bool {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = kept.len();
        kept.retain(|noted| !noted.eq_ignore_ascii_case(subject));
        kept.len() < before
    }
}

/// Nothing for the first attempt, 50 ms for the next, 4 s at most.
fn pause(attempt: usize) -> Duration {
    if attempt <= 1 {
        return Duration::ZERO;
    }
    let doubled = u32::try_from(attempt - 2).unwrap_or(u32::MAX).min(10);
    Duration::from_millis(50)
        .saturating_mul(1 << doubled)
        .min(LONGEST_PAUSE)
        .mul_f64(rand::random_range(0.5..=1.0))
}

/// What to say if it stays so, or the error if trying again is of no use.
fn connect_error(error: &ConnectError) -> Result<String, GateError> {
    if let Some(why) = tls::fault(error) {
        return Err(GateError::Tls { why });
    }
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            Err(GateError::LoginRefused)
        }
        ConnectErrorKind::ServerParse => Err(GateError::BadEnrolment {
            why: "nats_url is not a URL".into(),
        }),
        _ => Ok(error.to_string()),
    }
}
