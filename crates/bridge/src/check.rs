//! `bridge commonground check`: both logins, the streams and the API.

use std::time::Duration;

use async_nats::jetstream;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::api;
use crate::config::Config;
use crate::error::BridgeError;
use crate::nats::{COMMANDS, EVENTS, connect};
use crate::run::gate;

const LIMIT: Duration = Duration::from_secs(10);

/// Tries everything that `run` needs; the first fault, or what was found.
pub async fn check(config: &Config) -> Result<Value, BridgeError> {
    let unreachable = |what: String, why: String| BridgeError::Unreachable { what, why };
    let nats = connect(&config.nats).await?;
    let jetstream = jetstream::new(nats);
    for stream in [COMMANDS, EVENTS] {
        let looked = timeout(LIMIT, jetstream.get_stream(stream)).await;
        let why = match looked {
            Ok(Ok(_)) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        return Err(unreachable(format!("the stream {stream}"), why));
    }
    let http = api::client();
    for project in &config.projects {
        gate(project).await?.close().await;
        // No call has this id: only whether the API answers counts.
        let asked = api::is_answered(&http, project, "countersign-check").await;
        if let Err(api::Away(why)) = asked {
            return Err(unreachable(
                format!("the API of project {}", project.id),
                why,
            ));
        }
    }
    let projects: Vec<&str> = config.projects.iter().map(|of| of.id.as_str()).collect();
    Ok(
        json!({"ok": true, "name": config.name, "streams": [COMMANDS, EVENTS], "projects": projects}),
    )
}
