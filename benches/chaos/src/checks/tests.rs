#![allow(clippy::unwrap_used)]
//! A sound round, and one change at a time that each check must find.

mod spared;

use std::time::Duration;

use countersign_wire::{
    Context, PublicKey, RequestKey, Sha256Digest, Signer, VoteAttachment, args_digest,
    decision_subject,
    realm::{Realm, SigningKey},
    sign, vote_subject,
};
use nkeys::KeyPair;
use serde_json::{Value, json};
use time::macros::datetime;

use super::all;
use crate::facts::{AgentJournal, Braking, ConsoleFacts, Facts, Stored, Streams};
use crate::journal::{Event, Line};
use crate::settle::Settled;
use crate::store::{ConsoleRows, DecisionRow, RequestRow};

const NAME: &str = "acme/bot/r1";
const ID: &str = "019aa000-0001-7000-8000-000000000001";
const UNDER_PANIC_OR_PAUSE: &str =
    "nothing was approved automatically under panic, a pause or a stop";
const REALM: &str = "019aa000-0000-4000-8000-000000000001";

fn stored(payload: &Value, second: i64) -> Stored {
    Stored {
        payload: serde_json::to_vec(payload).unwrap(),
        key: None,
        sig: None,
        stamp: datetime!(2026-11-21 12:00:00 UTC) + time::Duration::seconds(second),
        seq: 1,
    }
}

fn decided(human: &KeyPair, request: &Stored, verdict: &str, second: i64) -> Stored {
    let key: RequestKey = NAME.parse().unwrap();
    let mut decision = stored(
        &json!({
            "v": 1, "decision_id": ID, "request_id": "r1",
            "request_digest": Sha256Digest::of_bytes(&request.payload).to_string(),
            "verdict": verdict, "args_digest": args_digest(&json!({})).unwrap().to_string(),
            "origin": "operator", "decided_by": {"name": "Ada", "key": human.public_key()},
            "decided_at": "2026-11-21T12:00:01.000Z",
        }),
        second,
    );
    let (subject, realm) = (decision_subject(&key), REALM.parse().unwrap());
    let sig = sign(
        human,
        Context::Decision,
        &realm,
        &subject,
        &decision.payload,
    )
    .unwrap();
    decision.key = Some(human.public_key());
    decision.sig = Some(sig.as_str().to_owned());
    decision
}

/// A log by which these keys, and no others, may decide.
fn log_of(keys: &[(&KeyPair, &str)]) -> Realm {
    let realm = REALM.parse().unwrap();
    let keys = keys.iter().map(|(pair, role)| {
        let operator = PublicKey::of(pair).unwrap();
        let record = SigningKey::of_pair(pair, &realm, &operator, role, None).unwrap();
        SigningKey::read(&record).unwrap()
    });
    Realm::of_anybody(realm, keys.collect::<Vec<_>>())
}

fn line(at: i64, what: Event) -> Line {
    Line { at, what }
}

fn console(name: &str, request: &Stored, decision: &Stored) -> ConsoleFacts {
    let ms =
        |at: time::OffsetDateTime| i64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap();
    let mut rows = ConsoleRows::default();
    let row = RequestRow {
        raw: request.payload.clone(),
        state: "decided".to_owned(),
        verdict: Some("approve".to_owned()),
        deadline_at: ms(request.stamp) + 60_000,
    };
    rows.requests.insert(NAME.to_owned(), row);
    let row = DecisionRow {
        payload: decision.payload.clone(),
        key: decision.key.clone(),
        sig: decision.sig.clone(),
        effective: Some("approve".to_owned()),
        fault: None,
        stored_at: ms(decision.stamp),
    };
    rows.decisions.insert(NAME.to_owned(), row);
    ConsoleFacts {
        name: name.to_owned(),
        rows,
        audit: Ok(json!({"ok": true})),
    }
}

