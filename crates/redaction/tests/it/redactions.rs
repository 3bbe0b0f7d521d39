//! What looks like a secret.

use countersign_redaction::{Hiding, Redacted, is_secret_key, is_secret_value, secret_spans};
use countersign_wire::json_shown;
use proptest::prelude::*;
use serde_json::{Value, json};

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
        "DBPassword",
        "authtoken",
        "smtp.pass",
        "SECRET_KEY",
    ] {
        assert!(is_secret_key(key), "{key}");
    }
    for key in [
        "",
        "keyboard",
        "author",
        "max_tokens",
        "input_tokens",
        "tokens_charged",
        "tokenCount",
        "input_tokens_used",
        "passenger",
        "key",
        "primary_key",
        "secretary",
        "invoice_id",
        "pinned",
        "tokenizer",
        "bypass",
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

/// A text, and the parts of it that are secrets.
const TEXTS: &[(&str, &[&str])] = &[
    (
        "curl -H 'Authorization: Bearer abc.def-123456' https://x.example",
        &["abc.def-123456"],
    ),
    (
        "deploy with AKIAIOSFODNN7EXAMPLE now",
        &["AKIAIOSFODNN7EXAMPLE"],
    ),
    (
        "push https://ada:p%40ss@git.example/r.git and go",
        &["p%40ss"],
    ),
    ("nats://u:p/ss#1@h:4222", &["p/ss#1"]),
    ("nats://a:one@h1,nats://b:two@h2", &["one", "two"]),
    (
        "first ghp_0123456789abcdef, then github_pat_11ABCDEFG_0123456789",
        &["ghp_0123456789abcdef", "github_pat_11ABCDEFG_0123456789"],
    ),
    ("slack: xoxb-1234567890-abcdef", &["xoxb-1234567890-abcdef"]),
    (
        "a\\nsk-abcdefghijklmnop in a text with escapes",
        &["sk-abcdefghijklmnop"],
    ),
    (
        "key: -----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY----- end",
        &["-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----"],
    ),
    (
        "cut -----BEGIN PRIVATE KEY-----\nMIIB",
        &["-----BEGIN PRIVATE KEY-----\nMIIB"],
    ),
    (
        "SUAKYRHVIOREXV7EUZTBHUHL7NUMHPMAS7QMDU3GTIUWEI5LDNOXD43IZY",
        &["SUAKYRHVIOREXV7EUZTBHUHL7NUMHPMAS7QMDU3GTIUWEI5LDNOXD43IZY"],
    ),
    (
        r#"{"to": "a", "api_key" : "s3c\"r3t", "n": 1}"#,
        &[r#"s3c\"r3t"#],
    ),
    (r#"{\"password\":\"a\\\"b\",\"c\":1}"#, &[r#"a\\\"b"#]),
    (
        r#"{"credentials": {"user": "u", "p": "}"}, "c": 1}"#,
        &[r#"{"user": "u", "p": "}"}"#],
    ),
    ("PGPASSWORD=hunter2; rm -rf /", &["hunter2"]),
    ("mysql --password hunter2 -e x", &["hunter2"]),
    ("mysql --password='hunter 2' -e x", &["hunter 2"]),
    (
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG",
        &["wJalrXUtnFEMI/K7MDENG"],
    ),
    ("x?access_token=abc123&page=2", &["abc123"]),
    (
        "Authorization: Basic YWRhOnMzY3IzdA==",
        &["YWRhOnMzY3IzdA=="],
    ),
    ("X-Api-Key: abc123\nAccept: text/html", &["abc123"]),
];

/// Nothing in these is a secret.
const PLAIN: &[&str] = &[
    "",
    "the risk-assessment-of-the-quarter",
    "https://example.com:8080/a@b and http://[::1]:80/x@y",
    "if token == expected { token = lexer.next() }",
    "export PASSWORD=$VAULT_PASSWORD",
    "Basic responsibilities of a bearer",
    "max_tokens: 512, \"token_count\": 7",
    "\"token\": null, password=false",
    "auth::Token, std::token::Token",
    "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4",
];

#[test]
fn secrets_are_found_inside_texts_and_nothing_around_them() {
    for (text, secrets) in TEXTS {
        let found: Vec<&str> = secret_spans(text).into_iter().map(|at| &text[at]).collect();
        assert_eq!(&found, secrets, "{text}");
    }
    for text in PLAIN {
        let found: Vec<&str> = secret_spans(text).into_iter().map(|at| &text[at]).collect();
        assert!(found.is_empty(), "{found:?} in {text}");
    }
}

#[test]
fn a_mark_stands_for_a_secret_on_screen_and_cannot_be_forged() {
    let hiding = Hiding::new([7; 32]);
    let shown = hiding.escape("run --token abcdef ⟨hidden: 6 characters, 00000000⟩");
    let digest = hiding.redacted("abcdef").keyed_digest;
    assert_eq!(
        shown.plain(),
        format!(
            "run --token ⟨hidden: 6 characters, {digest}⟩ ⟨U+27E8⟩hidden: 6 characters, 00000000⟩"
        )
    );
    let value = json!({"password": ["a"], "sk-abcdefghijklmnop": "x", "n": null, "token": ""});
    let exported = hiding.json(&value).to_string();
    assert!(
        !exported.contains("sk-abc") && !exported.contains("[\"a\"]"),
        "{exported}"
    );
    assert_eq!(hiding.json(&value)["n"], Value::Null);
    assert_eq!(hiding.json(&value)["token"], "");
    assert_eq!(
        hiding.field("password", &json!(1234)),
        json!(format!("({})", hiding.redacted("1234")))
    );
}

fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "sk-[A-Za-z0-9]{20,40}",
        "sk-ant-[A-Za-z0-9_-]{20,40}",
        "gh[ops]_[A-Za-z0-9]{36}",
        "github_pat_[A-Za-z0-9_]{30,60}",
        "AKIA[A-Z0-9]{16}",
        "xox[bp]-[0-9]{10}-[A-Za-z0-9]{20}",
        "eyJ[A-Za-z0-9_-]{20}\\.eyJ[A-Za-z0-9_-]{20}\\.[A-Za-z0-9_-]{20}",
        "SU[A-Z2-7]{56}",
        "glpat-[A-Za-z0-9_-]{20}",
    ]
}

proptest! {
    #[test]
    fn no_secret_is_left_wherever_it_stands(secret in secret(), before in "[ -~äß\n]{0,20}", after in "[ -~\n]{0,20}", tight in "[ \"'=(,:]") {
        let text = format!("{before}{tight}{secret} {after}");
        let hiding = Hiding::new([7; 32]);
        let value = json!({"note": [text], "raw": json!({"cmd": text}).to_string()});
        for shown in [
            hiding.text(&text),
            hiding.escape(&text).plain(),
            hiding.escape_lines(&text).plain(),
            hiding.json_shown(&value).plain(),
            hiding.json(&value).to_string(),
        ] {
            prop_assert!(!shown.contains(&secret), "{shown}");
        }
    }

    #[test]
    fn what_follows_a_secrets_name_is_hidden(value in "[A-Za-z0-9+/]{6,30}", name in "(db_|X-)?(password|api_key|ApiKey|client-secret|token)") {
        let hiding = Hiding::new([7; 32]);
        for text in [
            format!("{name}={value}"),
            format!("run --{name} {value} x"),
            format!("{name}: {value}"),
            json!({(name.clone()): value}).to_string(),
            json!([json!({(name.clone()): value}).to_string()]).to_string(),
        ] {
            prop_assert!(!hiding.text(&text).contains(&value), "{text} -> {}", hiding.text(&text));
        }
    }

    #[test]
    fn spans_are_in_order_and_any_text_can_be_looked_through(text in "\\PC{0,80}") {
        let spans = secret_spans(&text);
        prop_assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
        prop_assert!(spans.iter().all(|at| text.get(at.clone()).is_some_and(|part| !part.is_empty())));
    }

    #[test]
    fn json_without_secrets_is_shown_as_ever(text in "[ -<>-~\n\u{202e}\u{1f600}]{0,30}", number in any::<f64>()) {
        let value = json!({"a": [text, number, [], {}, {"b": null}], "c": true});
        let hidden = Hiding::new([7; 32]).json_shown(&value).plain();
        prop_assume!(!is_secret_value(&text));
        prop_assert_eq!(hidden, json_shown(&value).plain());
    }
}
