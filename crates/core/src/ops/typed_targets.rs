//! The text that is typed before a critical call of a tool is approved.
//!
//! Only an operator chooses it: an agent would choose what is typed without a thought.

use countersign_wire::AgentKey;
use serde_json::json;

use super::writer_state::{Tx, WriterState};
use crate::Fault;
use crate::policy::read::is_pointer;
use crate::runtime::App;
use crate::store::{StoreError, tools, typed_targets};

/// Longest pointer, in bytes.
const POINTER_MAX: usize = 256;

/// Keeps the choice of this console's operator.
pub(super) fn choose(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    (agent, tool): (&AgentKey, &str),
    pointer: Option<&str>,
) -> Result<(), StoreError> {
    let operator = writer.identity.human_key().to_string();
    let stamp = (operator.as_str(), batch.now);
    if typed_targets::put(batch.tx, (agent, tool), pointer, stamp)? {
        let detail = json!({ "tool": tool, "pointer": pointer });
        batch.record(operator, "typed_target", agent.to_string(), detail);
    }
    Ok(())
}

impl App {
    /// Chooses the argument that is typed before a critical call of a tool is approved in the window; none is the
    /// tool's name again. Audited.
    ///
    /// # Errors
    /// `ErrorCode::InvalidArgs` unless it is a JSON pointer (RFC 6901) of at most 256 bytes, and for a tool that nobody
    /// has listed; `ErrorCode::ReadOnly` when it cannot be written.
    pub async fn choose_typed_target(
        &self,
        agent: &AgentKey,
        tool: &str,
        pointer: Option<&str>,
    ) -> Result<(), Fault> {
        let is_usable = |pointer: &str| {
            !pointer.is_empty() && pointer.len() <= POINTER_MAX && is_pointer(pointer)
        };
        if pointer.is_some_and(|pointer| !is_usable(pointer)) {
            return Err(Fault::invalid_args(
                "this is not a JSON pointer to an argument; write /name, or /name/inner",
            ));
        }
        let (of, name) = (agent.clone(), tool.to_owned());
        let known = self.reader().direct(move |sqlite| {
            tools::one(sqlite, of.workspace.as_ref(), of.agent.as_ref(), &name)
        });
        if known.await?.is_none() {
            return Err(Fault::invalid_args(format!(
                "{agent} has no tool of this name; read the list of its tools again"
            )));
        }
        let (agent, tool, pointer) = (agent.clone(), tool.to_owned(), pointer.map(str::to_owned));
        self.ask(move |writer, batch| choose(writer, batch, (&agent, &tool), pointer.as_deref()))
            .await
    }
}