fn sound(human: &KeyPair) -> Facts {
    let digest = args_digest(&json!({})).unwrap().to_string();
    let request = stored(
        &json!({
            "v": 1, "kind": "tool_call", "request_id": "r1", "workspace": "acme",
            "agent": {"name": "bot"}, "tool": {"name": "send_mail"}, "args": {},
            "args_digest": digest, "risk": "low", "allowed_verdicts": ["approve"],
            "requested_at": "2026-11-21T12:00:00.000Z", "expires_at": "2026-11-21T12:01:00.000Z",
        }),
        0,
    );
    let decision = decided(human, &request, "approve", 1);
    let consoles = ["one", "two"].map(|name| console(name, &request, &decision));
    let key = || NAME.to_owned();
    let lines = vec![
        line(
            0,
            Event::Asked {
                key: key(),
                limit_ms: 60_000,
            },
        ),
        line(
            1_000,
            Event::Answered {
                key: key(),
                verdict: "approve".to_owned(),
                allowed: true,
                decision_id: Some(ID.to_owned()),
                waited_ms: 1_000,
            },
        ),
        line(
            1_001,
            Event::Ran {
                key: key(),
                args_digest: digest,
                decision_id: Some(ID.to_owned()),
            },
        ),
        line(2_000, Event::Ended),
    ];
    let mut streams = Streams::default();
    streams.requests.insert(key(), request);
    streams.decisions.insert(key(), decision);
    Facts {
        settled: Settled {
            took: Duration::ZERO,
            not: Vec::new(),
        },
        streams,
        consoles: consoles.into(),
        agents: vec![AgentJournal {
            name: "agent".to_owned(),
            killed: false,
            lines,
        }],
        operators: vec![line(
            900,
            Event::Verdict {
                key: key(),
                verdict: "approve".to_owned(),
                outcome: "stored".to_owned(),
                decision_id: Some(ID.to_owned()),
                by_command: false,
            },
        )],
        log: log_of(&[(human, "human")]),
        odd_ends: Vec::new(),
        console_restarts: 0,
    }
}

/// An agent that wanted its answer 500 ms after it asked says so so many seconds after that.
fn tightened(facts: &mut Facts, second: i64) {
    let earlier = json!({"v": 1, "expires_at": "2026-11-21T12:00:00.500Z"});
    let name = NAME.to_owned();
    facts
        .streams
        .tightens
        .insert(name, stored(&earlier, second));
}

/// The consoles' rows have the deadline that the agent wanted.
fn shortened(facts: &mut Facts, second: i64) {
    tightened(facts, second);
    for console in &mut facts.consoles {
        for row in console.rows.requests.values_mut() {
            row.deadline_at -= 59_500;
        }
    }
}

/// The same round with a call that two operators must agree to, and their votes.
fn of_two(facts: &mut Facts, human: &KeyPair) {
    let key: RequestKey = NAME.parse().unwrap();
    let realm = REALM.parse().unwrap();
    let other = KeyPair::new_user();
    facts.log = log_of(&[(human, "human"), (&other, "human")]);
    let mut request = facts.streams.requests[NAME].clone();
    let mut body: Value = serde_json::from_slice(&request.payload).unwrap();
    body["approvals_required"] = json!(2);
    request.payload = serde_json::to_vec(&body).unwrap();
    let mut attached = Vec::new();
    for voter in [human, &other] {
        let public: Signer = voter.public_key().parse().unwrap();
        let vote = stored(
            &json!({
                "v": 1, "vote_id": ID, "verdict": "approve",
                "request_digest": Sha256Digest::of_bytes(&request.payload).to_string(),
                "args_digest": args_digest(&json!({})).unwrap().to_string(),
                "decided_by": {"name": "Ada", "key": public}, "decided_at": "2026-11-21T12:00:01.000Z",
            }),
            1,
        );
        let subject = vote_subject(&key, &public);
        let sig = sign(voter, Context::Vote, &realm, &subject, &vote.payload).unwrap();
        attached.push(VoteAttachment::new(
            public.clone(),
            subject,
            &vote.payload,
            sig,
        ));
        let place = (NAME.to_owned(), public.to_string());
        facts.streams.votes.insert(place, vote);
    }
    let mut decision = decided(human, &request, "approve", 1);
    let mut body: Value = serde_json::from_slice(&decision.payload).unwrap();
    body["votes"] = json!(attached);
    decision.payload = serde_json::to_vec(&body).unwrap();
    decision.seq = 3;
    let subject = decision_subject(&key);
    let sig = sign(
        human,
        Context::Decision,
        &realm,
        &subject,
        &decision.payload,
    );
    decision.sig = Some(sig.unwrap().as_str().to_owned());
    for console in &mut facts.consoles {
        console.rows = self::console("", &request, &decision).rows;
        for (place, vote) in &facts.streams.votes {
            let votes = &mut console.rows.votes;
            votes.insert(place.clone(), vote.payload.clone());
        }
    }
    facts.streams.requests.insert(NAME.to_owned(), request);
    facts.streams.decisions.insert(NAME.to_owned(), decision);
}

