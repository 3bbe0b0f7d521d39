//! An earlier deadline (protocol, sections 1 and 6).
//!
//! A deadline is never lengthened: whoever applies it takes the earlier one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};

use crate::{
    Subject, Timestamp,
    heartbeat::check_version,
    json::parse_document,
    rejection::{RejectionCode, WireError},
};

const MAX_BYTES: usize = 4 * 1024;

/// An earlier end of waiting, by the agent's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tighten {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// When the agent stops waiting; its distance from the request's `requested_at` counts.
    pub expires_at: Timestamp,
}

impl Tighten {
    /// The deadline that results: never later than `deadline`, never before `stored_at`.
    ///
    /// `stored_at` is the server's stamp of the request, `requested_at` the
    /// request's own, `deadline` the one in force.
    pub fn deadline(
        &self,
        stored_at: OffsetDateTime,
        requested_at: Timestamp,
        deadline: OffsetDateTime,
    ) -> OffsetDateTime {
        let distance = (self.expires_at.get() - requested_at.get()).max(Duration::ZERO);
        stored_at.saturating_add(distance).min(deadline)
    }
}

/// Reads an earlier deadline.
pub fn parse_tighten(subject: &str, payload: &[u8]) -> Result<Tighten, WireError> {
    let Some(Subject::Tighten(_)) = Subject::parse(subject) else {
        return Err(WireError::new(
            RejectionCode::BadSubject,
            "not the subject of a tighten",
        ));
    };
    let tighten: Tighten = parse_document(payload, MAX_BYTES, &[])?;
    check_version(tighten.v)?;
    Ok(tighten)
}
