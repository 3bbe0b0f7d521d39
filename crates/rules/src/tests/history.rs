//! Evaluation, simulation and near misses agree on any history.

use proptest::prelude::*;

use super::*;
use crate::simulate::Report;
use crate::what_if::{Past, Trial, what_if};

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let effect = prop::sample::select(vec!["approve", "ask", "deny"]);
    let enabled = prop::sample::select(vec![json!(true), json!(false), json!("shadow")]);
    let matcher = prop::sample::select(vec![
        json!({}),
        json!({"agent": ["billing-*"]}),
        json!({"agent": ["sales-*"]}),
        json!({"risk": ["low", "high", "critical"]}),
        json!({"args": {"/amount": {"lt": 50}}}),
        json!({"args": {"/amount": {"lt": 50}}, "only_args": true}),
        json!({"when": "args.amount < 20"}),
        json!({"when": "args.to == 'a'", "risk": ["medium"]}),
        json!({"thread_id": ["T1"]}),
        json!({"expires_at": "2026-11-22T12:01:00Z"}),
    ]);
    let limit = prop::sample::select(vec![
        json!({}),
        json!({"limit": {"count": 2, "per": "30s"}}),
        json!({"sum": {"pointer": "/amount", "max": 60, "per": "1m"}}),
    ]);
    let one = (effect, enabled, matcher, limit).prop_map(|(effect, enabled, mut more, limit)| {
        more["enabled"] = enabled;
        if effect == "approve" {
            let limits = limit.as_object().unwrap().clone();
            more.as_object_mut().unwrap().extend(limits);
        }
        (effect, more)
    });
    prop::collection::vec(one, 0..6).prop_map(|list| {
        let numbered = list.into_iter().enumerate();
        numbered
            .map(|(n, (effect, more))| rule(&format!("r{n}"), effect, more))
            .collect()
    })
}

fn calls() -> impl Strategy<Value = Vec<(Value, Risk, bool, u16)>> {
    let args = prop::sample::select(vec![
        json!({"amount": 10}),
        json!({"amount": 40}),
        json!({"amount": 70}),
        json!({"amount": "10"}),
        json!({"amount": 10, "to": "a"}),
        json!({"to": "\u{202e}"}),
        json!(null),
    ]);
    let risk = prop::sample::select(Risk::ALL.to_vec());
    prop::collection::vec((args, risk, any::<bool>(), 0_u16..20), 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_history_is_judged_the_same_live_simulated_and_explained(rules in rules(), calls in calls()) {
        let policy = set(rules);
        let conditions = Conditions::default();
        let mut trial = Trial::new(&policy, &conditions);
        let mut report = Report::default();
        // What each rule approved: (when, how much), as a store would know it.
        let mut kept: Vec<(usize, Timestamp, f64)> = Vec::new();
        let (mut now, mut approved) = (noon(), 0);
        for (args, risk, threaded, seconds) in &calls {
            now = now.plus_ms(i64::from(*seconds) * 1_000);
            let thread_id = threaded.then_some("T1");
            let asked = Asked { risk: *risk, thread_id, ..pay(args) };
            let past = Past { asked: &asked, request: 1, request_id: "r", at: now, person: None, ran: false, waits: false, strict: false };
            let simulated = what_if(None, &mut trial, &past).after;
            report.add(&trial, &past, &simulated);
            let mut uses = Uses::new();
            for (place, of) in policy.rules().iter().enumerate() {
                let mine = || kept.iter().filter(move |(by, _, _)| *by == place);
                let within = |at: Timestamp, per: i64| now.since_ms(at) < per;
                let count = of.rule.limit.map_or(0, |limit| {
                    mine().filter(|(_, at, _)| within(*at, limit.per_ms)).count()
                });
                let sum = of.rule.sum.as_ref().map_or(0.0, |sum| {
                    mine().filter(|(_, at, _)| within(*at, sum.per_ms)).map(|(_, _, much)| much).sum()
                });
                uses.insert(of.rule.id.clone(), Used { count: count as u64, sum });
            }
            let mut setting = Setting {
                now,
                approves_off: None,
                author_may: true, bypass: None,
                uses: &uses,
                explain: false,
                conditions: &conditions,
            };
            let live = evaluate(&policy, &asked, &setting);
            setting.explain = true;
            let explained = evaluate(&policy, &asked, &setting);
            prop_assert_eq!(&live, &simulated);
            prop_assert_eq!(live.outcome, explained.outcome);
            prop_assert_eq!(&live.matched, &explained.matched);
            for near in &explained.near {
                let matched = explained.matched.iter().chain(&explained.shadows);
                prop_assert!(matched.clone().all(|(place, _)| *place != near.rule));
            }
            if let Outcome::Approve(By::Rule(place)) = live.outcome {
                approved += 1;
                prop_assert!(live.matched.iter().all(|(_, says)| *says == Says::Approve));
                let much = evaluate::amount(Some(args), None, "/amount").unwrap_or(0.0);
                kept.push((place, now, much));
                // What the rules promise, checked without them.
                let rule = &policy.rules()[place].rule;
                prop_assert!(*risk != Risk::Critical || rule.matchers.risk.contains(risk));
                prop_assert!(!arguments::has_hidden(args));
                if let Some(sum) = &rule.sum {
                    let last = kept.iter().filter(|(by, at, _)| {
                        *by == place && now.since_ms(*at) < sum.per_ms
                    });
                    prop_assert!(last.map(|(_, _, much)| much).sum::<f64>() <= sum.max);
                }
            }
        }
        let report = report.finish();
        prop_assert_eq!(report.total, calls.len() as u64);
        prop_assert_eq!(report.approve, approved);
        prop_assert_eq!(report.approve + report.ask + report.deny, report.total);
    }
}