/// The same round with a rule that approved after a second; it was stored in this one.
fn by_a_rule(facts: &mut Facts, second: i64) {
    by_itself(facts, second, "rule", ("look-ups", 1));
}

/// The same of whatever approves without a person.
fn by_itself(facts: &mut Facts, second: i64, origin: &str, (id, version): (&str, u64)) {
    let key: RequestKey = NAME.parse().unwrap();
    let realm = REALM.parse().unwrap();
    let auto = KeyPair::new_user();
    facts.log = log_of(&[(&auto, "auto")]);
    let mut decision = facts.streams.decisions[NAME].clone();
    let mut body: Value = serde_json::from_slice(&decision.payload).unwrap();
    body["origin"] = json!(origin);
    body["rule"] = json!({"id": id, "version": version, "name": id});
    body["decided_by"]["key"] = json!(auto.public_key());
    decision.payload = serde_json::to_vec(&body).unwrap();
    let subject = decision_subject(&key);
    let sig = sign(
        &auto,
        Context::Decision,
        &realm,
        &subject,
        &decision.payload,
    );
    decision.sig = Some(sig.unwrap().as_str().to_owned());
    decision.key = Some(auto.public_key());
    decision.stamp = datetime!(2026-11-21 12:00:00 UTC) + time::Duration::seconds(second);
    let request = facts.streams.requests[NAME].clone();
    for known in &mut facts.consoles {
        known.rows = self::console("", &request, &decision).rows;
        audited(known, "decision");
    }
    audited(&mut facts.consoles[0], "decide");
    facts.streams.decisions.insert(NAME.to_owned(), decision);
    facts.operators.clear();
}

fn audited(console: &mut ConsoleFacts, action: &str) {
    let entry = (action.to_owned(), NAME.to_owned(), ID.to_owned());
    console.rows.audited.insert(entry);
}

fn at(second: i64) -> time::OffsetDateTime {
    datetime!(2026-11-21 12:00:00 UTC) + time::Duration::seconds(second)
}

/// Panic, or a pause of this agent.
fn control(facts: &mut Facts, second: i64, agent: Option<&str>, on: bool) {
    let at = at(second);
    let agent = agent.map(str::to_owned);
    facts.streams.brakings.push(Braking { at, agent, on });
}

fn broken(facts: &Facts) -> Vec<&'static str> {
    let checks = all(facts);
    let broken = checks.iter().filter(|check| !check.breaches.is_empty());
    broken.map(|check| check.name).collect()
}

type Change = fn(&mut Facts, &KeyPair);

