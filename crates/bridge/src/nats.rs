//! CommonGround's bus: the login, the durables, what a message holds.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::{Context, Message};
use async_nats::{Client, ConnectErrorKind, ConnectOptions};

use crate::command::Inbound;
use crate::config::{Config, NatsLogin};
use crate::error::BridgeError;

pub(crate) const COMMANDS: &str = "cg_cmd_v1r4";
pub(crate) const EVENTS: &str = "cg_evt_v1r4";

/// Logs in. A lost connection comes back without end; the first one has to work.
pub(crate) async fn connect(login: &NatsLogin) -> Result<Client, BridgeError> {
    let unreadable =
        |what: &str, error: &dyn std::fmt::Display| BridgeError::Login(format!("{what}: {error}"));
    let mut options = ConnectOptions::new();
    if let Some(file) = &login.creds {
        options = ConnectOptions::with_credentials_file(file)
            .await
            .map_err(|error| unreadable("nats_creds", &error))?;
    } else if let Some(file) = &login.nkey {
        let seed =
            std::fs::read_to_string(file).map_err(|error| unreadable("nats_nkey", &error))?;
        options = ConnectOptions::with_nkey(seed.trim().to_owned());
    }
    if let Some(ca) = &login.tls_ca {
        options = options.add_root_certificates(ca.clone()).require_tls(true);
    }
    if let Some((cert, key)) = &login.tls_client {
        options = options.add_client_certificate(cert.clone(), key.clone());
    }
    let options = options
        .name("countersign bridge")
        .connection_timeout(Duration::from_secs(5))
        .request_timeout(Some(Duration::from_secs(10)))
        .max_reconnects(None);
    options
        .connect(&login.url)
        .await
        .map_err(|error| match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                BridgeError::Login(error.to_string())
            }
            _ => BridgeError::Unreachable {
                what: "CommonGround's bus".to_owned(),
                why: error.to_string(),
            },
        })
}

/// The durable of the commands or of the events; made, or brought to this configuration. A missing stream is waited for.
pub(crate) async fn durable(jetstream: &Context, config: &Config, stream: &str) -> PullConsumer {
    let commands = stream == COMMANDS;
    let filters = config.projects.iter().flat_map(|project| {
        let id = &project.id;
        let suffixes: &[&str] = match commands {
            true => &["cmd.tool.approval.*"],
            false => &["evt.agent.*.step", "evt.agent.*.state", "evt.agent.*.task"],
        };
        suffixes
            .iter()
            .map(move |suffix| format!("cg.v1r4.{id}.*.{suffix}"))
    });
    let kind = if commands { "cmd" } else { "evt" };
    let durable = pull::Config {
        durable_name: Some(format!("countersign_{}_{kind}_v1r4", config.name)),
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        ack_wait: config.ack_wait,
        max_deliver: -1,
        filter_subjects: filters.collect(),
        ..pull::Config::default()
    };
    let mut pause = Duration::from_millis(250);
    loop {
        match jetstream
            .create_consumer_on_stream(durable.clone(), stream)
            .await
        {
            Ok(consumer) => return consumer,
            Err(error) => tracing::info!("stream {stream} is not ready: {error}"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(5));
    }
}

/// What the stream delivered; none where it does not say its place in the stream.
pub(crate) fn inbound(message: &Message) -> Option<Inbound> {
    let info = message.info().ok()?;
    let headers = message.headers.iter().flat_map(async_nats::HeaderMap::iter);
    let headers = headers.flat_map(|(name, values)| {
        values
            .iter()
            .map(move |value| (name.to_string(), value.as_str().to_owned()))
    });
    let at_ms = info.published.unix_timestamp_nanos() / 1_000_000;
    Some(Inbound {
        subject: message.subject.to_string(),
        headers: headers.collect(),
        payload: message.payload.clone(),
        stream_seq: info.stream_sequence,
        at_ms: i64::try_from(at_ms).ok()?,
    })
}
