//! SHA-256 digests over canonical JSON and payload bytes (protocol, section 4).
//!
//! A value needs a certain canonical form: integers that a double cannot hold are rejected, and nesting deeper than the
//! protocol allows.

use std::{fmt, str::FromStr};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::json::{MAX_DEPTH, MAX_SAFE_INTEGER};

/// Why a value has no digest, or a text is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// Not `sha256:` and 64 lowercase hexadecimal digits.
    #[error("a digest is sha256: and 64 lowercase hexadecimal digits")]
    Malformed,
    /// An integer that not every JSON reader holds exactly.
    #[error("an integer beyond 2^53-1 has no certain canonical form; send it as text")]
    IntegerOutOfRange,
    /// Deeper than a request may be.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The canonical form could not be written.
    #[error("no canonical form")]
    NotCanonical,
}

/// A SHA-256 digest, written `sha256:` and 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Digest([u8; 32]);

impl Sha256Digest {
    /// The digest of these bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// 64 lowercase hexadecimal digits.
    pub fn hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Sha256Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = text
            .strip_prefix("sha256:")
            .ok_or(DigestError::Malformed)?
            .as_bytes();
        let nibble = |digit: u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            _ => Err(DigestError::Malformed),
        };
        let (pairs, []) = hex.as_chunks::<2>() else {
            return Err(DigestError::Malformed);
        };
        if pairs.len() != 32 {
            return Err(DigestError::Malformed);
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = nibble(*high)? << 4 | nibble(*low)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Sha256Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl schemars::JsonSchema for Sha256Digest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sha256Digest".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "SHA-256 in lowercase hexadecimal",
            "type": "string",
            "pattern": "^sha256:[0-9a-f]{64}$",
        })
    }
}

crate::text_newtype::ts_as_string!(Sha256Digest);

/// The RFC 8785 canonical JSON of a value.
pub fn canonical_json(value: &Value) -> Result<String, DigestError> {
    check(value, 1)?;
    serde_json_canonicalizer::to_string(value).map_err(|_| DigestError::NotCanonical)
}

/// The digest of arguments: SHA-256 of their canonical JSON (protocol, section 4).
pub fn args_digest(args: &Value) -> Result<Sha256Digest, DigestError> {
    Ok(Sha256Digest::of_bytes(canonical_json(args)?.as_bytes()))
}

/// The digest of a request: SHA-256 of its payload as stored (protocol, section 4).
pub fn request_digest(payload: &[u8]) -> Sha256Digest {
    Sha256Digest::of_bytes(payload)
}

fn check(value: &Value, depth: usize) -> Result<(), DigestError> {
    match value {
        Value::Number(number) => {
            let exact = match (number.as_i64(), number.as_u64()) {
                (Some(integer), _) => integer.unsigned_abs() <= MAX_SAFE_INTEGER,
                (None, Some(integer)) => integer <= MAX_SAFE_INTEGER,
                (None, None) => true,
            };
            exact.then_some(()).ok_or(DigestError::IntegerOutOfRange)
        }
        Value::Array(_) | Value::Object(_) if depth > MAX_DEPTH => Err(DigestError::TooDeep),
        Value::Array(items) => items.iter().try_for_each(|item| check(item, depth + 1)),
        Value::Object(fields) => fields.values().try_for_each(|item| check(item, depth + 1)),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}