/// What goes wrong, and a promise that must be found broken by it.
const CHANGES: [(&str, Change); 22] = [
    ("everything works again in time", |facts, _| {
        facts.odd_ends.push("a console crashed".to_owned());
    }),
    (
        "requests on the bus = requests in every console",
        |facts, _| {
            facts.consoles[1].rows.requests.clear();
        },
    ),
    (
        "decisions on the bus = decisions in every console",
        |facts, _| {
            facts.consoles[0].rows.decisions.clear();
        },
    ),
    ("consoles agree with each other", |facts, _| {
        facts.consoles[1]
            .rows
            .requests
            .values_mut()
            .for_each(|row| row.state = "expired".to_owned());
    }),
    // Both consoles and the agent took a late approval for an approval.
    (
        "no approval counts after its deadline, by the server's stamps",
        |facts, human| {
            let request = facts.streams.requests[NAME].clone();
            facts
                .streams
                .decisions
                .insert(NAME.to_owned(), decided(human, &request, "approve", 60));
        },
    ),
    // The agent had asked for an answer before it came.
    (
        "no approval counts after its deadline, by the server's stamps",
        |facts, _| {
            shortened(facts, 0);
        },
    ),
    // It said so after the answer had come.
    (
        "no approval counts after its deadline, by the server's stamps",
        |facts, _| {
            shortened(facts, 5);
        },
    ),
    ("no tool ran without an approval", |facts, human| {
        let request = facts.streams.requests[NAME].clone();
        facts
            .streams
            .decisions
            .insert(NAME.to_owned(), decided(human, &request, "deny", 1));
    }),
    ("no tool ran without an approval", |facts, _| {
        let key = NAME.to_owned();
        facts.agents[0]
            .lines
            .insert(1, line(1, Event::Cancelled { key }));
    }),
    ("nothing is void, rejected or put aside", |facts, _| {
        facts.consoles[0]
            .rows
            .quarantine
            .push("conflict".to_owned());
    }),
    ("every audit chain verifies", |facts, _| {
        facts.consoles[1].audit = Ok(json!({"ok": false}));
    }),
    (
        "every request on the bus has its answer on the bus",
        |facts, _| {
            facts.streams.decisions.clear();
        },
    ),
    ("every decision on the bus verifies", |facts, _| {
        facts.log = log_of(&[]);
    }),
    (
        "votes on the bus = votes in every console",
        |facts, human| {
            of_two(facts, human);
            facts.consoles[1].rows.votes.pop_first();
        },
    ),
    // A console knows votes that the bus never had.
    (
        "no call of several operators ran without their votes",
        |facts, human| {
            of_two(facts, human);
            facts.streams.votes.pop_first();
        },
    ),
    ("every decision on the bus verifies", |facts, human| {
        of_two(facts, human);
        facts.log = log_of(&[(human, "human")]);
    }),
    // Panic had been on for five seconds.
    (UNDER_PANIC_OR_PAUSE, |facts, _| {
        by_a_rule(facts, 1);
        control(facts, -4, None, true);
    }),
    // Its agent was paused.
    (UNDER_PANIC_OR_PAUSE, |facts, _| {
        by_a_rule(facts, 1);
        control(facts, -4, Some("acme/bot"), true);
        control(facts, 10, Some("acme/bot"), false);
    }),
    // Made just before, and sent half a minute into the panic.
    (UNDER_PANIC_OR_PAUSE, |facts, _| {
        by_a_rule(facts, 33);
        control(facts, 2, None, true);
    }),
    ("no call ran twice", |facts, _| {
        let ran = facts.agents[0].lines[2].clone();
        facts.agents[0].lines.push(ran);
    }),
    ("every waiting agent is answered in time", |facts, _| {
        facts.agents[0].lines.remove(1);
    }),
    ("what operators were told is stored", |facts, human| {
        let request = facts.streams.requests[NAME].clone();
        facts
            .streams
            .decisions
            .insert(NAME.to_owned(), decided(human, &request, "deny", 1));
    }),
];

#[test]
fn a_sound_round_breaks_no_promise() {
    let human = KeyPair::new_user();
    let mut facts = sound(&human);
    assert_eq!(broken(&facts), Vec::<&str>::new());
    of_two(&mut facts, &human);
    assert_eq!(broken(&facts), Vec::<&str>::new());
    // What the agent says after the decision does not reach back.
    let mut facts = sound(&human);
    tightened(&mut facts, 5);
    assert_eq!(broken(&facts), Vec::<&str>::new());
    let mut facts = sound(&human);
    by_a_rule(&mut facts, 20);
    // Over before, another agent's, and not heard of yet when it was made and while it was on its way.
    control(&mut facts, -30, None, true);
    control(&mut facts, -20, None, false);
    control(&mut facts, -20, Some("acme/other"), true);
    control(&mut facts, -2, None, true);
    assert_eq!(broken(&facts), Vec::<&str>::new());
}

#[test]
fn every_promise_that_is_broken_is_found() {
    every_one_is_found(&CHANGES);
}

fn every_one_is_found(changes: &[(&str, Change)]) {
    let human = KeyPair::new_user();
    for (number, (promise, change)) in changes.iter().enumerate() {
        let mut facts = sound(&human);
        change(&mut facts, &human);
        let found = broken(&facts);
        assert!(
            found.contains(promise),
            "{number}: {promise} not in {found:?}"
        );
    }
}
