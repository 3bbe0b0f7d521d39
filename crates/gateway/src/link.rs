//! The connection of one agent: it is tried until it is there, and then comes back as the SDK's does.

use std::sync::Arc;
use std::time::Duration;

use countersign_sdk::{Enrolment, Gate, GateError, Introduction};
use tokio::sync::watch;

use crate::body::{FRAMEWORK, HelloBody};
use crate::fault::{self, Fault};
use crate::journal::Journal;

/// Asks of one agent that wait at the same time.
pub(crate) const MOST_WAITING: usize = 10_000;
/// Before a connection is tried again that could not be made.
const PAUSE: Duration = Duration::from_secs(1);
/// As many wait as a console takes from one agent; their receipts need room too.
const ROOM: usize = 2 * MOST_WAITING;

/// How the bus can be reached.
#[derive(Clone)]
pub(crate) enum Link {
    /// Not yet.
    Down,
    /// Not with this login.
    Refused,
    /// A connection was made; it may be down at the moment.
    Up(Gate),
}

impl Link {
    /// The connection, if it works now.
    pub(crate) fn gate(&self) -> Result<Gate, Fault> {
        match self {
            Self::Down => Err(fault::bus_unreachable()),
            Self::Refused => Err(fault::login_refused()),
            Self::Up(gate) => match gate.reachable() {
                Ok(()) => Ok(gate.clone()),
                Err(GateError::LoginRefused) => Err(fault::login_refused()),
                Err(_) => Err(fault::bus_unreachable()),
            },
        }
    }
}

/// Connects, as long as that takes.
pub(crate) fn connect(enrolment: Enrolment, journal: Arc<Journal>) -> watch::Receiver<Link> {
    let (link, state) = watch::channel(Link::Down);
    tokio::spawn(async move {
        loop {
            let hello = journal.hello::<HelloBody>(&enrolment.agent_key());
            let gate = Gate::builder(enrolment.clone())
                .introduction(introduction(hello.unwrap_or_default()))
                .max_waiting(ROOM);
            let down = match gate.connect().await {
                Ok(gate) => {
                    link.send_replace(Link::Up(gate));
                    // Whoever looks at the connection needs the channel to be open.
                    return link.closed().await;
                }
                Err(GateError::LoginRefused) => Link::Refused,
                Err(error) => {
                    tracing::warn!(agent = %enrolment.agent_key(), "{error}");
                    Link::Down
                }
            };
            link.send_replace(down);
            tokio::time::sleep(PAUSE).await;
        }
    });
    state
}

/// What the agent says of itself, under the gateway's name.
pub(crate) fn introduction(hello: HelloBody) -> Introduction {
    Introduction {
        framework: Some((FRAMEWORK.to_owned(), env!("CARGO_PKG_VERSION").to_owned())),
        tools: hello.tools.unwrap_or_default(),
        setup_schema: hello.setup_schema,
        credentials: hello.credentials.unwrap_or_default(),
        skills: hello.skills,
        ..Introduction::default()
    }
}
