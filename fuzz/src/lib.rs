//! What must hold for every input. The fuzz targets and a plain test of the wire crate call the same functions.
//!
//! Refuses to look away: a target asserts what a reader promises, not only that it does not panic.

use std::collections::BTreeSet;

use countersign_wire::{
    ApprovalRequest, ConsoleId, Context, DecisionCheck, DecisionFault, DecisionVerdict,
    DigestError, Effects, ParsedRequest, PublicKey, RejectionCode, RequestFacts, RequestKey, Risk,
    Segment, SignedEnvelope, Subject, Verdict, VerdictSet, args_digest, canonical_json,
    decision_subject, escape_bytes, escape_lines, is_hostile, json_ascii_safe, parse_decision,
    parse_heartbeat, parse_hello, parse_presence, parse_receipt, parse_request, parse_span,
    parse_tighten, parse_withdraw,
    realm::{Entry, REALM_SUBJECT, Realm, SigningKey, Word, passkey_holds},
    request_digest, request_subject, sign, text_ascii_safe, verify_decision, warnings,
};
use nkeys::{KeyPair, KeyPairType};
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

const SUBJECT: &str =
    "countersign.v1.request.acme.billing-bot.019aa000-0000-7000-8000-000000000001";
const REALM: Uuid = Uuid::from_u128(0x6f1e_2d3c_4b5a_4978_8695_a4b3_c2d1_e0f0);

/// An input is a payload, or a subject, a line feed and a payload.
fn split(data: &[u8]) -> (Option<&str>, &[u8]) {
    if data.starts_with(b"countersign.")
        && let Some(at) = data.iter().position(|&byte| byte == b'\n')
        && let Ok(subject) = std::str::from_utf8(&data[..at])
    {
        return (Some(subject), &data[at + 1..]);
    }
    (None, data)
}

/// The subject that the payload's own names make, so that inputs get past the comparison of both.
fn subject_of(payload: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(payload).ok()?;
    let name = |at: &str| value.pointer(at)?.as_str();
    let key = format!(
        "{}/{}/{}",
        name("/workspace")?,
        name("/agent/name")?,
        name("/request_id")?
    );
    Some(request_subject(&key.parse::<RequestKey>().ok()?))
}

fn read_request(data: &[u8]) -> Option<ParsedRequest> {
    let (subject, payload) = split(data);
    let own = subject_of(payload);
    let subject = subject.or(own.as_deref()).unwrap_or(SUBJECT);
    let read = parse_request(subject, payload);
    let again = parse_request(subject, payload);
    match (read, again) {
        (Ok(read), Ok(again)) => {
            assert!(read == again);
            assert_eq!(
                Subject::parse(subject),
                Some(Subject::Request(read.key.clone()))
            );
            Some(read)
        }
        (Err(first), Err(second)) => {
            assert_eq!(first.code, second.code);
            let json = std::str::from_utf8(payload).is_ok_and(|text| {
                serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
            });
            // What is too large is not looked into.
            if first.code != RejectionCode::TooLarge {
                assert_eq!(first.code == RejectionCode::NotJson, !json);
            }
            None
        }
        _ => panic!("read once and rejected once"),
    }
}

/// A request is read the same way each time, with the digests that an independent reading gives.
pub fn request(data: &[u8]) {
    let Some(read) = read_request(data) else {
        return;
    };
    let (_, payload) = split(data);
    assert_eq!(read.request_digest, request_digest(payload));
    assert_eq!(read.key.request_id, read.request.request_id);
    let value: Value = serde_json::from_slice(payload).expect("a request is JSON");
    assert_eq!(read.request.args.as_ref(), value.get("args"));
    if let Some(args) = value.get("args")
        && let Some(digest) = read.request.args_digest
    {
        assert_eq!(args_digest(args), Ok(digest));
        assert_eq!(read.args_digest, Some(digest));
    }
    assert!(read.request.deadline(OffsetDateTime::UNIX_EPOCH) > OffsetDateTime::UNIX_EPOCH);
    // What is written again is the same request, with its stamps cut to milliseconds; a lifetime of less than
    // one is gone then.
    let written = serde_json::to_vec(&read.request).expect("a request can be written");
    match parse_request(&request_subject(&read.key), &written) {
        Ok(again) => {
            let twice = serde_json::to_vec(&again.request).expect("a request can be written");
            assert_eq!(twice, written);
        }
        Err(rejection) => assert_eq!(rejection.code, RejectionCode::BadLifetime),
    }
}

