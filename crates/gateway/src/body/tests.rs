#![allow(clippy::unwrap_used)]
use super::*;

fn asked(body: &str) -> Result<Ask, Fault> {
    let agent = "acme/bot".parse().unwrap();
    let origins = Origins::read(&["https://n8n.example".to_owned()]).unwrap();
    let asker = Asker {
        agent: &agent,
        realm: Uuid::nil(),
        key: Sha256Digest::of_bytes(b"key"),
        token: Sha256Digest::of_bytes(b"token"),
        origins: &origins,
        host: "builder",
    };
    read_ask(body.as_bytes(), &asker)
}

fn request(body: &str) -> Value {
    serde_json::from_str(&asked(body).unwrap().request.unwrap()).unwrap()
}

#[test]
fn a_call_is_asked_with_what_is_usual_filled_in() {
    let request = request(r#"{"tool": "deploy", "args": {"to": "production"}}"#);
    let digest = args_digest(&json!({"to": "production"})).unwrap();
    for (at, value) in [
        ("/v", json!(1)),
        ("/kind", json!("tool_call")),
        ("/workspace", json!("acme")),
        (
            "/agent",
            json!({"name": "bot", "framework": "http-gateway", "framework_version": env!("CARGO_PKG_VERSION")}),
        ),
        ("/tool", json!({"name": "deploy"})),
        ("/args_digest", json!(digest)),
        ("/risk", json!("high")),
        ("/allowed_verdicts", json!(["approve", "deny"])),
        ("/verifies", json!(["webauthn"])),
        (
            "/native",
            json!({"gateway": {"host": "builder", "version": env!("CARGO_PKG_VERSION")}}),
        ),
    ] {
        assert_eq!(request.pointer(at), Some(&value), "{at}");
    }
    assert!(request.get("timeout").is_none() && request.get("reports").is_none());
}

#[test]
fn questions_forms_and_whole_objects_go_as_they_are() {
    let asked_text = request(r#"{"kind": "question", "question": "Which?"}"#);
    assert_eq!(
        asked_text["question"],
        json!({"text": "Which?", "allow_freeform": true})
    );
    assert_eq!(asked_text["allowed_verdicts"], json!(["respond", "deny"]));
    let form = request(
        r#"{"kind": "form", "title": "Trip", "response_schema": {"type": "object"}, "risk": "low"}"#,
    );
    assert_eq!(
        (&form["response_schema"], &form["risk"]),
        (&json!({"type": "object"}), &json!("low"))
    );
    let whole = request(
        r#"{"tool": {"name": "pay invoice", "namespace": "erp", "effects": "write"}, "args": null,
            "metadata": {"big": 123456789012345678901234567890}, "native": {"a": [1]},
            "history": [{"role": "user", "content": "hi"}], "approvals_required": 2}"#,
    );
    assert_eq!(whole["tool"]["name"], "pay-invoice-674e58b8");
    assert_eq!(whole["tool"]["namespace"], "erp");
    assert_eq!(whole["native"]["tool_name"], "pay invoice");
    assert_eq!(whole["native"]["a"], json!([1]));
    assert!(whole["args"].is_null());
    let huge = r#"{"tool": "a", "args": {}, "metadata": {"n": 1e400}}"#;
    assert!(asked(huge).unwrap().request.unwrap().contains("1e400"));
}

#[test]
fn what_is_wrong_with_a_body_has_the_protocols_code() {
    for (body, reason) in [
        ("", "not_json"),
        ("{", "not_json"),
        ("[]", "wrong_type"),
        (r#"{"tool": "a", "args": {}, "tool": "b"}"#, "duplicate_key"),
        (
            r#"{"tool": "a", "args": {"n": 9007199254740993}}"#,
            "integer_out_of_range",
        ),
        (
            r#"{"tool": "a", "args": {"n": 1e400}}"#,
            "non_finite_number",
        ),
        (
            r#"{"tool": "a", "args": {"n": "\ud800"}}"#,
            "lone_surrogate",
        ),
        (r#"{"args": {}}"#, "missing_field"),
        (r#"{"tool": "a"}"#, "missing_field"),
        (r#"{"kind": "question"}"#, "missing_field"),
        (r#"{"kind": "form"}"#, "missing_field"),
        (r#"{"kind": "x", "tool": "a", "args": {}}"#, "unknown_kind"),
        (r#"{"tool": 7, "args": {}}"#, "wrong_type"),
        (r#"{"tool": "a", "args": {}, "reason": 7}"#, "wrong_type"),
        (r#"{"tool": "a", "args": {}, "native": 7}"#, "wrong_type"),
        (
            r#"{"tool": "a", "args": {}, "approvals_required": 6}"#,
            "wrong_type",
        ),
        (
            r#"{"tool": "a", "args": {}, "args_digest": "sha256:00"}"#,
            "digest_mismatch",
        ),
        (r#"{"tool": "a", "args": {}, "x": 1}"#, "unknown_field"),
        (
            r#"{"tool": "a", "args": {}, "request_id": "x"}"#,
            "unknown_field",
        ),
        (
            r#"{"tool": "a", "args": {}, "agent": {"name": "other"}}"#,
            "unknown_field",
        ),
        (
            r#"{"tool": {"name": "a", "x": 1}, "args": {}}"#,
            "unknown_field",
        ),
        (
            r#"{"tool": "a", "args": {}, "history": [{"role": "user", "x": 1}]}"#,
            "unknown_field",
        ),
        (r#"{"tool": "a", "args": {}, "timeout": 0}"#, "bad_value"),
        (
            r#"{"tool": "a", "args": {}, "timeout": 2592001}"#,
            "bad_value",
        ),
        (
            r#"{"tool": "a", "args": {}, "timeout": "300"}"#,
            "bad_value",
        ),
        (
            r#"{"tool": "a", "args": {}, "reports": "yes"}"#,
            "bad_value",
        ),
        (
            r#"{"tool": "a", "args": {}, "native": {"gateway": 1}}"#,
            "bad_value",
        ),
    ] {
        let fault = asked(body).err().unwrap();
        assert_eq!(
            (fault.code, fault.reason),
            ("invalid_request", Some(reason)),
            "{body}"
        );
    }
    let wrong = format!(
        r#"{{"tool": "a", "args": {{}}, "args_digest": "sha256:{}"}}"#,
        "0".repeat(64)
    );
    assert_eq!(asked(&wrong).err().unwrap().reason, Some("digest_mismatch"));
    let elsewhere = r#"{"tool": "a", "args": {}, "callback_url": "https://evil.example/"}"#;
    assert_eq!(asked(elsewhere).err().unwrap().code, "callback_refused");
}

#[test]
fn the_same_call_has_the_same_digest_whatever_else_the_body_says() {
    let about = |body: &str| asked(body).unwrap().about;
    let one = about(r#"{"tool": "a", "args": {"x": 1, "y": 2}}"#);
    for same in [
        r#"{"tool": "a", "args": {"y": 2.0, "x": 1}, "risk": "low", "timeout": 5}"#,
        r#"{"tool": {"name": "a", "description": "d"}, "args": {"x": 1, "y": 2}, "reason": "r"}"#,
    ] {
        assert_eq!(about(same), one, "{same}");
    }
    for other in [
        r#"{"tool": "b", "args": {"x": 1, "y": 2}}"#,
        r#"{"tool": "a", "args": {"x": 1}}"#,
        r#"{"tool": {"name": "a", "namespace": "n"}, "args": {"x": 1, "y": 2}}"#,
        r#"{"kind": "question", "question": "a"}"#,
    ] {
        assert_ne!(about(other), one, "{other}");
    }
}

#[test]
fn the_description_lists_every_member_and_no_other() {
    let schema = schemars::schema_for!(AskBody);
    let mut described: Vec<_> = schema
        .get("properties")
        .unwrap()
        .as_object()
        .unwrap()
        .keys()
        .collect();
    let mut known: Vec<_> = PASSED_ON.iter().chain(&READ).copied().collect();
    described.sort();
    known.sort_unstable();
    assert_eq!(described, known);
    assert_eq!(schema.get("additionalProperties"), Some(&json!(false)));
}

#[test]
fn small_bodies_are_as_strict_and_may_be_absent() {
    assert!(read::<ClaimBody>(b"").is_ok() && read::<WithdrawBody>(b"{}").is_ok());
    let reason = |fault: Fault| fault.reason.unwrap();
    assert_eq!(
        reason(read::<ClaimBody>(b"{\"x\": 1}").unwrap_err()),
        "unknown_field"
    );
    for (body, expected) in [
        ("{}", "missing_field"),
        (r#"{"stage": "received"}"#, "bad_value"),
        (r#"{"stage": 7}"#, "wrong_type"),
        (
            r#"{"stage": "failed", "stage": "executed"}"#,
            "duplicate_key",
        ),
        (r#"{"stage": "failed", "x": 1}"#, "unknown_field"),
    ] {
        assert_eq!(
            reason(read::<ReceiptBody>(body.as_bytes()).err().unwrap()),
            expected,
            "{body}"
        );
    }
    let read = |body: &str| read::<ReceiptBody>(body.as_bytes()).unwrap().report();
    let digest = args_digest(&json!({})).unwrap();
    assert_eq!(
        read(r#"{"stage": "executed", "executed_args": {}}"#)
            .unwrap()
            .digest,
        Some(digest)
    );
    let other = r#"{"stage": "executed", "executed_args": null, "executed_args_digest": "DIGEST"}"#;
    let fault = read(&other.replace("DIGEST", &digest.to_string())).unwrap_err();
    assert_eq!(fault.reason, Some("digest_mismatch"));
}
