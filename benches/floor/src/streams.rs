//! The two write-once streams with the settings of `docs/protocol` (section 1).

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::{Config, DiscardPolicy, Republish, StorageType};

/// What agents ask.
pub const REQUESTS: &str = "CS_REQUESTS";
/// What was decided.
pub const DECISIONS: &str = "CS_DECISIONS";

/// Makes both.
pub async fn create(context: &Context) -> anyhow::Result<()> {
    let write_once = Config {
        storage: StorageType::File,
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        max_bytes: -1,
        max_messages: -1,
        max_consumers: -1,
        num_replicas: 1,
        ..Config::default()
    };
    context
        .create_stream(Config {
            name: REQUESTS.into(),
            subjects: subjects(&["request", "withdraw", "tighten"]),
            max_age: Duration::from_secs(60 * 24 * 60 * 60),
            max_bytes: 4 * 1024 * 1024 * 1024,
            ..write_once.clone()
        })
        .await?;
    context
        .create_stream(Config {
            name: DECISIONS.into(),
            subjects: subjects(&["decision", "vote"]),
            deny_delete: true,
            deny_purge: true,
            allow_direct: true,
            republish: Some(Republish {
                source: "countersign.v1.decision.>".into(),
                destination: "countersign.v1.decided.>".into(),
                headers_only: false,
            }),
            ..write_once
        })
        .await?;
    Ok(())
}

fn subjects(words: &[&str]) -> Vec<String> {
    words
        .iter()
        .map(|word| format!("countersign.v1.{word}.>"))
        .collect()
}
