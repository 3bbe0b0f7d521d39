//! What of a declared setup key an operator relies on.
//!
//! Refuses nothing. Pure.

use countersign_wire::Sha256Digest;
use serde_json::{Value, json};

use super::setup::Field;

impl Field {
    /// Digest of what decides on its value where nobody chooses one: type, default and elements.
    #[must_use]
    pub fn digest(&self) -> Sha256Digest {
        let declared = self.declared();
        let canonical = serde_json_canonicalizer::to_vec(&declared);
        Sha256Digest::of_bytes(&canonical.unwrap_or_else(|_| declared.to_string().into_bytes()))
    }

    fn declared(&self) -> Value {
        let elements: Vec<Value> = self.elements.iter().map(Self::declared).collect();
        json!({
            "name": self.name, "type": self.kind.as_str(), "default": self.default, "elements": elements,
        })
    }
}
