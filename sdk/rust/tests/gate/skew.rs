//! An agent whose wall clock is an hour wrong, and a console whose clock is wrong the other way.

use countersign_sdk::wire::{Timestamp, parse_request};
use countersign_sdk::{Ask, DecisionVerdict};
use serde_json::json;
use time::Duration as Span;

use crate::console::Console;

#[tokio::test]
async fn clocks_an_hour_off_change_no_outcome() {
    for hours in [-1, 1] {
        let mut console = Console::start().await;
        let gate = console.gate().await;
        let off = |at: Timestamp| Timestamp::new(at.get() + Span::hours(hours));
        let asked = |id: &str, lifetime: Span| {
            let until = Timestamp::new(off(noon()).get() + lifetime);
            let body = json!({
                "v": 1, "kind": "question", "request_id": id, "workspace": "acme",
                "agent": { "name": "billing-bot" }, "question": { "text": "Which?" }, "risk": "low",
                "allowed_verdicts": ["respond"], "requested_at": off(noon()), "expires_at": until,
            });
            let subject = format!("countersign.v1.request.acme.billing-bot.{id}");
            let parsed = parse_request(&subject, &serde_json::to_vec(&body).unwrap()).unwrap();
            Ask::raw(parsed.request)
        };
        let waiting = tokio::spawn(gate.ask(asked("answered", Span::minutes(1))));
        let seen = console.next_request().await;
        let wrong = Timestamp::new(noon().get() - Span::hours(hours));
        let more = json!({ "response": { "content": "the blue one" }, "decided_at": wrong });
        assert!(
            console
                .store(console.decision(&seen, "respond", more))
                .await
        );
        let decision = waiting.await.unwrap().unwrap();
        assert_eq!(decision.verdict(), &DecisionVerdict::Respond);

        let begun = tokio::time::Instant::now();
        let silent = gate.ask(asked("silent", Span::milliseconds(300))).await;
        assert_eq!(silent.unwrap().verdict(), &DecisionVerdict::Expired);
        assert!((250..5_000).contains(&begun.elapsed().as_millis()));
    }
}

fn noon() -> Timestamp {
    Timestamp::from_unix_millis(1_795_000_000_000).unwrap()
}
