//! A console's automatic answers while its own key is pending, and once it is active.

use std::sync::Arc;

use countersign_realm::Registers;
use countersign_wire::{AgentControl, Stream, Verdict, args_digest};
use serde_json::json;
use tokio::sync::oneshot;

use super::bus::MemoryBus;
use super::console::{Console, Death, ModelClock, identity};
use super::realm::ModelRealm;
use crate::clock::Clock;
use crate::domain::Timestamp;
use crate::domain::controls::ControlSetting;
use crate::ops::DecideCommand;
use crate::ops::job::Job;
use crate::ops::stopped::GRACE_MS;
use crate::ops::turns::Turn;
use crate::store::policy::PolicyRow;

const ASKED: Timestamp = Timestamp(1_795_000_000_000);
const DENY_ALL: &str = r#"{"schema":1,"rules":[{"id":"no","effect":"deny"}]}"#;

struct Desk {
    console: Console,
    clock: ModelClock,
    bus: MemoryBus,
    realm: ModelRealm,
}

fn row(key: &str, payload: &[u8]) -> PolicyRow {
    PolicyRow {
        key: key.to_owned(),
        revision: 1,
        payload: payload.to_owned(),
        signer: String::new(),
        sig: String::new(),
    }
}

impl Desk {
    /// A console that knows the past, and whose keys wait.
    async fn waits() -> Self {
        let (folder, clock) = (tempfile::tempdir().unwrap(), ModelClock::default());
        let identity = identity(&folder, "Ada");
        let other = tempfile::tempdir().unwrap();
        let founder = super::console::identity(&other, "Grace");
        let realm = ModelRealm::of(&[&founder, &identity]);
        let mut bus = MemoryBus::default();
        realm.store(&mut bus, clock.now(), 1);
        let console = Console::new(
            folder,
            identity,
            realm.trusted(),
            realm.realm,
            clock.clone(),
        );
        let mut console = console.await;
        console.catch_up(&bus, Stream::Requests).await;
        Self {
            console,
            clock,
            bus,
            realm,
        }
    }

    /// Requests of a lifetime of one second each, read by the console.
    async fn asks(&mut self, requests: std::ops::Range<usize>) {
        self.asks_for(1_000, requests).await;
    }

    async fn asks_for(&mut self, lifetime_ms: i64, requests: std::ops::Range<usize>) {
        for request in requests {
            let args = json!({"n": request});
            let body = json!({
                "v": 1, "kind": "tool_call", "request_id": format!("r{request}"),
                "workspace": "acme", "agent": {"name": "bot"}, "tool": {"name": "t"}, "args": args,
                "args_digest": args_digest(&args).unwrap().to_string(), "risk": "low",
                "allowed_verdicts": ["approve", "deny"], "requested_at": ASKED.rfc3339(),
                "expires_at": ASKED.plus_ms(lifetime_ms).rfc3339(),
            });
            let subject = format!("countersign.v1.request.acme.bot.r{request}");
            let body = serde_json::to_vec(&body).unwrap();
            let now = self.clock.now();
            self.bus.store(Stream::Requests, now, subject, body, None);
        }
        let all = (&self.bus, Stream::Requests, usize::MAX);
        self.console.deliver(all.0, all.1, all.2, Death::No).await;
    }

    /// The entries that let its keys in are stored, and read.
    async fn is_accepted(&mut self) {
        let now = self.clock.now();
        self.realm.store(&mut self.bus, now, usize::MAX);
        let all = (&self.bus, Stream::Decisions, usize::MAX);
        self.console.deliver(all.0, all.1, all.2, Death::No).await;
    }

    fn verdicts(&self) -> Vec<String> {
        let verdict = |payload: &[u8]| {
            let body: serde_json::Value = serde_json::from_slice(payload).unwrap();
            body["verdict"].as_str().unwrap().to_owned()
        };
        let sent = self.console.outgoing.iter();
        sent.map(|one| verdict(&one.payload)).collect()
    }

    /// Whether time makes something due at once.
    fn is_due(&mut self) -> bool {
        let state = self.console.state.as_ref().unwrap();
        state.next_due.is_none_or(|due| due <= self.clock.now())
    }
}

#[tokio::test]
async fn what_ended_while_the_key_waited_is_answered_as_soon_as_it_is_accepted() {
    let mut desk = Desk::waits().await;
    desk.asks(0..3).await;
    desk.clock.turn(2_000);
    desk.console.work(Vec::new(), Death::No).await;
    assert_eq!(desk.verdicts(), [""; 0]);
    assert!(
        !desk.is_due(),
        "nothing can be done before the list says more"
    );
    desk.is_accepted().await;
    assert_eq!(desk.verdicts(), ["expired"; 3]);
}

#[tokio::test]
async fn more_than_a_page_of_what_ended_is_answered_a_page_in_a_transaction() {
    let mut desk = Desk::waits().await;
    desk.asks(0..1_200).await;
    desk.clock.turn(2_000);
    for _ in 0..3 {
        desk.console.tick(Death::No).await;
    }
    desk.is_accepted().await;
    let mut sent = vec![desk.verdicts().len()];
    while desk.is_due() {
        desk.console.work(Vec::new(), Death::No).await;
        sent.push(desk.verdicts().len());
    }
    assert_eq!(sent, [500, 1_000, 1_200]);
}

