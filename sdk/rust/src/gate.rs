//! The gate: one connection of one agent, through which it asks.
//!
//! It does not start without somebody to trust, and it never makes up an approval.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{AgentKey, Enrolment, RequestId, RequestKey, event_subject};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::asking;
use crate::bus::{Bus, BusFault, unreachable};
use crate::clock::Timer;
use crate::handle::AskHandle;
use crate::identity::Identity;
use crate::inner::Inner;
use crate::introduction::Introduction;
use crate::journal::Journal;
use crate::login::Login;
use crate::looks::Looks;
use crate::options::{EnrolmentSource, GateBuilder};
use crate::outbox::{Letter, Outbox};
use crate::presence;
use crate::receipts::Receipts;
use crate::resume::on_disk;
use crate::wait::LAST_LOOK;
use crate::waiting::Waiting;
use crate::{Ask, Decision, GateError, tls};

/// Spans that may wait for the bus.
const MAX_SPANS: usize = 4_096;

/// Asks people before an agent acts; clones share one connection.
///
/// Thousands of requests may wait at once. Dropping the last clone ends its heartbeats; receipts and withdrawals on
/// their way are still delivered while the program runs. [`close`](Self::close) waits for them.
#[derive(Clone)]
pub struct Gate {
    pub(crate) inner: Arc<Inner>,
}

impl Gate {
    /// Connects with an enrolment, or with the path of an `agent.json`.
    ///
    /// Errors: `bad_enrolment`, `no_log`, `journal`, `bus_unreachable`, `bus_tls`,
    /// `bus_login_refused`, `bus_no_streams`, `bus_forbidden`, `bus_refused`.
    pub async fn connect(enrolment: impl Into<EnrolmentSource>) -> Result<Self, GateError> {
        Self::builder(enrolment).connect().await
    }

    /// Connects with options.
    pub fn builder(enrolment: impl Into<EnrolmentSource>) -> GateBuilder {
        GateBuilder::new(enrolment.into())
    }

    pub(crate) async fn open(options: GateBuilder) -> Result<Self, GateError> {
        let enrolment = options.enrolment.read().await?;
        believes_a_log(&enrolment, options.insecure)?;
        let login = Login {
            within: options.timing.connect,
            exchange: options.timing.exchange,
        };
        let journal = match options.journal {
            Some(folder) => {
                let enrolment = enrolment.clone();
                Some(on_disk(move || Journal::open(folder, &enrolment)).await?)
            }
            None => None,
        };
        let (bus, looks) = tokio::try_join!(
            Bus::connect(&enrolment, &login),
            Looks::connect(&enrolment, &login)
        )?;
        let key = enrolment.agent_key();
        let closing = CancellationToken::new();
        let stop = CancellationToken::new();
        let waiting = Waiting::default();
        let hints = format!("countersign.v1.decided.{}.{}.*", key.workspace, key.agent);
        waiting.listen(bus.subscribe(hints).await?, closing.clone());
        barrier(&bus, &key, options.timing.connect).await?;
        // One that takes longer is read on, and asked for at the first decision.
        if let Ok(read) = timeout(2 * options.timing.exchange, looks.refresh()).await {
            read?;
        }
        let one_shot = options.introduction.one_shot.clone();
        let instance_id = one_shot.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let gate = Self {
            inner: Arc::new(Inner {
                spans: Outbox::in_order(bus.clone(), MAX_SPANS, stop.clone()),
                outbox: Outbox::start(bus.clone(), options.max_waiting, stop.clone()),
                bus,
                looks,
                waiting,
                afterwards: TaskTracker::new(),
                info: options.introduction.agent(&key, &instance_id),
                key,
                timing: options.timing,
                default_timeout: options.default_timeout,
                max_waiting: options.max_waiting,
                journal,
                _close_on_drop: closing.clone().drop_guard(),
                closing,
                stop,
            }),
        };
        if options.says_hello {
            gate.introduce(&options.introduction).await?;
        }
        presence::spawn(&gate.inner, &options.introduction);
        Ok(gate)
    }

    /// Asks. Nothing is sent before the answer is awaited; dropping the answer
    /// takes the question back. A retry is another question, with another id.
    pub fn ask(&self, ask: impl Into<Ask>) -> Asking {
        let mut ask = ask.into();
        let id = ask.fix_id();
        let handle = AskHandle::new();
        let work = asking::ask(Arc::clone(&self.inner), ask, handle.clone());
        Asking {
            id,
            handle,
            work: Box::pin(work),
        }
    }

    /// Reports on a decision that another process was handed.
    pub fn reports(&self, request_id: RequestId, decision_id: impl Into<String>) -> Receipts {
        let request = RequestKey {
            workspace: self.inner.key.workspace.clone(),
            agent: self.inner.key.agent.clone(),
            request_id,
        };
        self.inner.receipts(&request).of(decision_id.into())
    }

