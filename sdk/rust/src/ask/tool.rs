//! What an ask says of its tool.

use countersign_wire::{Effects, Tool, ToolOrigin};
use serde_json::Value;

use crate::Ask;

impl Ask {
    /// What the tool does to the world.
    #[must_use]
    pub fn effects(self, effects: Effects) -> Self {
        self.set_tool(|tool| tool.effects = Some(effects.as_str().to_owned()))
    }

    /// Where the tool comes from.
    #[must_use]
    pub fn origin(self, origin: ToolOrigin) -> Self {
        self.set_tool(|tool| tool.origin = Some(origin.as_str().to_owned()))
    }

    /// What the tool does, in the agent's words.
    #[must_use]
    pub fn describe(self, description: impl Into<String>) -> Self {
        let description = description.into();
        self.set_tool(|tool| tool.description = Some(description))
    }

    /// Where the tool's name is unique.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        self.set_tool(|tool| tool.namespace = Some(namespace))
    }

    /// The JSON Schema of the arguments; the console offers it when they are edited.
    #[must_use]
    pub fn args_schema(self, schema: Value) -> Self {
        self.set_tool(|tool| tool.args_schema = Some(schema))
    }

    fn set_tool(self, change: impl FnOnce(&mut Tool)) -> Self {
        self.set(|draft| draft.tool.iter_mut().for_each(change_once(change)))
    }
}

fn change_once<T>(change: impl FnOnce(&mut T)) -> impl FnMut(&mut T) {
    let mut change = Some(change);
    move |value| {
        if let Some(change) = change.take() {
            change(value);
        }
    }
}
