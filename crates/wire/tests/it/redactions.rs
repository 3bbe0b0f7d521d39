//! What looks like a secret.

use countersign_wire::{Redacted, is_secret_key, is_secret_value};

#[test]
fn keys_that_name_secrets() {
    for key in [
        "password",
        "api_key",
        "apiKey",
        "API-KEY",
        "X-Auth-Token",
        "clientSecret",
        "authorization",
        "aws_secret_access_key",
        "private_key",
        "user.password",
        "refreshToken",
    ] {
        assert!(is_secret_key(key), "{key}");
    }
    for key in [
        "",
        "keyboard",
        "author",
        "max_tokens",
        "tokenCount",
        "input_tokens_used",
        "passenger",
        "key",
        "primary_key",
        "secretary",
        "invoice_id",
        "pinned",
    ] {
        assert!(!is_secret_key(key), "{key}");
    }
}

#[test]
fn values_that_look_like_tokens() {
    for value in [
        "sk-abcdefghijklmnop",
        "ghp_0123456789abcdef",
        "Bearer abcdefghijklmnop",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi",
        "postgres://u:p4ss@db.example/x",
        "-----BEGIN PRIVATE KEY-----\nMII",
    ] {
        assert!(is_secret_value(value), "{value}");
    }
    for value in [
        "",
        "sk-",
        "hello",
        "https://example.com/a:b@c",
        "https://user@example.com/",
        "Basic income is a topic",
    ] {
        assert!(!is_secret_value(value), "{value}");
    }
}

#[test]
fn hidden_values_show_length_and_a_keyed_digest() {
    let hidden = Redacted::of("pässword", &[7; 32]);
    assert_eq!((hidden.length, hidden.keyed_digest.len()), (8, 8));
    assert_eq!(hidden, Redacted::of("pässword", &[7; 32]));
    assert_ne!(
        hidden.keyed_digest,
        Redacted::of("pässword", &[8; 32]).keyed_digest
    );
    assert_ne!(
        hidden.keyed_digest,
        Redacted::of("passw0rd", &[7; 32]).keyed_digest
    );
}
