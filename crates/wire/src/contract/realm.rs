//! The schemas of the realm log: the payload of an entry, and that of an ask.

use serde_json::{Value, json};

const SCHEMA: &str = "https://json-schema.org/draft/2020-12/schema";
const PUBLIC_KEY: &str = "^U[A-Z2-7]{55}$";
const DIGEST: &str = "^sha256:[0-9a-f]{64}$";

/// The payload of an entry: how the operators that it names are from now on.
pub(super) fn entry() -> Value {
    json!({
        "$schema": SCHEMA,
        "title": "RealmEntry",
        "description": "An entry of the realm log: how the operators that it names are from now on.",
        "type": "object",
        "required": ["v", "n", "prev", "at", "by", "policy"],
        "properties": {
            "v": {"const": 1},
            "n": {"type": "integer", "minimum": 1, "description": "The number of the entry before it, and 1"},
            "prev": {"type": ["string", "null"], "pattern": DIGEST,
                "description": "The digest of the entry before it; null in entry 1"},
            "at": {"type": "string", "minLength": 1, "description": "The signer's clock, for display"},
            "by": {"$ref": "#/$defs/public_key", "description": "The signer; equals the envelope's key"},
            "policy": {"type": ["object", "null"], "required": ["epoch", "seq"],
                "description": "How much of CS_POLICY the signer's console had read",
                "properties": {
                    "epoch": {"type": "string", "minLength": 1},
                    "seq": {"type": "integer", "minimum": 0},
                }},
            "operators": {"type": "array", "maxItems": 100, "items": {"$ref": "#/$defs/record"}},
            "realm": {"type": "object", "description": "What is absent stays", "properties": {
                "acceptance": {"type": "boolean", "description": "Newcomers wait for a person"},
                "recovery": {"type": "object", "required": ["key", "proof"], "properties": {
                    "key": {"$ref": "#/$defs/public_key"}, "proof": {"type": "string"},
                }},
            }},
            "by_itself": {"description": "No person accepted; for display"},
        },
        "$defs": {
            "public_key": public_key(), "limits": limits(), "key": key(), "record": record(),
        },
    })
}

/// The payload of an ask: a key that wants to be an operator's.
pub(super) fn ask() -> Value {
    json!({
        "$schema": SCHEMA,
        "title": "Ask",
        "description": "A key asks to be let in; the value of `ask.{key}` in CS_POLICY.",
        "type": "object",
        "required": ["v", "at", "name", "operator", "key"],
        "properties": {
            "v": {"const": 1},
            "at": {"type": "string", "minLength": 1, "description": "The asking console's clock"},
            "name": {"type": "string", "minLength": 1, "description": "For display"},
            "operator": {"$ref": "#/$defs/public_key",
                "description": "The own key for a new person, or the operator whose further key it wants to be"},
            "key": {"$ref": "#/$defs/key"},
        },
        "$defs": {"public_key": public_key(), "limits": limits(), "key": key()},
    })
}

fn public_key() -> Value {
    json!({"type": "string", "pattern": PUBLIC_KEY, "description": "A public nkey of a user"})
}

fn record() -> Value {
    json!({
        "type": "object",
        "required": ["id", "keys"],
        "description": "An operator as a whole: what it does not name ends. With empty keys the operator ends",
        "properties": {
            "id": {"$ref": "#/$defs/public_key"},
            "keys": {"type": "array", "maxItems": 16, "items": {"$ref": "#/$defs/key"}},
            "name": {"type": "string", "description": "For display; required with keys"},
            "admin": {"type": "boolean", "description": "Never true together with limits"},
            "limits": {"$ref": "#/$defs/limits"},
        },
    })
}

fn key() -> Value {
    json!({
        "type": "object",
        "required": ["key", "role", "proof"],
        "properties": {
            "key": {"type": "string", "minLength": 1},
            "role": {"type": "string", "description": "human, auto or device; another counts for nothing"},
            "proof": {"type": "string", "description": "The key's consent to be this operator's"},
            "device": {"type": "string", "minLength": 1, "description": "Where it lives"},
            "limits": {"$ref": "#/$defs/limits"},
        },
        "allOf": [
            {"if": {"properties": {"role": {"enum": ["human", "auto"]}}},
             "then": {"properties": {"key": {"pattern": PUBLIC_KEY}}}},
            {"if": {"properties": {"role": {"const": "device"}}},
             "then": {"required": ["limits"], "properties": {
                "key": {"pattern": "^W[A-Z2-7]{52}$"},
                "limits": {"type": "object", "required": ["max_risk"],
                    "properties": {"max_risk": {"type": "string"}}},
             }}},
        ],
    })
}

fn limits() -> Value {
    json!({
        "type": ["object", "null"],
        "description": "A member that is not known: nothing but deny and terminate",
        "properties": {
            "workspaces": {"type": ["array", "null"],
                "items": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,62}$"},
                "description": "null: all"},
            "max_risk": {"type": ["string", "null"],
                "description": "null: any; a word that is not known counts as safe"},
        },
    })
}