    /// Says hello again, with other tools or credentials. Its agent's name, type and
    /// framework in requests stay those of the start.
    ///
    /// Errors: `bus_forbidden`, `bus_refused`; when the bus is away it is sent later.
    pub async fn introduce(&self, introduction: &Introduction) -> Result<(), GateError> {
        let inner = &self.inner;
        let (subject, payload) = introduction.hello(&inner.key, &inner.info)?;
        match inner.bus.store(&subject, payload.clone(), false).await {
            Ok(_) => Ok(()),
            Err(BusFault::Final(error)) => Err(error),
            Err(_) => {
                inner.post(subject, payload);
                Ok(())
            }
        }
    }

    /// Sends one step of a trace (protocol, section 6), whole at each change. Never waits: where the bus is away and
    /// the outbox full, the span is lost.
    pub fn span(&self, span: &serde_json::Value) {
        let letter = Letter {
            subject: event_subject(&self.inner.key),
            payload: Bytes::from(span.to_string()),
            first: false,
        };
        if !self.inner.spans.post(letter) {
            tracing::info!("a span was lost: too many wait for the bus");
        }
    }

    /// Whether an enrolment can be used at all. Reads its files and connects to nothing.
    ///
    /// Errors: `bad_enrolment`, `no_log`.
    pub fn check(enrolment: &Enrolment) -> Result<(), GateError> {
        believes_a_log(enrolment, false)?;
        let identity = Identity::of(enrolment)?;
        tls::apply(identity.log_in(), &enrolment.tls, identity.asks_for_tls()).map(drop)
    }

    /// Whether the bus can be reached now. Errors: `bus_login_refused`, `bus_unreachable`.
    pub fn reachable(&self) -> Result<(), GateError> {
        let bus = &self.inner.bus;
        match bus.connected() {
            true => Ok(()),
            false if *bus.login_refused().borrow() => Err(GateError::LoginRefused),
            false => Err(unreachable("the connection is down")),
        }
    }

    /// Who asks through this gate.
    pub fn agent(&self) -> &AgentKey {
        &self.inner.key
    }

    /// Takes back what waits, delivers receipts and withdrawals within the limit, and
    /// closes the connection. False when something could not be delivered.
    pub async fn close(self) -> bool {
        let inner = &self.inner;
        inner.closing.cancel();
        let timer = Timer::start(inner.timing.close);
        while !inner.waiting.is_empty() && !timer.remaining().is_zero() {
            sleep(Duration::from_millis(2)).await;
        }
        inner.afterwards.close();
        let limit = timer.remaining().min(LAST_LOOK);
        // What cannot be read by then is not reported.
        let _ = timeout(limit, inner.afterwards.wait()).await;
        let delivered = inner.outbox.empty(timer.remaining()).await;
        // What a trace lacks is not reported.
        let _ = inner.spans.empty(timer.remaining()).await;
        inner.stop.cancel();
        tokio::join!(inner.bus.close(), inner.looks.close());
        delivered
    }
}

/// Error: `no_log`, unless it was told to believe anybody.
fn believes_a_log(enrolment: &Enrolment, insecure: bool) -> Result<(), GateError> {
    match enrolment.log.is_some() || insecure {
        true => Ok(()),
        false => Err(GateError::NoLog),
    }
}

/// The subscription is active once the bus has answered something sent after it.
async fn barrier(bus: &Bus, key: &AgentKey, within: Duration) -> Result<(), GateError> {
    let unused = uuid::Uuid::new_v4();
    let subject = format!(
        "countersign.v1.decision.{}.{}.{unused}",
        key.workspace, key.agent
    );
    let timer = Timer::start(within);
    loop {
        let fault = match bus.decision(&subject).await {
            Ok(_) => return Ok(()),
            Err(fault) => fault,
        };
        // A console which is just starting prepares the streams a moment later.
        let may_come = matches!(fault, BusFault::NoStream | BusFault::Disconnected);
        if !may_come || timer.remaining().is_zero() {
            return Err(match fault {
                BusFault::Passing(why) | BusFault::Busy(why) => unreachable(why),
                other => other.into_error(),
            });
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// An answer to come. Await it; drop it to take the question back.
#[must_use = "nothing is asked until it is awaited"]
pub struct Asking {
    id: Option<RequestId>,
    handle: AskHandle,
    work: Pin<Box<dyn Future<Output = Result<Decision, GateError>> + Send>>,
}

impl Asking {
    /// The id of the request.
    pub fn request_id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    /// Takes the question back or shortens its deadline from elsewhere.
    pub fn handle(&self) -> AskHandle {
        self.handle.clone()
    }

    /// As [`AskHandle::cancel`].
    pub fn cancel(&self, reason: impl Into<String>) {
        self.handle.cancel(reason);
    }
}

impl Future for Asking {
    type Output = Result<Decision, GateError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.work.as_mut().poll(cx)
    }
}
