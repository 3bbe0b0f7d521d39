//! The progress of a request and its answer.

use crate::{DecisionView, OnBusView, RuleRef, Rung, RungName, RungState};
use countersign_domain::State;
use countersign_domain::facts::{
    Alarm, Contradicting, RequestSummary, StoredDecision, StoredReceipt, decider,
};
use countersign_domain::{Incident, Stall};
use countersign_redaction::Hiding;
use countersign_wire::{Scope, Shown, Timestamp, Verdict, json_value};
use serde_json::Value;

use super::args::{hidden_for_good, walk};
use super::details::{CardDetails, state_of};
use super::hidden::{escape, escape_lines};

const TAIL: usize = 4;

/// Last characters of a key.
pub fn key_tail(key: &str) -> String {
    key.chars()
        .skip(key.chars().count().saturating_sub(TAIL))
        .collect()
}

/// The rule or setup key that decided, as the decision names it; the rule's name as the set in force had it.
pub(crate) fn rule_ref(
    line: &RequestSummary,
    decision: Option<&StoredDecision>,
    name: Option<&str>,
) -> Option<RuleRef> {
    let id = escape(line.rule_id.as_deref()?);
    let payload: Value = decision
        .and_then(|decision| json_value(&decision.payload))
        .unwrap_or_default();
    Some(RuleRef {
        id,
        name: name.map(escape),
        version: line.rule_version,
        policy_digest: payload["policy_digest"].as_str().map(escape),
    })
}

/// The decision that counts, as its payload says; `line` knows the list's name of who gave it.
pub(crate) fn decision_view(
    stored: &StoredDecision,
    (line, rule): (&RequestSummary, Option<RuleRef>),
    key: &[u8; 32],
    own_key: &str,
) -> DecisionView {
    let payload = json_value(&stored.payload).unwrap_or_default();
    let word = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
    let by = decider(line.decided_by.as_deref()).map(|by| by.name.unwrap_or_default());
    let by = by.unwrap_or_else(|| {
        let signed = payload["decided_by"]["name"].as_str();
        signed.unwrap_or_default().to_owned()
    });
    let signer = stored.key.clone().unwrap_or_default();
    let at = payload["decided_at"]
        .as_str()
        .and_then(|text| text.parse::<Timestamp>().ok());
    DecisionView {
        verdict: stored
            .effective
            .clone()
            .unwrap_or_else(|| escape(&word("verdict")).plain()),
        origin: escape(&word("origin")).plain(),
        by: escape(&by),
        key_tail: escape(&key_tail(&signer)).plain(),
        mine: !signer.is_empty() && signer == own_key,
        message: payload["message"].as_str().map(escape_lines),
        rule,
        scope: payload["scope"]
            .as_str()
            .and_then(Scope::from_word)
            .filter(|scope| *scope != Scope::Once),
        at_ms: at.map(|at| at.unix_millis()),
        edited: match payload.get("edited_args") {
            Some(args) => hidden_for_good(walk(args, key)),
            None => Vec::new(),
        },
    }
}

/// The decision on the bus that contradicts this console's, as its payload says.
pub(crate) fn on_bus_view(current: &Contradicting, key: &[u8; 32]) -> OnBusView {
    let payload = json_value(&current.raw).unwrap_or_default();
    let hiding = Hiding::new(*key);
    let word = |value: &Value| hiding.escape(value.as_str().unwrap_or("unknown"));
    OnBusView {
        verdict: word(&payload["verdict"]),
        by: word(&payload["decided_by"]["name"]),
        message: payload["message"]
            .as_str()
            .map(|text| hiding.escape_lines(text)),
        at_ms: current.at,
        stream_seq: current.stream_seq,
    }
}

/// What the delivery ladder is made from.
#[derive(Default)]
pub(crate) struct Delivery<'a> {
    pub(crate) decision: Option<&'a StoredDecision>,
    pub(crate) contradicting: Option<&'a Contradicting>,
    pub(crate) receipts: &'a [StoredReceipt],
    pub(crate) alarms: &'a [Alarm],
}

/// Stored, decided, on the bus, received, executed (protocol, section 6).
pub(crate) fn ladder(story: &CardDetails) -> Vec<Rung> {
    let delivery = Delivery {
        decision: story.decision.as_ref(),
        contradicting: story.contradicting.as_ref(),
        receipts: &story.receipts,
        alarms: &story.alarms,
    };
    rungs(&story.line, &delivery)
}