#[tokio::test]
async fn a_console_whose_key_waits_keeps_no_request_for_its_rules_and_judges_all_once_it_counts() {
    let mut desk = Desk::waits().await;
    let rules = [row("rules.acme", DENY_ALL.as_bytes()).into()];
    let state = desk.console.state.as_mut().unwrap();
    state.judge.registers = Arc::new(Registers::remembered(&state.trusted, &rules, &[]));
    desk.asks(0..3).await;
    let state = desk.console.state.as_ref().unwrap();
    assert_eq!(state.judge.arrived.len(), 0);
    assert_eq!(desk.verdicts(), [""; 0]);
    desk.is_accepted().await;
    assert_eq!(desk.verdicts(), ["deny"; 3]);
}

#[tokio::test]
async fn a_console_whose_key_waits_leaves_what_a_stopped_agent_asks_to_others_without_looking_on() {
    let mut desk = Desk::waits().await;
    let stop = ControlSetting {
        state: AgentControl::Stopped,
        revision: 1,
        by: "Grace".to_owned(),
        at: desk.clock.now(),
    };
    let state = desk.console.state.as_ref().unwrap();
    let bot = "acme/bot".parse().unwrap();
    state.controls.write().set_agent(bot, stop);
    desk.clock.turn(10);
    desk.asks(0..500).await;
    desk.console.tick(Death::No).await;
    assert!(!desk.is_due(), "the writer would never rest");
    desk.is_accepted().await;
    assert_eq!(desk.verdicts(), ["deny"; 500]);
}

#[tokio::test]
async fn what_waited_is_left_to_the_operator_as_long_as_one_call_after_the_other_is_ended() {
    let mut desk = Desk::waits().await;
    desk.is_accepted().await;
    desk.asks_for(60_000, 0..4).await;
    let stop = ControlSetting {
        state: AgentControl::Stopped,
        revision: 1,
        by: "Grace".to_owned(),
        at: desk.clock.now().plus_ms(1),
    };
    let state = desk.console.state.as_ref().unwrap();
    state
        .controls
        .write()
        .set_agent("acme/bot".parse().unwrap(), stop);
    for request in [3, 2] {
        desk.clock.turn(GRACE_MS - 500);
        let key = format!("acme/bot/r{request}").parse().unwrap();
        let command = DecideCommand::by_operator(key, Verdict::Terminate);
        let ended = Job::Decide(Box::new(command), oneshot::channel().0);
        desk.console.work(vec![ended], Death::No).await;
        desk.console.tick(Death::No).await;
    }
    desk.clock.turn(GRACE_MS - 1);
    desk.console.tick(Death::No).await;
    assert_eq!(desk.verdicts().len(), 2, "the other two are left");
    desk.clock.turn(1);
    desk.console.tick(Death::No).await;
    assert_eq!(desk.verdicts(), ["deny"; 4]);
}

#[tokio::test]
async fn a_call_of_a_stopped_agent_that_another_console_denied_is_remembered_no_longer() {
    let mut desk = Desk::waits().await;
    desk.is_accepted().await;
    let now = desk.clock.now();
    let state = desk.console.state.as_mut().unwrap();
    for answered in [4_711, 4_712] {
        let turn = state.stop_turns.of(answered, 3, now);
        assert!(matches!(turn, Turn::Later(_)));
    }
    desk.console.tick(Death::No).await;
    let state = desk.console.state.as_mut().unwrap();
    assert_eq!(state.stop_turns.next(), None);
    state.stop_turns.of(4_711, 3, now);
    state.forget();
    assert_eq!(state.stop_turns.next(), None, "of a bus that was left");
}

#[tokio::test]
async fn an_approval_left_to_the_console_that_counts_is_looked_at_again_when_the_policy_is_known_again()
 {
    let mut desk = Desk::waits().await;
    desk.is_accepted().await;
    let (now, rules) = (desk.clock.now(), row("rules.acme", DENY_ALL.as_bytes()));
    let state = desk.console.state.as_mut().unwrap();
    state.judge.registers = Arc::new(Registers::remembered(&state.trusted, &[rules.into()], &[]));
    desk.console.work(Vec::new(), Death::No).await;
    let state = desk.console.state.as_mut().unwrap();
    state.judge.limited.of(1, 3, now);
    desk.console.knows_policy = false;
    desk.console.work(Vec::new(), Death::No).await;
    let state = desk.console.state.as_ref().unwrap();
    assert!(state.next_due.is_some_and(|due| due <= now.plus_ms(1_000)));
}

#[tokio::test]
async fn a_step_of_the_search_index_that_was_not_written_is_made_again() {
    let mut desk = Desk::waits().await;
    let state = desk.console.state.as_mut().unwrap();
    state.searchable_in = None;
    state.forget();
    assert!(state.searchable_in.is_some());
}
