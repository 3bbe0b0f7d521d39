//! Bytes to an export request.

use std::io::Read as _;

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;

use super::BODY_MAX;
use super::json;
use super::status::{Reason, Refused};
use super::weight::{check_json, check_protobuf};
use crate::translate::Refusal;

/// An export request as far as it can be read.
#[derive(Default)]
pub(super) struct Body {
    pub(super) request: ExportTraceServiceRequest,
    /// Spans that cannot be read.
    pub(super) refused: usize,
    /// Why the first of them cannot.
    pub(super) why: Option<Refusal>,
}

impl Body {
    pub(super) fn refuse(&mut self, why: Refusal) {
        self.refused += 1;
        self.why.get_or_insert(why);
    }
}

impl From<ExportTraceServiceRequest> for Body {
    fn from(request: ExportTraceServiceRequest) -> Self {
        Self {
            request,
            ..Self::default()
        }
    }
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Protobuf,
    Json,
}

impl Encoding {
    /// Reads `Content-Type`; its parameters say nothing here.
    pub(super) fn of(content_type: Option<&str>) -> Option<Self> {
        let kind = content_type?.split(';').next()?.trim();
        if kind.eq_ignore_ascii_case("application/x-protobuf") {
            Some(Self::Protobuf)
        } else if kind.eq_ignore_ascii_case("application/json") {
            Some(Self::Json)
        } else {
            None
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }

    pub(super) fn read(self, body: &[u8]) -> Result<Body, Refused> {
        match self {
            Self::Protobuf => protobuf(body).map(Body::from),
            Self::Json => {
                check_json(body)?;
                json::read(body).map_err(|error| unreadable("JSON", &error))
            }
        }
    }
}

pub(super) fn protobuf(body: &[u8]) -> Result<ExportTraceServiceRequest, Refused> {
    check_protobuf(body)?;
    ExportTraceServiceRequest::decode(body).map_err(|error| unreadable("protobuf", &error))
}

fn unreadable(form: &str, error: &dyn std::error::Error) -> Refused {
    let message = format!("the body is not an ExportTraceServiceRequest in {form}: {error}");
    Refused::new(Reason::Invalid, message)
}

/// Undoes `Content-Encoding: gzip`, up to [`BODY_MAX`] bytes.
pub(super) fn unzip(body: &[u8]) -> Result<Vec<u8>, Refused> {
    let limit = u64::try_from(BODY_MAX).unwrap_or(u64::MAX);
    let mut plain = Vec::new();
    GzDecoder::new(body)
        .take(limit + 1)
        .read_to_end(&mut plain)
        .map_err(|error| Refused::new(Reason::Invalid, format!("the body is not gzip: {error}")))?;
    if plain.len() > BODY_MAX {
        return Err(too_large());
    }
    Ok(plain)
}

pub(super) fn too_large() -> Refused {
    let message = format!("a request has at most {BODY_MAX} bytes; send smaller batches");
    Refused::new(Reason::TooLarge, message)
}