fn pair(byte: u8) -> KeyPair {
    KeyPair::new_from_raw(KeyPairType::User, [byte; 32]).expect("32 bytes are a key")
}

/// The log of a realm whose founder has the key 1, with the console key 10.
fn founded() -> Realm {
    let founder = pair(1);
    let key = PublicKey::of(&founder).expect("a user key");
    let keys = [(1, "human"), (10, "auto")].map(|(byte, role)| {
        SigningKey::of_pair(&pair(byte), &REALM, &key, role, None).expect("a key signs")
    });
    let mut payload = Entry::frame(1, None, "2026-11-25T12:00:00.000Z", &key);
    payload["operators"] = json!([{"id": key, "name": "Ada", "admin": true, "keys": keys}]);
    let entry = Entry::seal(&founder, &REALM, &payload).expect("a key signs");
    let root = Entry::read(&entry).expect("an entry").digest;
    let mut log = Realm::new(REALM, root);
    assert_eq!(log.apply(1, 1, &entry), Word::Ok);
    log
}

/// Signed as it is: whatever the bytes say, only what the protocol lists lets a call run.
pub fn decision(data: &[u8]) {
    let (named, payload) = split(data);
    if let Some(subject) = named {
        let _ = parse_decision(subject, payload);
    }
    let Ok(read) = parse_decision("countersign.v1.decision.a.b.c", payload) else {
        return;
    };
    let written = serde_json::to_vec(&read).expect("a decision can be written");
    assert!(parse_decision("countersign.v1.decision.a.b.c", &written).is_ok());

    let human = read.origin == countersign_wire::Origin::Operator;
    let signer = pair(if human { 1 } else { 10 });
    let key = PublicKey::of(&signer).expect("a user key");
    let facts = RequestFacts {
        key: RequestKey {
            workspace: "acme".parse().expect("a name"),
            agent: "billing-bot".parse().expect("a name"),
            request_id: read.request_id.clone(),
        },
        request_digest: read.request_digest,
        args_digest: read.args_digest,
        deadline: OffsetDateTime::UNIX_EPOCH + time::Duration::MINUTE,
        allowed: Verdict::ALL.iter().copied().collect::<VerdictSet>(),
        approvals_required: 1,
        risk: Risk::Critical,
        effects: Effects::Irreversible,
        webauthn: true,
    };
    let subject = decision_subject(&facts.key);
    let sig = sign(&signer, Context::Decision, &REALM, &subject, payload)
        .expect("a key signs")
        .to_string();
    let log = founded();
    let judged = |stored_at, sig: Option<&str>| {
        verify_decision(&DecisionCheck {
            subject: &subject,
            payload,
            key_header: Some(key.as_str()),
            sig_header: sig,
            stored_at,
            request: &facts,
            standing: log.at(None),
        })
    };
    assert!(judged(OffsetDateTime::UNIX_EPOCH, None).is_err());
    let in_time = judged(OffsetDateTime::UNIX_EPOCH, Some(&sig));
    let late = judged(facts.deadline, Some(&sig));
    let Ok(sound) = in_time else { return };
    let runs = matches!(
        sound.decision.verdict,
        DecisionVerdict::Approve | DecisionVerdict::Modify
    );
    if runs {
        let origins = ["operator", "rule", "setup_key"];
        let origin = serde_json::to_value(sound.decision.origin).expect("a word");
        assert!(origins.contains(&origin.as_str().expect("a word")));
        assert_eq!(late.expect_err("late"), DecisionFault::Late);
        if let Some(edited) = &sound.decision.edited_args {
            assert_eq!(args_digest(edited).ok(), sound.decision.args_digest);
        }
    }
    // The same bytes answer nothing else.
    let mut other = facts.clone();
    other.request_digest = request_digest(b"other");
    if other.request_digest != facts.request_digest {
        let check = DecisionCheck {
            subject: &subject,
            payload,
            key_header: Some(key.as_str()),
            sig_header: Some(&sig),
            stored_at: OffsetDateTime::UNIX_EPOCH,
            request: &other,
            standing: log.at(None),
        };
        assert!(verify_decision(&check).is_err());
    }
}

