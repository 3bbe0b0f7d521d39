#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

fn at(seconds: f64) -> Moment {
    Moment {
        boot: Some("a".to_owned()),
        ticks: Some(seconds),
        wall: 1e9 + seconds,
    }
}

fn digest(text: &str) -> Sha256Digest {
    Sha256Digest::of_bytes(text.as_bytes())
}

fn new(lifetime: f64) -> Ask {
    Ask {
        seq: 1,
        realm: Uuid::nil(),
        agent: "acme/bot".parse().unwrap(),
        id: "r1".parse().unwrap(),
        key: digest("key"),
        about: digest("about"),
        kind: RequestKind::ToolCall,
        tool: Some("deploy".to_owned()),
        args_digest: None,
        reports: true,
        callback: None,
        lifetime,
        asked: at(0.0),
        request: Some("{}".to_owned()),
        answer: None,
        end: None,
        claim: None,
        receipt: None,
    }
}

fn answer(verdict: &str, now: f64) -> Answer {
    let run = matches!(verdict, "approve" | "modify");
    Answer {
        at: at(now),
        run,
        verdict: verdict.to_owned(),
        args: run.then(|| serde_json::json!({"to": "production"})),
        args_digest: None,
        response: None,
        text: None,
        message: None,
        decided_by: None,
        decision_id: Some("d".to_owned()),
        fault: None,
        proof: None,
    }
}

