//! A wire that can be cut: a TCP proxy in front of the bus.
//!
//! A connection that stays up loses no bytes: what was read is passed on or the connection ends.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the wire does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wire {
    /// Connections are taken and kept.
    pub(crate) up: bool,
    /// Bytes to the bus pass.
    pub(crate) to_bus: bool,
    /// Bytes from the bus pass.
    pub(crate) from_bus: bool,
    /// Rises when all connections are to be closed once.
    breaks: u64,
}

impl Wire {
    const SOUND: Self = Self {
        up: true,
        to_bus: true,
        from_bus: true,
        breaks: 0,
    };
}

/// A listening proxy; gone with its owner.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    wire: Arc<watch::Sender<Wire>>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port of `host` and passes on to `bus`.
    pub(crate) async fn start(host: Ipv4Addr, bus: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((host, 0)).await?;
        let address = listener.local_addr()?;
        let wire = Arc::new(watch::channel(Wire::SOUND).0);
        let state = Arc::clone(&wire);
        let task = tokio::spawn(async move {
            loop {
                let Ok((near, _)) = listener.accept().await else {
                    continue;
                };
                let wire = state.subscribe();
                if wire.borrow().up {
                    tokio::spawn(connect(near, bus, wire));
                }
            }
        });
        Ok(Self {
            address,
            wire,
            task,
        })
    }

    /// The URL for clients.
    pub(crate) fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Changes what it does.
    pub(crate) fn set(&self, up: bool, to_bus: bool, from_bus: bool) {
        self.wire.send_modify(|wire| {
            wire.up = up;
            wire.to_bus = to_bus;
            wire.from_bus = from_bus;
        });
    }

    /// Everything passes again; with `reset` what is connected is closed first.
    pub(crate) fn heal(&self, reset: bool) {
        self.wire.send_modify(|wire| {
            *wire = Wire {
                breaks: wire.breaks + u64::from(reset),
                ..Wire::SOUND
            };
        });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connect(near: TcpStream, bus: SocketAddr, mut wire: watch::Receiver<Wire>) {
    let Ok(far) = TcpStream::connect(bus).await else {
        return;
    };
    let (near_in, near_out) = near.into_split();
    let (far_in, far_out) = far.into_split();
    let born = wire.borrow().breaks;
    let cut = {
        let mut wire = wire.clone();
        async move {
            let _ = wire.wait_for(|wire| !wire.up || wire.breaks != born).await;
        }
    };
    let there = pass(near_in, far_out, wire.clone(), |wire| wire.to_bus);
    let back = pass(far_in, near_out, wire.clone(), |wire| wire.from_bus);
    wire.mark_unchanged();
    tokio::select! {
        () = cut => {}
        () = there => {}
        () = back => {}
    }
}

async fn pass(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mut wire: watch::Receiver<Wire>,
    open: impl Fn(&Wire) -> bool,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 || wire.wait_for(|wire| open(wire)).await.is_err() {
            return;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
