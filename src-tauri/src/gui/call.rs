//! The single entry: dispatches the declared commands.

use countersign_view::with_ipc_commands;
use countersign_view::*;
use countersign_wire::ErrorCode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tauri::State;
use tauri::ipc::Response;

use super::commands;
use super::desk::Desk;
use countersign_view::window::refuse;

/// Runs a command of the contract.
#[tauri::command]
pub(crate) async fn call(
    desk: State<'_, Desk>,
    name: CommandName,
    args: Value,
) -> Result<Response, IpcError> {
    dispatch(&desk, name, args).await.map(Response::new)
}

macro_rules! dispatcher {
    ($( $(#[$doc:meta])* $name:ident ( $args:ty ) -> $result:ty ),* $(,)?) => {
        /// A command without a function of its name and types does not compile.
        async fn dispatch(desk: &Desk, name: CommandName, args: Value) -> Result<String, IpcError> {
            match name {
                $( CommandName::$name => {
                    let args: $args = arguments(args)?;
                    let result: $result = commands::$name(desk, args).await?;
                    answer(&result)
                } )*
            }
        }
    };
}
with_ipc_commands!(dispatcher);

fn arguments<T: DeserializeOwned>(args: Value) -> Result<T, IpcError> {
    serde_json::from_value(args).map_err(|error| {
        refuse(
            ErrorCode::Usage,
            &format!(
                "the page sent invalid arguments: {error}; close the window and open it again"
            ),
        )
    })
}

fn answer<T: Serialize>(result: &T) -> Result<String, IpcError> {
    serde_json::to_string(result).map_err(|error| {
        refuse(
            ErrorCode::Failed,
            &format!(
                "the answer could not be written: {error}; use the command line, and report it"
            ),
        )
    })
}

#[cfg(test)]
mod tests;
