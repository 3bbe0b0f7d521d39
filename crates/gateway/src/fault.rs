//! Why a request over HTTP is not served: a status, a stable code and a sentence.

use axum::http::StatusCode;

/// None of these lets a call run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) reason: Option<&'static str>,
    pub(crate) message: String,
    /// Seconds.
    pub(crate) retry_after: Option<u64>,
}

macro_rules! faults {
    ($($name:ident => $status:ident $code:literal $message:literal $(after $seconds:literal)?,)+) => {
        $(pub(crate) fn $name() -> Fault {
            Fault {
                status: StatusCode::$status,
                code: $code,
                reason: None,
                message: $message.to_owned(),
                retry_after: None $(.or(Some($seconds)))?,
            }
        })+
    };
}

faults! {
    key_required => BAD_REQUEST "key_required"
        "send one Idempotency-Key of 1 to 255 visible ASCII characters",
    callback_refused => BAD_REQUEST "callback_refused"
        "callback_url is not below an origin that this gateway was started with (--callback)",
    unauthorized => UNAUTHORIZED "unauthorized"
        "send a token of `countersign gateway token` as Authorization: Bearer TOKEN",
    origin_refused => FORBIDDEN "origin_refused" "requests of web pages are not served",
    not_found => NOT_FOUND "not_found" "nothing is here under this name",
    method_not_allowed => METHOD_NOT_ALLOWED "method_not_allowed" "this path has other methods",
    not_answered => CONFLICT "not_answered" "nobody has answered yet; wait with GET and ?wait=",
    already_claimed => CONFLICT "already_claimed" "the answer was claimed before; do not run the call",
    not_claimed => CONFLICT "not_claimed" "no claim of this ask let a call run",
    already_reported => CONFLICT "already_reported" "another stage was reported before",
    too_large => PAYLOAD_TOO_LARGE "too_large" "a body has at most 512 KiB",
    wrong_host => MISDIRECTED_REQUEST "wrong_host"
        "this Host is not one of the gateway; name it with --host when the gateway is started",
    key_conflict => UNPROCESSABLE_ENTITY "key_conflict"
        "this Idempotency-Key belongs to another call; use a new key for each call",
    too_many_waits => TOO_MANY_REQUESTS "too_many_waits"
        "64 requests of this token are waiting; ask for a list instead" after 1,
    too_many_waiting => TOO_MANY_REQUESTS "too_many_waiting"
        "10,000 asks of this agent are waiting; withdraw some or wait for answers" after 10,
    bus_unreachable => SERVICE_UNAVAILABLE "bus_unreachable"
        "the bus cannot be reached; is the console running?" after 5,
    login_refused => SERVICE_UNAVAILABLE "login_refused"
        "the bus refuses the agent's login; enroll it again" after 60,
    journal_failed => SERVICE_UNAVAILABLE "journal_failed"
        "the gateway's folder cannot be written; check its disk and its permissions" after 5,
    stopping => SERVICE_UNAVAILABLE "stopping" "the gateway is stopping" after 5,
}

/// A body that cannot be used, or a parameter.
pub(crate) fn invalid(reason: &'static str, message: impl Into<String>) -> Fault {
    Fault {
        status: StatusCode::BAD_REQUEST,
        code: "invalid_request",
        reason: Some(reason),
        message: message.into(),
        retry_after: None,
    }
}

/// A value that its field cannot have.
pub(crate) fn bad_value(message: impl Into<String>) -> Fault {
    invalid("bad_value", message)
}
