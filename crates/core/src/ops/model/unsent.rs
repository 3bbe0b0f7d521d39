//! An alarm about a decision that the bus does not take, on whichever way it came into the outbox.

use countersign_wire::{RequestKey, Stream, Verdict, args_digest};
use serde_json::json;
use tokio::sync::oneshot;

use super::bus::MemoryBus;
use super::console::{Console, Death, ModelClock, identity};
use super::realm::ModelRealm;
use crate::clock::Clock;
use crate::domain::Timestamp;
use crate::domain::hold::LONGEST_HOLD_MS;
use crate::ops::DecideCommand;
use crate::ops::job::Job;

/// As long as the bus may take by default.
const ON_BUS_MS: i64 = 10_000;
const LIFETIME_MS: i64 = 60_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Decided,
    HeldFirst,
    BesideTheConsole,
    Agreed,
    Expired,
}

struct Desk {
    ada: Console,
    grace: Console,
    clock: ModelClock,
    bus: MemoryBus,
}

impl Desk {
    /// Two consoles that know the past, have looked at everything and wait for nothing.
    async fn rests() -> Self {
        let clock = ModelClock::default();
        let folders = ["Ada", "Grace"].map(|name| (tempfile::tempdir().unwrap(), name));
        let known = folders.map(|(folder, name)| {
            let identity = identity(&folder, name);
            (folder, identity)
        });
        let realm = ModelRealm::of(&known.each_ref().map(|(_, identity)| &**identity));
        let mut bus = MemoryBus::default();
        realm.store(&mut bus, clock.now(), usize::MAX);
        let mut consoles = Vec::new();
        for (folder, identity) in known {
            let console = Console::new(
                folder,
                identity,
                realm.trusted(),
                realm.realm,
                clock.clone(),
            );
            let mut console = console.await;
            console
                .deliver(&bus, Stream::Decisions, usize::MAX, Death::No)
                .await;
            consoles.push(console);
        }
        let (grace, ada) = (consoles.pop().unwrap(), consoles.pop().unwrap());
        let mut desk = Self {
            ada,
            grace,
            clock,
            bus,
        };
        desk.ada.catch_up(&desk.bus, Stream::Requests).await;
        desk.grace.catch_up(&desk.bus, Stream::Requests).await;
        desk.ada.work(Vec::new(), Death::No).await;
        let state = desk.ada.state.as_ref().unwrap();
        assert_eq!(state.next_sweep, Some(Timestamp(i64::MAX)));
        desk
    }

    async fn asks(&mut self, approvals_required: u8) -> RequestKey {
        let (args, now) = (json!({}), self.clock.now());
        let body = json!({
            "v": 1, "kind": "tool_call", "request_id": "r1", "workspace": "acme",
            "agent": {"name": "bot"}, "tool": {"name": "t"}, "args": args,
            "args_digest": args_digest(&args).unwrap().to_string(), "risk": "low",
            "allowed_verdicts": ["approve", "deny"], "approvals_required": approvals_required,
            "requested_at": now.rfc3339(), "expires_at": now.plus_ms(LIFETIME_MS).rfc3339(),
        });
        let subject = "countersign.v1.request.acme.bot.r1".to_owned();
        let body = serde_json::to_vec(&body).unwrap();
        self.bus.store(Stream::Requests, now, subject, body, None);
        for console in [&mut self.ada, &mut self.grace] {
            let (stream, all) = (Stream::Requests, usize::MAX);
            console.deliver(&self.bus, stream, all, Death::No).await;
        }
        "acme/bot/r1".parse().unwrap()
    }

    /// What a console has to send arrives, and Ada's reads it.
    async fn carry(&mut self, from: impl FnOnce(&mut Self) -> &mut Console) {
        let (now, sent) = (self.clock.now(), std::mem::take(&mut from(self).outgoing));
        for sent in sent {
            let (payload, signed) = (sent.payload.to_vec(), Some((sent.key, sent.sig)));
            let stored = self
                .bus
                .store(Stream::Decisions, now, sent.subject, payload, signed);
            assert!(stored);
        }
        let (stream, all) = (Stream::Decisions, usize::MAX);
        self.ada.deliver(&self.bus, stream, all, Death::No).await;
    }

    async fn goes(&mut self, way: Way) {
        let key = self.asks(if way == Way::Agreed { 2 } else { 1 }).await;
        match way {
            Way::Decided => self.ada.work(vec![approve(&key, false)], Death::No).await,
            Way::HeldFirst => {
                self.ada.work(vec![approve(&key, true)], Death::No).await;
                self.clock.turn(LONGEST_HOLD_MS);
                self.ada.work(Vec::new(), Death::No).await;
            }
            Way::BesideTheConsole => {
                self.ada.work_beside(vec![approve(&key, false)]).await;
                self.ada.work(vec![Job::Rescan], Death::No).await;
            }
            Way::Agreed => {
                self.grace.work(vec![approve(&key, false)], Death::No).await;
                self.carry(|desk| &mut desk.grace).await;
                self.ada.work(vec![approve(&key, false)], Death::No).await;
                self.carry(|desk| &mut desk.ada).await;
            }
            Way::Expired => {
                self.clock.turn(LIFETIME_MS);
                self.ada.work(Vec::new(), Death::No).await;
            }
        }
        assert_eq!(self.ada.outgoing.len(), 1, "{way:?}");
    }

    async fn alarms(&mut self) -> Vec<(String, String)> {
        let mut select = self
            .ada
            .store()
            .prepare("SELECT code, subject FROM alarms")
            .unwrap();
        let all = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        all.unwrap().collect::<Result<_, _>>().unwrap()
    }
}

fn approve(key: &RequestKey, hold: bool) -> Job {
    let command = DecideCommand {
        hold,
        ..DecideCommand::by_operator(key.clone(), Verdict::Approve)
    };
    Job::Decide(Box::new(command), oneshot::channel().0)
}

#[tokio::test]
async fn what_the_bus_does_not_take_in_time_is_an_alarm_on_whichever_way_it_was_decided() {
    for way in [
        Way::Decided,
        Way::HeldFirst,
        Way::BesideTheConsole,
        Way::Agreed,
        Way::Expired,
    ] {
        let mut desk = Desk::rests().await;
        desk.goes(way).await;
        desk.clock.turn(ON_BUS_MS - 1);
        desk.ada.work(Vec::new(), Death::No).await;
        assert_eq!(desk.alarms().await, [], "{way:?}");
        desk.clock.turn(1);
        desk.ada.work(Vec::new(), Death::No).await;
        let reported = ("stalled_not_on_bus".to_owned(), "acme/bot/r1".to_owned());
        assert_eq!(desk.alarms().await, [reported], "{way:?}");
    }
}

#[tokio::test]
async fn a_decision_that_only_names_this_consoles_key_tells_nothing_of_its_outbox() {
    let mut desk = Desk::rests().await;
    let request = desk.asks(1).await;
    let (key, now) = (desk.ada.identity.human_key(), desk.clock.now());
    let subject = "countersign.v1.decision.acme.bot.r1".to_owned();
    let signed = Some((key.to_string(), "AAAA".to_owned()));
    let (stream, all) = (Stream::Decisions, usize::MAX);
    desk.bus.store(stream, now, subject, b"{}".to_vec(), signed);
    desk.ada.deliver(&desk.bus, stream, all, Death::No).await;
    assert_eq!(desk.ada.state(&request).as_deref(), Some("void"));
    let state = desk.ada.state.as_ref().unwrap();
    assert_eq!(state.outbox_moved_at, None);
}