/// Spans and every other small message: read or refused, and what is read can be written and read again.
pub fn event(data: &[u8]) {
    let (named, payload) = split(data);
    let agent = "acme.billing-bot";
    let event = format!("countersign.v1.event.{agent}");
    if let Some(subject) = named {
        if let Some(parsed) = Subject::parse(subject) {
            assert_eq!(parsed.to_string(), subject);
        }
        let _ = (
            parse_span(subject, payload),
            parse_hello(subject, payload),
            parse_receipt(subject, payload),
            parse_tighten(subject, payload),
        );
    }
    if let Ok(span) = parse_span(&event, payload) {
        let written = serde_json::to_vec(&span).expect("a span can be written");
        // Written again it is the same, with its stamps cut to milliseconds.
        let again = parse_span(&event, &written).expect("what was written can be read");
        let twice = serde_json::to_vec(&again).expect("a span can be written");
        assert_eq!(twice, written);
    }
    let _ = parse_hello(&format!("countersign.v1.hello.{agent}"), payload);
    let _ = parse_receipt(&format!("countersign.v1.receipt.{agent}.r"), payload);
    let _ = parse_tighten(&format!("countersign.v1.tighten.{agent}.r"), payload);
    let _ = (parse_heartbeat(payload), parse_withdraw(payload));
    if let Ok(console) = "desk-1".parse::<ConsoleId>() {
        let _ = parse_presence(&console, payload);
    }
    if let Ok(envelope) = serde_json::from_slice::<SignedEnvelope>(payload) {
        // Nobody who fuzzes has the key.
        let _ = serde_json::to_vec(&envelope).expect("an envelope can be written");
    }
    let _ = serde_json::from_slice::<ApprovalRequest>(payload);
}

/// Every object's keys are in the order of their UTF-16 code units (RFC 8785, section 3.2.3).
fn ordered(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(ordered),
        Value::Object(fields) => {
            let keys: Vec<Vec<u16>> = fields
                .keys()
                .map(|key| key.encode_utf16().collect())
                .collect();
            keys.is_sorted() && fields.values().all(ordered)
        }
        _ => true,
    }
}