/// The same of a request whose bytes cannot be read any more.
pub(crate) fn rungs(line: &RequestSummary, of: &Delivery<'_>) -> Vec<Rung> {
    let Delivery {
        decision,
        contradicting,
        receipts,
        alarms,
    } = *of;
    let stage = |name: &str| receipts.iter().find(|receipt| receipt.stage == name);
    let words = |name: &str| stage(name).and_then(|receipt| receipt_words(&receipt.detail));
    // What is held is not decided: it can still be taken back.
    let decided = decision.is_some() || matches!(state_of(line), State::Queued);
    let received = stage("received").or(stage("executed")).or(stage("failed"));
    let failed = stage("failed");
    let executed = stage("executed");
    // Another copy of the agent may have refused what this one ran.
    let refused = stage("refused").filter(|_| executed.or(failed).is_none());
    let (on_bus, at, seq) = match (contradicting, decision) {
        (Some(other), _) => (RungState::Bad, Some(other.at), Some(other.stream_seq)),
        (None, Some(own)) => (RungState::Done, Some(own.stored_at), Some(own.stream_seq)),
        (None, None) => (RungState::Open, None, None),
    };
    let mut rungs = vec![
        rung(
            RungName::Stored,
            RungState::Done,
            Some(line.stored_at),
            None,
        ),
        rung(
            RungName::Decided,
            if decided {
                RungState::Done
            } else {
                RungState::Open
            },
            line.decided_at,
            None,
        ),
        rung(
            RungName::OnBus,
            on_bus,
            at,
            seq.map(|seq| escape(&format!("#{seq}"))),
        ),
        match refused {
            Some(receipt) => rung(
                RungName::Received,
                RungState::Bad,
                Some(receipt.at),
                words("refused"),
            ),
            None => rung(
                RungName::Received,
                if received.is_some() {
                    RungState::Done
                } else {
                    RungState::Open
                },
                received.map(|receipt| receipt.at),
                words("received"),
            ),
        },
        match (executed, failed) {
            (Some(receipt), _) => rung(
                RungName::Executed,
                RungState::Done,
                Some(receipt.at),
                words("executed"),
            ),
            (None, Some(receipt)) => rung(
                RungName::Executed,
                RungState::Bad,
                Some(receipt.at),
                words("failed"),
            ),
            (None, None) if may_run(line) => rung(RungName::Executed, RungState::Open, None, None),
            (None, None) => rung(RungName::Executed, RungState::Never, None, None),
        },
    ];
    alarmed(alarms, &mut rungs);
    if line.kind.as_deref() != Some("tool_call") {
        // Nothing of a question runs, whatever the answer.
        rungs.retain(|rung| rung.state != RungState::Never);
    }
    rungs
}

/// Whether the call may still run one day. A question or a form never does.
fn may_run(line: &RequestSummary) -> bool {
    line.kind.as_deref() == Some("tool_call")
        && match state_of(line) {
            State::Pending | State::Holding | State::Queued => true,
            State::Decided => {
                let verdict = line.verdict.as_deref().and_then(Verdict::from_word);
                verdict.is_some_and(Verdict::lets_it_run)
            }
            State::Expired | State::Withdrawn | State::Rejected | State::Void => false,
        }
}

/// Marks the rungs with an alarm: overdue, or reached without leave.
fn alarmed(alarms: &[Alarm], rungs: &mut [Rung]) {
    for alarm in alarms {
        let (name, state) = match (Stall::from_code(&alarm.code), alarm.code.as_str()) {
            (Some(Stall::NotOnBus), _) => (RungName::OnBus, RungState::Stalled),
            (Some(Stall::NotReceived), _) => (RungName::Received, RungState::Stalled),
            (Some(Stall::NotExecuted), _) => (RungName::Executed, RungState::Stalled),
            (None, code) if Incident::from_code(code).is_some() => {
                (RungName::Executed, RungState::Forbidden)
            }
            (None, _) => continue,
        };
        for rung in rungs.iter_mut().filter(|rung| rung.rung == name) {
            rung.state = state;
            rung.at_ms = Some(alarm.at);
            let words = alarm.code.replace('_', " ");
            // The rung is called "executed" itself.
            let words = words.strip_prefix("executed ").unwrap_or(&words);
            rung.detail = Some(escape(words));
        }
    }
}

