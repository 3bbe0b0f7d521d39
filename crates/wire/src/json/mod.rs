//! JSON as the protocol takes it: strictly.
//!
//! What different readers understand differently (duplicate keys, large integers, lone surrogates) is rejected before
//! any value is built from it, and so is a document of another shape.

mod checked;
mod exact;
mod fields;
mod kept;
mod number;
mod readable;
mod scan;
mod text;

pub(crate) use checked::has_private_key;
pub use checked::{CheckedValue, certain_fields, certain_value, json_value};
pub use exact::{read_json, read_json_value};
pub(crate) use fields::{Fields, parse_document};
pub use kept::KeptJson;
pub use readable::{readable_request, request_fields};
pub(crate) use scan::scan;

/// The deepest nesting allowed, the root being 1 (protocol, section 2).
pub(crate) const MAX_DEPTH: usize = 64;

/// 2^53 − 1, the largest integer that every JSON reader holds exactly.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
