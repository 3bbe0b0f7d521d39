//! The collector that spans are sent to, over gRPC.
//!
//! A header's value is never shown: it may be a secret.

use std::fmt;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use tonic::metadata::{Ascii, MetadataKey, MetadataMap, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// A header that goes with every call, such as an API key.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value, which is never shown.
    pub value: String,
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Header({})", self.name)
    }
}

/// Where to send to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// `http://HOST:PORT`.
    pub endpoint: String,
    /// Sent with every call.
    pub headers: Vec<Header>,
}

/// Why spans were not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollectorError {
    /// The settings cannot be used.
    #[error("{0}")]
    Settings(String),
    /// Not now; the same spans may be taken later.
    #[error("the collector has not taken the spans: {0}")]
    Later(String),
    /// Never: the collector cannot read them.
    #[error("the collector refuses the spans: {0}")]
    Never(String),
}

/// A connection that is made when it is first used, and again when it was lost.
#[derive(Debug, Clone)]
pub struct Collector {
    client: TraceServiceClient<Channel>,
    headers: MetadataMap,
}

impl Collector {
    /// Prepares it; connects to nothing yet. Needs a tokio runtime.
    pub fn new(destination: &Destination) -> Result<Self, CollectorError> {
        let endpoint = Endpoint::from_shared(destination.endpoint.clone()).map_err(|_| {
            CollectorError::Settings(format!(
                "{:?} is not an endpoint; write http://HOST:PORT",
                destination.endpoint
            ))
        })?;
        let channel = endpoint
            .connect_timeout(CONNECT_LIMIT)
            .timeout(CALL_LIMIT)
            .connect_lazy();
        let mut headers = MetadataMap::new();
        for header in &destination.headers {
            let bad = || {
                CollectorError::Settings(format!(
                    "the header {:?} has a name or a value that HTTP does not allow",
                    header.name
                ))
            };
            let name: MetadataKey<Ascii> = header
                .name
                .to_ascii_lowercase()
                .parse()
                .map_err(|_| bad())?;
            let mut value: MetadataValue<Ascii> = header.value.parse().map_err(|_| bad())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(Self {
            client: TraceServiceClient::new(channel),
            headers,
        })
    }

    /// Sends spans; done when the collector has taken them.
    pub async fn send(&self, spans: ExportTraceServiceRequest) -> Result<(), CollectorError> {
        let mut request = Request::new(spans);
        *request.metadata_mut() = self.headers.clone();
        let answer = self.client.clone().export(request).await;
        let answer = answer.map_err(|status| {
            let why = format!("{:?}: {}", status.code(), status.message());
            match status.code() {
                Code::InvalidArgument => CollectorError::Never(why),
                _ => CollectorError::Later(why),
            }
        })?;
        if let Some(partial) = answer.into_inner().partial_success
            && partial.rejected_spans > 0
        {
            // To send them again would change nothing (OTLP, "Partial Success").
            tracing::warn!(
                rejected = partial.rejected_spans,
                "the collector has rejected some of this console's spans"
            );
        }
        Ok(())
    }
}