fn rung(rung: RungName, state: RungState, at_ms: Option<i64>, detail: Option<Shown>) -> Rung {
    let at_ms = at_ms.filter(|_| !matches!(state, RungState::Open | RungState::Never));
    Rung {
        rung,
        state,
        at_ms,
        detail,
    }
}

/// The agent's words in a receipt, with what it could not honour.
fn receipt_words(detail: &[u8]) -> Option<Shown> {
    let value = json_value(detail)?;
    let degraded = value["degraded"].as_array().into_iter().flatten();
    let degraded = degraded.filter_map(Value::as_str);
    let degraded = degraded.map(|word| format!("could not honour: {}", word.replace('_', " ")));
    let words = value["message"].as_str().map(str::to_owned);
    let words: Vec<String> = words.into_iter().chain(degraded).collect();
    (!words.is_empty()).then(|| escape(&words.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_queued_is_decided_before_it_is_on_the_bus_and_what_is_held_is_not() {
        for (state, decided) in [
            ("pending", RungState::Open),
            ("holding", RungState::Open),
            ("queued", RungState::Done),
        ] {
            let line = RequestSummary {
                kind: Some("tool_call".to_owned()),
                state: state.to_owned(),
                decided_at: Some(7),
                ..RequestSummary::default()
            };
            let ladder = rungs(&line, &Delivery::default());
            let of = |name: RungName| ladder.iter().find(|rung| rung.rung == name);
            let at = (decided == RungState::Done).then_some(7);
            let reported = of(RungName::Decided).map(|rung| (rung.state, rung.at_ms));
            assert_eq!(reported, Some((decided, at)), "{state}");
            let on_bus = of(RungName::OnBus).map(|rung| rung.state);
            assert_eq!(on_bus, Some(RungState::Open), "{state}");
        }
    }

    #[test]
    fn a_decision_that_another_one_on_the_bus_contradicts_is_not_told_as_on_the_bus() {
        let payload = br#"{"verdict":"deny","decided_by":{"name":"Grace"},"message":"no\u202e"}"#;
        let other = Contradicting {
            stream_seq: 9,
            raw: payload.to_vec(),
            at: 5,
        };
        let delivery = Delivery {
            contradicting: Some(&other),
            ..Delivery::default()
        };
        let ladder = rungs(&RequestSummary::default(), &delivery);
        let of = |name: RungName| ladder.iter().find(|rung| rung.rung == name);
        let reported = of(RungName::OnBus).map(|rung| (rung.state, rung.at_ms));
        assert_eq!(reported, Some((RungState::Bad, Some(5))));
        let view = on_bus_view(&other, &[0; 32]);
        assert_eq!(
            (view.verdict.plain(), view.by.plain()),
            ("deny".to_owned(), "Grace".to_owned())
        );
        assert!(
            view.message
                .is_some_and(|words| words.plain().contains("U+202E"))
        );
    }

    #[test]
    fn what_an_agent_could_not_honour_is_told_with_its_words() {
        for (detail, words) in [
            ("{}", None),
            (r#"{"message":"hi","degraded":[]}"#, Some("hi")),
            (
                r#"{"degraded":["call_id",7]}"#,
                Some("could not honour: call id"),
            ),
            (
                r#"{"message":"hi","degraded":["message","b\u202e"]}"#,
                Some("hi; could not honour: message; could not honour: b⟨U+202E⟩"),
            ),
        ] {
            let reported = receipt_words(detail.as_bytes()).map(|words| words.plain());
            assert_eq!(reported.as_deref(), words, "{detail}");
        }
    }

    #[test]
    fn what_one_copy_of_the_agent_ran_is_not_shown_as_refused_by_another() {
        let reported = |stage: &str| StoredReceipt {
            decision_id: "d1".into(),
            stage: stage.into(),
            detail: b"{}".to_vec(),
            at: 7,
        };
        for ran in ["executed", "failed"] {
            let line = RequestSummary {
                kind: Some("tool_call".to_owned()),
                state: "decided".to_owned(),
                ..RequestSummary::default()
            };
            let receipts = [reported("refused"), reported(ran)];
            let delivery = Delivery {
                receipts: &receipts,
                ..Delivery::default()
            };
            let ladder = rungs(&line, &delivery);
            let received = ladder.iter().find(|rung| rung.rung == RungName::Received);
            assert_eq!(received.map(|rung| rung.state), Some(RungState::Done));
        }
    }
}
