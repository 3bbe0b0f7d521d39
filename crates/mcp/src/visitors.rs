//! The clients of a proxy over HTTP, each with a server of its own.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use bytes::Bytes;
use countersign_sdk::Which;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::duplex;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::desk::Asker;
use crate::http::{Remote, SESSION, http};
use crate::id::Id;
use crate::stdio::stdio;
use crate::visitor::Visitor;

/// Headers between a client and the proxy alone, beside those of MCP and of bodies.
const OWN: [&str; 8] = [
    "host",
    "connection",
    "keep-alive",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "last-event-id",
    "date",
];
/// Begins the name of a session that its client does not know: revision 2026-07-28 has none.
const NAMELESS: &str = ".";
/// Sessions at once, each with a process of the server.
const MOST: usize = 64;
/// A session that nobody used for so long makes room for another.
const IDLE: Duration = Duration::from_secs(3600);
/// Bytes on their way between a client and its proxy.
const PIPE: usize = 64 * 1024;
/// How long the last receipts and withdrawals may take.
const LAST: Duration = Duration::from_secs(15);

/// What is behind the proxy, and who asks.
#[derive(Debug, Clone)]
pub struct Served {
    /// Which calls ask.
    pub which: Which,
    /// Forms of the server are cards.
    pub console_forms: bool,
    /// Who asks.
    pub asker: Asker,
    /// The server.
    pub behind: Behind,
}

/// A server.
#[derive(Debug, Clone)]
pub enum Behind {
    /// Started by this command, once a session.
    Command(Vec<OsString>),
    /// Reached over HTTP.
    Remote(Remote),
}

pub(crate) struct Visitors {
    served: Served,
    /// By the name of the session.
    all: Mutex<HashMap<String, Arc<Visitor>>>,
    tasks: TaskTracker,
}

type Found = (Arc<Visitor>, Option<mpsc::Receiver<Bytes>>);

impl Visitors {
    pub(crate) fn new(served: Served) -> Self {
        Self {
            served,
            all: Mutex::new(HashMap::new()),
            tasks: TaskTracker::new(),
        }
    }

    /// The client of a message, and the stream of its answer where it is a request.
    pub(crate) fn of(
        &self,
        headers: &HeaderMap,
        message: &Value,
        id: Option<&Id>,
    ) -> Result<Found, StatusCode> {
        let initializes = message.get("method").and_then(Value::as_str) == Some("initialize");
        let named = headers.get(SESSION);
        if let (Some(name), false) = (named, initializes) {
            let visitor = self.find(name).ok_or(StatusCode::NOT_FOUND)?;
            let Some(id) = id else {
                return Ok((visitor, None));
            };
            let messages = visitor.expect(id, message).ok_or(StatusCode::CONFLICT)?;
            return Ok((visitor, Some(messages)));
        }
        let passed = passed(headers);
        let mut all = self.all.lock();
        if !initializes {
            let alike = all.iter().filter(|(name, visitor)| {
                name.starts_with(NAMELESS) && visitor.headers == passed && visitor.is_open()
            });
            for (_, visitor) in alike {
                let visitor = Arc::clone(visitor);
                let Some(id) = id else {
                    return Ok((visitor, None));
                };
                // Ids of other clients, which may be the same, are in another session.
                if let Some(messages) = visitor.expect(id, message) {
                    return Ok((visitor, Some(messages)));
                }
            }
        }
        let id = id.ok_or(StatusCode::BAD_REQUEST)?;
        make_room(&mut all)?;
        let kind = if initializes { "" } else { NAMELESS };
        let name = format!("{kind}{}", Uuid::new_v4());
        let visitor = self.open(name.clone(), passed);
        let messages = visitor.expect(id, message);
        all.insert(name, Arc::clone(&visitor));
        Ok((visitor, messages))
    }

    /// The client of this session.
    pub(crate) fn named(&self, headers: &HeaderMap) -> Result<Arc<Visitor>, StatusCode> {
        let name = headers.get(SESSION).ok_or(StatusCode::METHOD_NOT_ALLOWED)?;
        self.find(name).ok_or(StatusCode::NOT_FOUND)
    }

    fn find(&self, name: &HeaderValue) -> Option<Arc<Visitor>> {
        let name = name
            .to_str()
            .ok()
            .filter(|name| !name.starts_with(NAMELESS))?;
        let found = self.all.lock().get(name).cloned();
        found.filter(|visitor| visitor.is_open())
    }

    fn open(&self, name: String, headers: HeaderMap) -> Arc<Visitor> {
        let (to_proxy, input) = duplex(PIPE);
        let (output, from_proxy) = duplex(PIPE);
        let over = CancellationToken::new();
        let stop = over.clone().cancelled_owned();
        let Served {
            which,
            console_forms,
            asker,
            behind,
        } = self.served.clone();
        let remote = match behind {
            Behind::Remote(remote) => Ok(remote.with(&headers)),
            Behind::Command(command) => Err(command),
        };
        let visitor = Arc::new(Visitor::new(name, headers, to_proxy, over));
        let ended = Arc::clone(&visitor);
        self.tasks.spawn(async move {
            let client = (input, output);
            let relayed = match remote {
                Ok(remote) => http(which, console_forms, asker, remote, client, stop).await,
                Err(command) => stdio(which, console_forms, asker, &command, client, stop)
                    .await
                    .map(|_| ()),
            };
            if let Err(error) = relayed {
                tracing::warn!("the server cannot be relayed: {error}");
            }
            ended.over.cancel();
        });
        let hears = Arc::clone(&visitor);
        self.tasks
            .spawn(async move { hears.hear(from_proxy).await });
        visitor
    }

    /// Ends all sessions, and takes back what waits.
    pub(crate) async fn end(&self) {
        for (_, visitor) in self.all.lock().drain() {
            visitor.over.cancel();
        }
        self.tasks.close();
        let _ = timeout(LAST, self.tasks.wait()).await;
    }
}

/// Ends sessions that nobody uses.
fn make_room(all: &mut HashMap<String, Arc<Visitor>>) -> Result<(), StatusCode> {
    let unused = |visitor: &Visitor| visitor.idle_since().is_some_and(|at| at.elapsed() > IDLE);
    all.retain(|_, visitor| {
        if unused(visitor) {
            visitor.over.cancel();
        }
        visitor.is_open()
    });
    match all.len() < MOST {
        true => Ok(()),
        false => Err(StatusCode::SERVICE_UNAVAILABLE),
    }
}

/// What a client says to the server itself, such as its login.
fn passed(headers: &HeaderMap) -> HeaderMap {
    let own = |name: &str| {
        name.starts_with("mcp-")
            || name.starts_with("content-")
            || name.starts_with("accept")
            || OWN.contains(&name)
    };
    let passed = headers.iter().filter(|(name, _)| !own(name.as_str()));
    passed
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
