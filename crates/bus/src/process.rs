//! The thread which starts nats-server, and the slot through which others reach the process.
//!
//! After its end it starts nothing. The kernel ties the server's life to the thread that started it, so this thread
//! lives exactly as long as its owner.

use super::unix::{self, Signal};
use parking_lot::{Mutex, MutexGuard};
use shared_child::SharedChild;
use std::io;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use tokio::sync::oneshot;

#[derive(Default)]
struct Slot {
    closed: bool,
    child: Option<Arc<SharedChild>>,
}

/// The process that runs now, shared by everyone who may signal it.
#[derive(Clone, Default)]
pub(super) struct ProcessSlot(Arc<Mutex<Slot>>);

impl ProcessSlot {
    fn locked(&self) -> MutexGuard<'_, Slot> {
        self.0.lock()
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.locked().child.as_ref().map(|child| child.id())
    }

    /// Signals the process; false when none runs.
    pub(super) fn signal(&self, signal: Signal) -> bool {
        match &self.locked().child {
            Some(child) => unix::signal(child, signal).is_ok(),
            None => false,
        }
    }

    /// Lets nothing start any more; what runs goes on.
    pub(super) fn close(&self) {
        self.locked().closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.locked().closed
    }

    /// Ends what runs at once and waits until it is gone; nothing starts afterwards.
    pub(super) fn kill(&self) {
        let child = {
            let mut slot = self.locked();
            slot.closed = true;
            slot.child.clone()
        };
        if let Some(child) = child {
            // Both fail only when the process is gone already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

struct Order {
    command: Command,
    started: oneshot::Sender<io::Result<u32>>,
    exited: oneshot::Sender<ExitStatus>,
}

/// A process that was started.
pub(super) struct Started {
    pub(super) pid: u32,
    /// Resolves when it ends; an error means that the thread ended first.
    pub(super) exited: oneshot::Receiver<ExitStatus>,
}

pub(super) struct ProcessThread {
    slot: ProcessSlot,
    orders: SyncSender<Order>,
}

impl ProcessThread {
    pub(super) fn new(slot: ProcessSlot) -> io::Result<Self> {
        let (orders, incoming) = sync_channel(1);
        let for_thread = slot.clone();
        std::thread::Builder::new()
            .name("nats-server".into())
            .spawn(move || run(&for_thread, &incoming))?;
        Ok(Self { slot, orders })
    }

    pub(super) async fn start(&self, command: Command) -> io::Result<Started> {
        let gone = || io::Error::other("the thread that starts nats-server has ended");
        let (started_tx, started) = oneshot::channel();
        let (exited_tx, exited) = oneshot::channel();
        let order = Order {
            command,
            started: started_tx,
            exited: exited_tx,
        };
        self.orders.try_send(order).map_err(|_| gone())?;
        let pid = started.await.map_err(|_| gone())??;
        Ok(Started { pid, exited })
    }
}

impl Drop for ProcessThread {
    fn drop(&mut self) {
        self.slot.kill();
    }
}

fn run(slot: &ProcessSlot, orders: &Receiver<Order>) {
    while let Ok(mut order) = orders.recv() {
        unix::die_with_this_thread(&mut order.command);
        let child = {
            let mut locked = slot.locked();
            if locked.closed {
                return;
            }
            match SharedChild::spawn(&mut order.command) {
                Ok(child) => {
                    let child = Arc::new(child);
                    locked.child = Some(child.clone());
                    child
                }
                Err(error) => {
                    // The one who asked may have given up.
                    let _ = order.started.send(Err(error));
                    continue;
                }
            }
        };
        // The command holds a copy of the store's lock; only the child may keep it.
        drop(order.command);
        let _ = order.started.send(Ok(child.id()));
        let status = child.wait();
        slot.locked().child = None;
        if let Ok(status) = status {
            let _ = order.exited.send(status);
        }
    }
}
