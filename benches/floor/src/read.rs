//! A stream from its beginning.

use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use bytes::Bytes;
use futures::{Stream, StreamExt};

/// A message of a stream.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// Sequence in the stream.
    pub seq: i64,
    /// The server's stamp, ms.
    pub stamp_ms: i64,
    /// Subject.
    pub subject: String,
    /// Payload.
    pub payload: Bytes,
}

/// Reads a stream with a consumer that acknowledges nothing, as the product's do.
pub async fn from_the_beginning(
    context: &Context,
    stream: &str,
) -> anyhow::Result<impl Stream<Item = anyhow::Result<Arrival>> + use<>> {
    let config = pull::Config {
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: 1 },
        ack_policy: AckPolicy::None,
        memory_storage: true,
        ..pull::Config::default()
    };
    let consumer = context.create_consumer_on_stream(config, stream).await?;
    let messages = consumer
        .stream()
        .max_messages_per_batch(1_000)
        .messages()
        .await?;
    Ok(messages.map(|message| {
        let message = message?;
        let info = message.info().map_err(|error| anyhow::anyhow!("{error}"))?;
        Ok(Arrival {
            seq: i64::try_from(info.stream_sequence)?,
            stamp_ms: i64::try_from(info.published.unix_timestamp_nanos() / 1_000_000)?,
            subject: message.subject.to_string(),
            payload: message.payload.clone(),
        })
    }))
}
