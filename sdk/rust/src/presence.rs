//! Heartbeats, and a fresh look at the operators after each reconnect.
//!
//! It ends with its gate, and does not keep it alive.

use std::sync::Arc;

use bytes::Bytes;
use countersign_wire::{Heartbeat, alive_subject};
use tokio::time::{MissedTickBehavior, interval};

use crate::inner::Inner;
use crate::introduction::Introduction;

pub(crate) fn spawn(inner: &Arc<Inner>, introduction: &Introduction) {
    let subject = alive_subject(&inner.key);
    let sign = Heartbeat {
        v: 1,
        instance_id: inner.info.instance_id.clone(),
        one_shot: introduction.one_shot.is_some().then_some(true),
    };
    let payload = Bytes::from(serde_json::to_vec(&sign).unwrap_or_default());
    let mut ticks = interval(inner.timing.alive_every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let bus = inner.bus.clone();
    let mut reconnects = bus.reconnects();
    let owner = Arc::downgrade(inner);
    let work = async move {
        loop {
            tokio::select! {
                _ = ticks.tick() => bus.send(subject.clone(), payload.clone()).await,
                changed = reconnects.changed() => {
                    let (Ok(()), Some(inner)) = (changed, owner.upgrade()) else { return };
                    // What it has read it asks for from then on.
                    let _ = inner.looks.refresh().await;
                }
            }
        }
    };
    tokio::spawn(inner.closing.clone().run_until_cancelled_owned(work));
}
