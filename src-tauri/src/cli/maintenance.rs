//! `maintenance`: makes anew what the store derives from history.

use countersign_core::App;
use serde_json::json;

use super::args::Maintenance;
use super::config::Settings;
use super::console::options;
use super::failure::Failure;
use super::output::Output;

/// Runs one of the commands, also beside a running console.
pub(crate) async fn run(
    settings: &Settings,
    out: Output,
    command: Maintenance,
) -> Result<(), Failure> {
    match command {
        Maintenance::Habits => habits(settings, out).await,
    }
}

async fn habits(settings: &Settings, out: Output) -> Result<(), Failure> {
    let app = App::offline(options(settings)?).await?;
    let learned = app.learn_habits().await;
    app.shutdown().await;
    let learned = learned?;
    if out.json {
        let line = json!({ "tools": learned.tools, "calls": learned.calls });
        return Ok(out.json_line(&line)?);
    }
    Ok(out.line(&format!(
        "learned what people decided on {} calls of {} tools",
        learned.calls, learned.tools
    ))?)
}
