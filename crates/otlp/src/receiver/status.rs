//! Refusals as OTLP words them: `google.rpc.Status`, with `RetryInfo` where trying again helps.

use std::time::Duration;

use prost::Message;
use tonic::Code;

/// Why an export request is refused whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) reason: Reason,
    pub(super) message: String,
}

/// The kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The sender has to change something.
    Invalid,
    TooLarge,
    /// Nothing is taken at this path.
    NotFound,
    MediaType,
    Unauthenticated,
    /// A web page asks.
    Origin,
    /// Nothing was taken; there is too much at the moment.
    Busy,
    /// Nothing can be stored at the moment.
    Unavailable,
}

impl Refused {
    pub(super) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

impl Reason {
    /// The status of an HTTP answer.
    pub(super) fn http(self) -> u16 {
        match self {
            Self::Invalid => 400,
            Self::Unauthenticated => 401,
            Self::Origin => 403,
            Self::NotFound => 404,
            Self::TooLarge => 413,
            Self::MediaType => 415,
            Self::Busy => 429,
            Self::Unavailable => 503,
        }
    }

    pub(super) fn grpc(self) -> Code {
        match self {
            Self::Invalid | Self::TooLarge | Self::MediaType => Code::InvalidArgument,
            Self::Unauthenticated => Code::Unauthenticated,
            Self::Origin => Code::PermissionDenied,
            Self::NotFound => Code::NotFound,
            Self::Busy => Code::ResourceExhausted,
            Self::Unavailable => Code::Unavailable,
        }
    }

    /// After which time a sender may try again; none when that would not help.
    pub(super) fn retry_after(self) -> Option<Duration> {
        match self {
            Self::Busy => Some(Duration::from_secs(1)),
            Self::Unavailable => Some(Duration::from_secs(5)),
            _ => None,
        }
    }
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
    #[prost(message, repeated, tag = "3")]
    pub(super) details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Any {
    #[prost(string, tag = "1")]
    pub(super) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

/// `google.rpc.RetryInfo`, its delay in whole seconds.
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    delay: Option<Seconds>,
}

/// `google.protobuf.Duration`.
#[derive(Clone, PartialEq, Message)]
struct Seconds {
    #[prost(int64, tag = "1")]
    seconds: i64,
}

impl From<&Refused> for RpcStatus {
    fn from(refused: &Refused) -> Self {
        let retry = refused.reason.retry_after().map(|after| RetryInfo {
            delay: Some(Seconds {
                seconds: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            }),
        });
        let details = retry.map(|retry| Any {
            type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
            value: retry.encode_to_vec(),
        });
        Self {
            code: refused.reason.grpc().into(),
            message: refused.message.clone(),
            details: details.into_iter().collect(),
        }
    }
}

impl From<Refused> for tonic::Status {
    fn from(refused: Refused) -> Self {
        let details = RpcStatus::from(&refused).encode_to_vec();
        Self::with_details(refused.reason.grpc(), refused.message, details.into())
    }
}
