//! UUIDs as RFC 9562 writes them: 32 hexadecimal digits and four hyphens.
//!
//! The other forms that the library reads too (braces, `urn:uuid:`, no hyphens) are rejected: other readers do not take
//! them.

use serde::{Deserialize, Deserializer};
use uuid::{Uuid, fmt::Hyphenated};

pub(crate) fn hyphenated<'de, D: Deserializer<'de>>(from: D) -> Result<Uuid, D::Error> {
    Hyphenated::deserialize(from).map(Hyphenated::into_uuid)
}
