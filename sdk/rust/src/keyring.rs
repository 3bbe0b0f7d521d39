//! The trust of a gate, and how it learns of new operators.
//!
//! One reading at a time: whoever meets an unknown key shares it.

use std::sync::{Arc, Mutex, PoisonError};

use countersign_wire::PolicyKey;
use tokio::time::Instant;

use crate::bus::Bus;
use crate::trust::Trust;

const POLICY_STREAM: &str = "KV_CS_POLICY";

pub(crate) struct Keyring {
    trust: Mutex<Arc<Trust>>,
    /// When the last reading began.
    reading: tokio::sync::Mutex<Option<Instant>>,
}

impl Keyring {
    pub(crate) fn new(trust: Trust) -> Self {
        Self {
            trust: Mutex::new(Arc::new(trust)),
            reading: tokio::sync::Mutex::new(None),
        }
    }

    /// The keys in force.
    pub(crate) fn trust(&self) -> Arc<Trust> {
        Arc::clone(&self.trust.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the list of operators and takes it over where it may be.
    pub(crate) async fn refresh(&self, bus: &Bus) {
        let needed = Instant::now();
        let mut last = self.reading.lock().await;
        if last.is_some_and(|began| began > needed) {
            return;
        }
        let began = Instant::now();
        let subject = PolicyKey::Operators.subject();
        match bus.direct_get(POLICY_STREAM, &subject).await {
            Ok(Some(value)) => {
                let mut held = self.trust.lock().unwrap_or_else(PoisonError::into_inner);
                let next = held.take_over(&value.payload, value.sequence, value.stored_at);
                if let Some(next) = next {
                    tracing::info!(revision = value.sequence, "took over the list of operators");
                    *held = Arc::new(next);
                }
            }
            Ok(None) => {}
            Err(fault) => tracing::debug!("cannot read the list of operators: {fault:?}"),
        }
        *last = Some(began);
    }
}
