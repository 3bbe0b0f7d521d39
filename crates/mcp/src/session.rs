//! One client and one server, and the calls between them that wait.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use countersign_sdk::{Gate, GateError, HelloTool, Which};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::desk::{Asker, Desk, Outstanding};
use crate::message;
use crate::relay::{Relay, Then};

/// How many messages are on their way in each direction.
const QUEUE: usize = 64;
/// How long a call waits for the server's list of its tools.
const TOOLS: Duration = Duration::from_secs(2);
/// How long the last receipts and withdrawals may take.
const LAST: Duration = Duration::from_secs(3);

/// What is relayed to whom, and who is asked.
pub(crate) struct Session {
    pub(crate) relay: Mutex<Relay<Outstanding>>,
    pub(crate) desk: Desk,
    pub(crate) to_server: mpsc::Sender<Bytes>,
    pub(crate) to_client: mpsc::Sender<Bytes>,
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the server's tools are known.
    tools: CancellationToken,
    /// Cancelled when the client sends nothing any more.
    pub(crate) client_gone: CancellationToken,
}

/// The messages of a session on their way.
pub(crate) struct Queues {
    pub(crate) to_server: mpsc::Receiver<Bytes>,
    pub(crate) to_client: mpsc::Receiver<Bytes>,
}

impl Session {
    pub(crate) fn new(which: Which, console_forms: bool, asker: Asker) -> (Arc<Self>, Queues) {
        let (to_server, server) = mpsc::channel(QUEUE);
        let (to_client, client) = mpsc::channel(QUEUE);
        let session = Arc::new(Self {
            relay: Mutex::new(Relay::new(which, console_forms)),
            desk: Desk::new(asker),
            to_server,
            to_client,
            tasks: TaskTracker::new(),
            tools: CancellationToken::new(),
            client_gone: CancellationToken::new(),
        });
        let queues = Queues {
            to_server: server,
            to_client: client,
        };
        (session, queues)
    }

    /// Takes a message of the client.
    pub(crate) async fn client_sent(self: &Arc<Self>, line: Bytes) {
        // Room first: what is sent to the server under the lock cannot be overtaken.
        let Ok(mut room) = self.to_server.reserve_many(2).await else {
            return;
        };
        let (to_client, then) = {
            let mut relay = self.relay.lock();
            let text = line.strip_suffix(b"\r").unwrap_or(&line);
            let steps = relay.sent_by_client(text);
            let passed = steps.pass.then_some(line);
            let messages = passed.into_iter().chain(steps.to_server);
            room.by_ref()
                .zip(messages)
                .for_each(|(room, message)| room.send(message));
            (steps.to_client, steps.then)
        };
        drop(room);
        self.send(to_client).await;
        self.then(then);
    }

    /// Takes a message of the client that was too long to read.
    pub(crate) async fn client_sent_too_much(&self) {
        self.send(Some(message::too_long())).await;
    }

    /// Takes a message of the server.
    pub(crate) async fn server_sent(self: &Arc<Self>, line: Bytes) {
        let steps = self.relay.lock().sent_by_server(&line);
        self.send(steps.pass.then_some(line)).await;
        self.send(steps.to_client).await;
        if let Some(message) = steps.to_server {
            // A server that does not read holds up nothing that it writes.
            let to_server = self.to_server.clone();
            self.tasks
                .spawn(async move { to_server.send(message).await });
        }
        self.then(steps.then);
    }

    pub(crate) async fn send(&self, message: Option<Bytes>) {
        if let Some(message) = message {
            // Fails only where nobody reads any more.
            let _ = self.to_client.send(message).await;
        }
    }

    fn then(self: &Arc<Self>, then: Then<Outstanding>) {
        let session = Arc::clone(self);
        match then {
            Then::Nothing => {}
            Then::Ask(call, over) => {
                self.tasks.spawn(session.decide(*call, over));
            }
            Then::Report(outstanding, ended) => {
                self.tasks.spawn(outstanding.report(ended));
            }
            Then::Expires(task, ttl) => {
                self.tasks.spawn(async move {
                    let kept = session.client_gone.run_until_cancelled(sleep(ttl)).await;
                    let unseen = kept.and_then(|()| session.relay.lock().task_expired(&task));
                    if let Some((outstanding, ended)) = unseen {
                        outstanding.report(ended).await;
                    }
                });
            }
            Then::Tools => {
                self.tools.cancel();
                self.tasks.spawn(async move {
                    let tools = session.hello();
                    session.desk.introduce(tools).await;
                });
            }
            Then::Fill(inputs, over) => {
                self.tasks.spawn(session.fill(*inputs, over));
            }
        }
    }

    pub(crate) fn hello(&self) -> Vec<HelloTool> {
        let relay = self.relay.lock();
        relay.tools.hello(relay.which())
    }

    /// Waits until the tools are known, for a moment.
    pub(crate) async fn tools(&self) {
        // Whatever comes of it, the call is asked.
        let _ = timeout(TOOLS, self.tools.cancelled()).await;
    }

    pub(crate) async fn gate(&self) -> Result<Gate, GateError> {
        self.desk.gate(self.hello()).await
    }

    /// Takes back what waits: the client is gone.
    pub(crate) fn client_left(&self) {
        self.relay.lock().client_gone();
        self.client_gone.cancel();
    }

    /// Reports the calls that the server will not answer, and sends all that is still to be sent.
    pub(crate) async fn end(&self) {
        self.client_left();
        for (outstanding, ended) in self.relay.lock().server_gone() {
            self.tasks.spawn(outstanding.report(ended));
        }
        self.tasks.close();
        // What is not done by then is shown by closing the gate.
        let _ = timeout(LAST, self.tasks.wait()).await;
        self.desk.close().await;
    }
}
