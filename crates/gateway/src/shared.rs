//! What every request may need.

use std::collections::HashMap;
use std::sync::Arc;

use countersign_wire::AgentKey;
use tokio::sync::watch;

use crate::desk::Desk;
use crate::origins::Origins;
use crate::tokens::Tokens;

/// The desks of all agents, and what is the same for them.
pub(crate) struct Shared {
    pub(crate) desks: HashMap<AgentKey, Arc<Desk>>,
    pub(crate) tokens: Tokens,
    pub(crate) origins: Origins,
    pub(crate) host: String,
    pub(crate) stop: watch::Receiver<bool>,
}