fn ran(stage: Stage) -> Report {
    Report {
        stage,
        digest: None,
        message: None,
        sent: false,
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Answer(&'static str),
    Claim(Option<&'static str>),
    Withdraw,
    Report(Stage),
    Look,
    Pass(f64),
    /// The process was killed and the note was lost with the power.
    PowerCut,
}

fn step() -> impl Strategy<Value = Step> {
    let verdict = prop::sample::select(vec![
        "approve", "modify", "deny", "respond", "expired", "rejected",
    ]);
    let stage = prop::sample::select(vec![Stage::Executed, Stage::Failed, Stage::Refused]);
    let key = prop::sample::select(vec![None, Some("a"), Some("b"), Some("key")]);
    let pass = prop::sample::select(vec![0.5, 20.0, 59.0, 61.0, 299.0, 301.0, 90_000.0]);
    prop_oneof![
        3 => verdict.prop_map(Step::Answer),
        4 => key.prop_map(Step::Claim),
        1 => Just(Step::Withdraw),
        1 => stage.prop_map(Step::Report),
        2 => Just(Step::Look),
        3 => pass.prop_map(Step::Pass),
        1 => Just(Step::PowerCut),
    ]
}

/// What may happen, in a few words: no word of the machine's own.
#[derive(Debug, Default)]
struct Simple {
    now: f64,
    lifetime: f64,
    /// When, and whether it lets run.
    answered: Option<(f64, bool)>,
    over: bool,
    /// When, and with which key.
    ran: Option<(f64, Option<&'static str>)>,
    reported: bool,
}

impl Simple {
    fn open(&self) -> bool {
        let until = self
            .answered
            .map_or(0.0, |(at, _)| at + 300.0)
            .max(self.lifetime);
        self.now < until
    }

    fn may_run(&self) -> bool {
        let approved = self.answered.is_some_and(|(_, run)| run);
        approved && self.ran.is_none() && !self.over && self.open()
    }

    fn may_repeat(&self, key: Option<&'static str>) -> bool {
        self.ran.is_some_and(|(at, with)| {
            let own = key.is_some() && key != Some("key");
            own && key == with && self.now - at <= 60.0 && !self.reported
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_call_runs_once_and_only_where_the_simple_writing_lets_it(
        lifetime in prop::sample::select(vec![10.0, 100.0, 1_000.0]),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut ask = new(lifetime);
        let mut flushed = ask.clone();
        let mut simple = Simple { lifetime, ..Simple::default() };
        for step in steps {
            let now = at(simple.now);
            let mut next = ask.clone();
            let keep = match step {
                Step::Answer(verdict) => {
                    let crossed = ask.state(&now) == State::Withdrawn && ask.answer.is_none();
                    let keep = next.answered(answer(verdict, simple.now));
                    if crossed && matches!(verdict, "approve" | "modify") {
                        prop_assert_eq!(keep, Keep::Flushed);
                        let words = next.receipt.as_ref().map(|of| (of.stage, of.message.as_deref()));
                        prop_assert_eq!(words, Some((Stage::Refused, Some("withdrawn"))));
                        prop_assert!(next.answer.as_ref().is_some_and(|of| of.args.is_none()));
                        prop_assert_eq!(next.state(&now), State::Withdrawn);
                    }
                    if keep != Keep::Nothing {
                        let run = matches!(verdict, "approve" | "modify");
                        match verdict {
                            "expired" | "rejected" => simple.over = true,
                            _ => simple.answered = Some((simple.now, run)),
                        }
                    }
                    keep
                }
                Step::Claim(key) => {
                    let (runs, repeats) = (simple.may_run(), simple.may_repeat(key));
                    match next.claim(key.map(digest), &now) {
                        Ok((Claimed::Run, keep)) => {
                            prop_assert!(runs);
                            prop_assert_eq!(keep, Keep::Flushed);
                            simple.ran = Some((simple.now, key));
                            keep
                        }
                        Ok((Claimed::Replayed, keep)) => {
                            prop_assert!(repeats && !runs);
                            keep
                        }
                        other => {
                            prop_assert!(!runs && !repeats, "{other:?} {simple:?}");
                            let Ok((_, keep)) = other else { continue };
                            simple.over |= next.end.is_some();
                            keep
                        }
                    }
                }
                Step::Withdraw => {
                    let Ok(keep) = next.withdraw(None) else {
                        prop_assert!(ask.claim.is_some());
                        continue;
                    };
                    simple.over = true;
                    keep
                }
                Step::Report(stage) => {
                    let Ok(keep) = next.report(ran(stage)) else {
                        prop_assert!(simple.ran.is_none() || simple.reported);
                        continue;
                    };
                    prop_assert!(simple.ran.is_some());
                    simple.reported = true;
                    keep
                }
                Step::Look => match next.expire(&now) {
                    Keep::Nothing => next.forget(&now),
                    keep => {
                        prop_assert!(!simple.may_run());
                        simple.over = true;
                        keep
                    }
                },
                Step::Pass(seconds) => {
                    simple.now += seconds;
                    continue;
                }
                Step::PowerCut => {
                    // What the bus has comes again; what was taken, withdrawn or over stays so.
                    ask = flushed.clone();
                    if ask.answer.is_none() {
                        simple.answered = None;
                    }
                    continue;
                }
            };
            ask = next;
            if keep == Keep::Flushed {
                flushed = ask.clone();
            }
            if ask.claim.is_none() && ask.end.is_some() {
                prop_assert!(ask.receipt.is_none() || ask.answer.as_ref().is_some_and(|of| of.run));
            }
        }
    }
}

#[test]
fn an_answer_can_be_claimed_until_the_deadline_or_300_s_after_it() {
    for (lifetime, answered, claimed, run) in [
        (100.0, 50.0, 99.0, true),
        (100.0, 50.0, 349.0, true),
        (100.0, 50.0, 350.0, false),
        (1_000.0, 50.0, 999.0, true),
        (1_000.0, 50.0, 1_000.0, false),
        (1_000.0, 999.0, 1_298.0, true),
    ] {
        let mut ask = new(lifetime);
        assert_eq!(ask.answered(answer("approve", answered)), Keep::Written);
        let until = lifetime.max(answered + 300.0);
        assert!((ask.claim_until() - until).abs() < 0.01);
        let outcome = ask.claim(None, &at(claimed)).unwrap().0;
        let expected = if run { Claimed::Run } else { Claimed::Refused };
        assert_eq!(outcome, expected, "{lifetime} {answered} {claimed}");
        let receipt = ask
            .receipt
            .map(|report| (report.stage, report.message.unwrap()));
        let refused = (!run).then(|| (Stage::Refused, "not_claimed".to_owned()));
        assert_eq!(receipt, refused);
    }
}

#[test]
fn a_claim_is_answered_again_to_its_key_for_60_s_and_until_a_receipt() {
    let mut ask = new(100.0);
    ask.answered(answer("approve", 1.0));
    assert_eq!(
        ask.claim(Some(digest("k")), &at(2.0)).unwrap().0,
        Claimed::Run
    );
    let (mut back, mut other_boot) = (at(30.0), at(30.0));
    back.wall -= 60.0;
    other_boot.boot = Some("b".to_owned());
    for (key, now, again) in [
        (Some("k"), at(62.0), true),
        (Some("k"), at(62.5), false),
        (Some("other"), at(3.0), false),
        (None, at(3.0), false),
        (Some("k"), at(1.0), false),
        (Some("k"), back, false),
        (Some("k"), other_boot, false),
    ] {
        let outcome = ask.claim(key.map(digest), &now).map(|of| of.0);
        match again {
            true => assert_eq!(outcome, Ok(Claimed::Replayed)),
            false => assert_eq!(outcome, Err(fault::already_claimed()), "{key:?} {now:?}"),
        }
    }
    ask.report(ran(Stage::Executed)).unwrap();
    assert!(ask.claim(Some(digest("k")), &at(3.0)).is_err());
    assert_eq!(ask.report(ran(Stage::Executed)), Ok(Keep::Nothing));
    assert_eq!(
        ask.report(ran(Stage::Failed)),
        Err(fault::already_reported())
    );
}

#[test]
fn a_claim_with_the_key_of_its_ask_is_not_answered_again() {
    let mut ask = new(100.0);
    ask.answered(answer("approve", 1.0));
    let key = Some(digest("key"));
    assert_eq!(ask.claim(key, &at(2.0)).unwrap().0, Claimed::Run);
    assert_eq!(ask.claim(key, &at(2.0)), Err(fault::already_claimed()));
}

#[test]
fn an_ask_is_kept_until_the_bus_has_its_receipt() {
    let mut ask = new(100.0);
    ask.answered(answer("approve", 1.0));
    ask.withdraw(None).unwrap();
    let late = at(100_000.0);
    assert!(!ask.is_old(&late));
    ask.reported();
    assert!(ask.is_old(&late));
}

#[test]
fn a_clock_that_went_back_claims_nothing_and_frees_no_key() {
    let mut ask = new(100.0);
    ask.asked = at(50.0);
    ask.answered(answer("approve", 60.0));
    let back = at(10.0);
    assert_eq!(ask.state(&back), State::Expired);
    assert_eq!(ask.claim(None, &back).unwrap().0, Claimed::Refused);
    assert!(!ask.is_old(&back));
    assert!(!ask.is_old(&at(50.0 + 310.0 + 86_000.0)));
    let later = at(50.0 + 310.0 + 86_401.0);
    assert!(!ask.is_old(&later), "the bus has no receipt");
    ask.receipt.as_mut().unwrap().sent = true;
    assert!(ask.is_old(&later));
}

#[test]
fn arguments_are_dropped_once_nothing_needs_them() {
    let mut ask = new(100.0);
    ask.answered(answer("approve", 1.0));
    assert_eq!(ask.forget(&at(2.0)), Keep::Nothing);
    ask.claim(Some(digest("k")), &at(2.0)).unwrap();
    assert_eq!(ask.forget(&at(3.0)), Keep::Nothing);
    assert_eq!(ask.forget(&at(63.0)), Keep::Flushed);
    assert!(ask.request.is_none() && ask.answer.as_ref().unwrap().args.is_none());
    assert!(ask.claim(Some(digest("k")), &at(3.0)).is_err());
}