/// The digest of a value is that of its canonical form, whichever way the value came: through our reader,
/// through serde_json alone, or through its own canonical form.
pub fn digest(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let ours = match canonical_json(&value) {
        Ok(ours) => ours,
        Err(DigestError::IntegerOutOfRange | DigestError::TooDeep) => {
            assert!(args_digest(&value).is_err());
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let theirs = serde_json_canonicalizer::to_string(&value).expect("a canonical form");
    assert_eq!(ours, theirs);
    assert_eq!(args_digest(&value), Ok(request_digest(ours.as_bytes())));
    let read: Value = serde_json::from_str(&ours).expect("canonical JSON is JSON");
    assert!(ordered(&read), "{ours}");
    match canonical_json(&read) {
        Ok(again) => assert_eq!(again, ours),
        // A double from 2^53 to 1e21 is written without point and exponent.
        Err(error) => assert_eq!(error, DigestError::IntegerOutOfRange),
    }
    through_a_request(data, &value, &ours);
}

/// The same bytes as the arguments of a request: what the scan lets through has the same digest.
fn through_a_request(data: &[u8], value: &Value, canonical: &str) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let digest = request_digest(canonical.as_bytes());
    let payload = format!(
        r#"{{"v":1,"request_id":"r","kind":"tool_call","workspace":"a","agent":{{"name":"b"}},"tool":{{"name":"t"}},"args":{text},"args_digest":"{digest}","risk":"low","allowed_verdicts":[],"requested_at":"2026-11-21T12:00:00Z"}}"#
    );
    match parse_request("countersign.v1.request.a.b.r", payload.as_bytes()) {
        Ok(read) => {
            assert_eq!(read.args_digest, Some(digest));
            assert_eq!(read.request.args.as_ref(), Some(value));
        }
        Err(rejection) => assert_ne!(rejection.code, RejectionCode::DigestMismatch, "{text}"),
    }
}

/// What is shown has nothing hostile left and nothing lost, on screen and on a terminal.
pub fn shown(data: &[u8]) {
    let bytes = escape_bytes(data);
    let harmless = |c: char| matches!(c, '⟨' | '\n') || !is_hostile(c);
    assert!(bytes.plain().chars().all(harmless));
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let lines = escape_lines(text);
    assert_eq!(lines.original().as_deref(), Some(text));
    for segment in &lines.0 {
        if let Segment::Text { text } = segment {
            assert!(text.chars().all(harmless));
        }
    }
    let blank = |c: char| matches!(c, '\t' | '\r');
    assert!(
        text_ascii_safe(text)
            .chars()
            .all(|c| blank(c) || harmless(c))
    );
    let _: BTreeSet<_> = warnings(text)
        .into_iter()
        .map(|found| format!("{found:?}"))
        .collect();
    let value = Value::String(text.to_owned());
    let safe = json_ascii_safe(&value);
    assert_eq!(serde_json::from_str::<Value>(&safe).ok(), Some(value));
}

/// A message of a slot, the payload of an entry, or what an entry changes: whatever it is, the log stays whole.
pub fn realm_entry(data: &[u8]) {
    assert!(Entry::read(data) == Entry::read(data));
    let ada = KeyPair::new_from_raw(KeyPairType::User, [1; 32]).expect("a key");
    let digest = |payload: &[u8]| request_digest(payload);
    let sealed = SignedEnvelope::seal(&ada, Context::Realm, &REALM, REALM_SUBJECT, data)
        .and_then(|envelope| envelope.to_bytes())
        .expect("a key signs");
    for message in [data, &sealed] {
        let mut fresh = Realm::new(REALM, digest(data));
        let word = fresh.apply(1, 1, message);
        assert_eq!(fresh.chain.len(), usize::from(word == Word::Ok));
    }
    let by = PublicKey::of(&ada).expect("a key");
    let consent = |role: &str| {
        let payload = format!("{by}\n{role}");
        sign(
            &ada,
            Context::Key,
            &REALM,
            REALM_SUBJECT,
            payload.as_bytes(),
        )
        .expect("a key signs")
    };
    let mut founding = Entry::frame(1, None, "x", &by);
    founding["operators"] = serde_json::json!([{
        "id": by, "name": "Ada", "admin": true,
        "keys": [{"key": by, "role": "human", "proof": consent("human")}],
    }]);
    let founding = Entry::seal(&ada, &REALM, &founding).expect("an entry");
    let root = Entry::read(&founding).expect("an entry").digest;
    let mut realm = Realm::new(REALM, root);
    assert_eq!(realm.apply(1, 1, &founding), Word::Ok);
    let Some(Value::Object(change)) = countersign_wire::json_value(data) else {
        return;
    };
    let mut next = Entry::frame(2, Some(root), "x", &by);
    for name in ["operators", "realm", "later"] {
        if let Some(value) = change.get(name) {
            next[name] = value.clone();
        }
    }
    let next = Entry::seal(&ada, &REALM, &next).expect("an entry");
    let before = realm.clone();
    let word = realm.apply(2, 2, &next);
    if let Some(entry) = Entry::read(&next).filter(|_| word != Word::Unreadable) {
        assert_eq!(before.judge(&entry), word);
    }
    let linked = word >= Word::BadRecord;
    assert_eq!(realm.chain.len(), if linked { 2 } else { 1 });
    assert!(realm.operators.values().any(|record| record.admin));
    let same = realm.operators.len() == before.operators.len() && realm.recovery == before.recovery;
    assert!(word == Word::Ok || same && realm.acceptance == before.acceptance);
    assert!(!linked || realm.apply(3, 3, &next) == Word::NotNext);
}

/// A record with a device and what it signed: it holds for these bytes or for none.
pub fn passkey(data: &[u8]) {
    let Some(signed) = countersign_wire::json_value(data) else {
        return;
    };
    let text = |name: &str| signed[name].as_str().unwrap_or_default();
    let Some(record) = signed["record"].as_object() else {
        return;
    };
    let holds = |operator: &str, payload: &[u8]| {
        let place = (Context::Decision, &REALM, text("subject"));
        passkey_holds(record, operator, place, payload, text("sig"))
    };
    if holds(text("operator"), text("payload").as_bytes()) {
        assert!(!holds(text("operator"), b"another payload"));
        assert!(!holds("another operator", text("payload").as_bytes()));
    }
}
