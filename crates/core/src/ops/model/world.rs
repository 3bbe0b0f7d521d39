//! Two consoles, a bus, a clock, and the judgement in the end.

use std::collections::BTreeSet;
use std::sync::Arc;

use countersign_wire::{RequestKey, Stream, args_digest, decision_subject, receipt_subject};
use serde_json::json;
use tokio::sync::oneshot;

use super::bus::MemoryBus;
use super::console::{Console, Death, ModelClock, identity};
use super::expected::{deadline, expected};
use super::realm::ModelRealm;
use super::script::{REQUESTS, Step};
use crate::clock::Clock;
use crate::domain::Timestamp;
use crate::identity::Identity;
use crate::ops::DecideCommand;
use crate::ops::decide::undo;
use crate::ops::job::Job;
use crate::ops::outcome;
use crate::ops::publisher::Settled;
use crate::store::audit;

const OTHER: &str = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
const ASKED: Timestamp = Timestamp(1_795_000_000_000);

pub(super) struct World {
    bus: MemoryBus,
    clock: ModelClock,
    consoles: Vec<Console>,
    realm: ModelRealm,
}

fn key(request: usize) -> RequestKey {
    format!("acme/bot/r{request}").parse().unwrap()
}

fn subject(word: &str, request: usize) -> String {
    format!("countersign.v1.{word}.acme.bot.r{request}")
}

impl World {
    pub(super) async fn new() -> Self {
        let clock = ModelClock::default();
        let folders = ["Ada", "Grace"].map(|name| (tempfile::tempdir().unwrap(), name));
        let known = folders.map(|(folder, name)| {
            let identity = identity(&folder, name);
            (folder, identity)
        });
        let realm = ModelRealm::of(&known.each_ref().map(|(_, identity)| &**identity));
        let mut world = Self {
            bus: MemoryBus::default(),
            clock,
            consoles: Vec::new(),
            realm,
        };
        let now = world.now();
        world.realm.store(&mut world.bus, now, usize::MAX);
        for (folder, identity) in known {
            let mut console = world.console(folder, identity).await;
            console
                .deliver(&world.bus, Stream::Decisions, usize::MAX, Death::No)
                .await;
            world.consoles.push(console);
        }
        world
    }

    async fn console(&self, folder: tempfile::TempDir, identity: Arc<Identity>) -> Console {
        let trusted = self.realm.trusted();
        Console::new(
            folder,
            identity,
            trusted,
            self.realm.realm,
            self.clock.clone(),
        )
        .await
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn store(&mut self, stream: Stream, subject: String, payload: Vec<u8>) {
        self.clock.turn(1);
        self.store_at_once(stream, subject, payload);
    }

    fn say(&mut self, subject: String, payload: Vec<u8>, at_once: bool) {
        if at_once {
            self.store_at_once(Stream::Requests, subject, payload);
        } else {
            self.store(Stream::Requests, subject, payload);
        }
    }

    fn store_at_once(&mut self, stream: Stream, subject: String, payload: Vec<u8>) {
        let now = self.now();
        self.bus.store(stream, now, subject, payload, None);
    }

    pub(super) async fn take(&mut self, step: Step) {
        match step {
            Step::Ask {
                request,
                lifetime_ms,
            } => self.ask(request, lifetime_ms),
            Step::Withdraw { request, at_once } => {
                self.say(subject("withdraw", request), b"{}".to_vec(), at_once);
            }
            Step::Tighten {
                request,
                to_ms,
                at_once,
            } => {
                let body = json!({"v": 1, "expires_at": ASKED.plus_ms(to_ms).rfc3339()});
                let body = serde_json::to_vec(&body).unwrap();
                self.say(subject("tighten", request), body, at_once);
            }
            Step::Report {
                request,
                stage,
                invented,
                other_digest,
            } => {
                self.report(request, stage, invented, other_digest);
            }
            Step::Forge { request } => {
                let forged = br#"{"v":1,"verdict":"approve"}"#.to_vec();
                self.store(Stream::Decisions, decision_subject(&key(request)), forged);
            }
            Step::Deliver {
                console,
                stream,
                count,
                death,
            } => {
                self.consoles[console]
                    .deliver(&self.bus, stream, count, death)
                    .await;
            }
            Step::CatchUp { console, first } => {
                self.consoles[console].catch_up(&self.bus, first).await;
            }
            Step::Decide {
                console,
                request,
                verdict,
                hold,
                death,
            } => {
                let (reply, _) = oneshot::channel();
                let command = DecideCommand {
                    hold,
                    ..DecideCommand::by_operator(key(request), verdict)
                };
                // A console that does not know the past takes no verdict.
                if self.consoles[console].caught_up {
                    let job = Job::Decide(Box::new(command), reply);
                    self.consoles[console].work(vec![job], death).await;
                }
            }
            Step::Undo { console, request } => {
                let (job, _) = Job::asked(move |writer, batch| undo(writer, batch, &key(request)));
                self.consoles[console].work(vec![job], Death::No).await;
            }
            Step::Publish {
                console,
                which,
                lost,
            } => self.publish(console, which, lost).await,
            Step::TakeBack {
                console,
                which,
                arrives,
                death,
            } => self.take_back(console, which, arrives, death).await,
            Step::Tick { console, death } => self.consoles[console].tick(death).await,
            Step::Wait { ms } => self.clock.turn(ms),
            Step::Die { console } => self.consoles[console].start().await,
        }
        self.check_states().await;
    }

    fn ask(&mut self, request: usize, lifetime_ms: i64) {
        let args = json!({"n": request});
        let body = json!({
            "v": 1, "kind": "tool_call", "request_id": format!("r{request}"), "workspace": "acme",
            "agent": {"name": "bot"}, "tool": {"name": "t"}, "args": args,
            "args_digest": args_digest(&args).unwrap().to_string(), "risk": "low",
            "allowed_verdicts": ["approve", "deny", "skip"], "requested_at": ASKED.rfc3339(),
            "expires_at": ASKED.plus_ms(lifetime_ms).rfc3339(),
        });
        let body = serde_json::to_vec(&body).unwrap();
        self.store(Stream::Requests, subject("request", request), body);
    }

    fn report(&mut self, request: usize, stage: &str, invented: bool, other_digest: bool) {
        let stored = self
            .bus
            .last(Stream::Decisions, &decision_subject(&key(request)));
        let body: serde_json::Value = stored
            .and_then(|stored| serde_json::from_slice(&stored.payload).ok())
            .unwrap_or_default();
        let id = match body["decision_id"].as_str() {
            Some(id) if !invented => id.to_owned(),
            _ => "invented".to_owned(),
        };
        let said = |stored: &&super::bus::Stored| {
            let body: serde_json::Value = serde_json::from_slice(&stored.payload).unwrap();
            body["decision_id"] == id.as_str() && body["stage"] == stage
        };
        let receipts = self.bus.of(Stream::Receipts).iter();
        let subject = receipt_subject(&key(request));
        // A console keeps the first of two that say the same stage of the same decision.
        if receipts
            .filter(|stored| stored.subject == subject)
            .any(|stored| said(&stored))
        {
            return;
        }
        let ran = args_digest(&json!({"n": request})).unwrap().to_string();
        let receipt = json!({
            "v": 1, "decision_id": id, "stage": stage, "at": ASKED.rfc3339(),
            "executed_args_digest": if other_digest { OTHER.to_owned() } else { ran },
        });
        let receipt = serde_json::to_vec(&receipt).unwrap();
        self.store(Stream::Receipts, subject, receipt);
    }

    /// The publisher's way with the bus, a try at a time.
    async fn publish(&mut self, console: usize, which: usize, lost: bool) {
        let waiting = &mut self.consoles[console].outgoing;
        if waiting.is_empty() {
            return;
        }
        let place = which % waiting.len();
        let outgoing = waiting[place].clone();
        let overdue = outgoing
            .deadline
            .is_some_and(|deadline| self.now() >= deadline);
        if !overdue {
            self.clock.turn(1);
            let signed = Some((outgoing.key.clone(), outgoing.sig.clone()));
            let (now, payload) = (self.now(), outgoing.payload.to_vec());
            let subject = outgoing.subject.clone();
            self.bus
                .store(Stream::Decisions, now, subject, payload, signed);
        }
        if lost {
            return;
        }
        let stored = self.bus.last(Stream::Decisions, &outgoing.subject);
        let job = match stored.map(|stored| stored.payload == outgoing.payload) {
            Some(true) => None,
            Some(false) => outcome(&outgoing, Ok(&Settled::Lost { who: String::new() })),
            None => outcome(&outgoing, Ok(&Settled::Late)),
        };
        self.consoles[console].outgoing.remove(place);
        if let Some(job) = job {
            self.consoles[console].work(vec![job], Death::No).await;
        }
    }

    /// What panic, a pause or a stop does to what was not sent; here of any verdict.
    async fn take_back(&mut self, console: usize, which: usize, arrives: bool, death: Death) {
        let waiting = &mut self.consoles[console].outgoing;
        if waiting.is_empty() {
            return;
        }
        let outgoing = waiting[which % waiting.len()].clone();
        let subject = outgoing.subject.clone();
        if self.bus.last(Stream::Decisions, &subject).is_some() {
            return;
        }
        waiting.retain(|other| other.id != outgoing.id);
        let why = "panic is on".to_owned();
        let job = outcome(&outgoing, Ok(&Settled::TakenBack { why })).unwrap();
        self.consoles[console].work(vec![job], death).await;
        if arrives {
            self.clock.turn(1);
            let signed = Some((outgoing.key, outgoing.sig));
            let (now, payload) = (self.now(), outgoing.payload.to_vec());
            self.bus
                .store(Stream::Decisions, now, subject, payload, signed);
        }
    }

    /// No console says "decided" of what no stream holds.
    async fn check_states(&mut self) {
        for console in &mut self.consoles {
            for request in 0..REQUESTS {
                let stored = self
                    .bus
                    .last(Stream::Decisions, &decision_subject(&key(request)));
                if stored.is_none() {
                    let state = console.state(&key(request));
                    assert!(
                        !matches!(state.as_deref(), Some("decided" | "void")),
                        "r{request} is {state:?} and nothing is stored"
                    );
                }
            }
        }
    }

    /// Everything is read and sent, and every deadline has passed.
    pub(super) async fn settle(&mut self) {
        for _ in 0..6 {
            self.clock.turn(11_000);
            for console in 0..self.consoles.len() {
                self.consoles[console]
                    .catch_up(&self.bus, Stream::Requests)
                    .await;
                self.consoles[console].tick(Death::No).await;
                // What nobody carries is found again.
                self.consoles[console]
                    .work(vec![Job::Rescan], Death::No)
                    .await;
                while !self.consoles[console].outgoing.is_empty() {
                    self.publish(console, 0, false).await;
                }
            }
        }
        for console in &mut self.consoles {
            console.catch_up(&self.bus, Stream::Requests).await;
        }
    }

    pub(super) async fn judge(mut self) {
        let mut asked = BTreeSet::new();
        for request in 0..REQUESTS {
            if self
                .bus
                .last(Stream::Requests, &subject("request", request))
                .is_some()
            {
                asked.insert(request);
            }
        }
        for request in &asked {
            let reported = expected(&self.bus, &key(*request));
            let reported = reported.unwrap_or_else(|| panic!("r{request} was never answered"));
            for console in &mut self.consoles {
                let of = format!("r{request}");
                let sql = "SELECT state, verdict, delivery FROM requests WHERE request_id = ?";
                let row: (String, String, String) = console
                    .store()
                    .query_row(sql, [&of], |row| {
                        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                    })
                    .unwrap();
                let expected = (
                    reported.state.to_owned(),
                    reported.verdict.clone(),
                    reported.delivery.clone(),
                );
                assert_eq!(row, expected, "r{request}");
                let sql = "SELECT deadline_at FROM requests WHERE request_id = ?";
                let shown: i64 = console
                    .store()
                    .query_row(sql, [&of], |row| row.get(0))
                    .unwrap();
                let decision = self
                    .bus
                    .last(Stream::Decisions, &decision_subject(&key(*request)));
                let at = decision.map_or(Timestamp(i64::MAX), |decision| decision.stamp);
                let last = deadline(&self.bus, &key(*request), at);
                assert_eq!(Timestamp(shown), last, "r{request}: the deadline");
                let sql = "SELECT code FROM alarms WHERE subject = ? AND code NOT LIKE 'stalled%' ORDER BY code";
                let alarms = console.texts(sql, &[&key(*request).to_string()]);
                assert_eq!(alarms, reported.alarms, "r{request}");
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let newcomer = identity(&folder, "Newcomer");
        let mut newcomer = self.console(folder, newcomer).await;
        newcomer.catch_up(&self.bus, Stream::Decisions).await;
        // The patience with executions that nobody decided.
        self.clock.turn(10_000);
        newcomer.tick(Death::No).await;
        let replayed = projection(&newcomer);
        for console in &mut self.consoles {
            console.tick(Death::No).await;
            assert_eq!(projection(console), replayed, "replayed from empty");
            assert_chain(console).await;
        }
    }
}

/// Everything that the streams alone decide.
fn projection(console: &Console) -> Vec<String> {
    const TABLES: [&str; 4] = [
        "SELECT json_array(request_id, state, verdict, origin, decided_at, delivery, deadline_at, tightened_at,
           withdrawn_at, args_digest, request_digest, stream_seq, stored_at) FROM requests ORDER BY request_id",
        "SELECT json_array(request_id, decision_id, verdict, effective, fault, origin, stream_seq, stored_at,
           request IS NULL) FROM decisions ORDER BY request_id",
        "SELECT json_array(request_id, decision_id, stage, at, stream_seq) FROM receipts
         ORDER BY request_id, decision_id, stage",
        "SELECT json_array(subject, code) FROM alarms WHERE code NOT LIKE 'stalled%' ORDER BY subject, code",
    ];
    let rows = TABLES.iter().flat_map(|table| console.texts(table, &[]));
    rows.collect()
}

async fn assert_chain(console: &mut Console) {
    let rows = audit::after(&console.reader, 0, 100_000).await.unwrap();
    let mut prev = vec![0; 32];
    for (row, seq) in rows.iter().zip(1..) {
        let detail = serde_json::from_str(&row.detail).unwrap();
        let fields = (
            row.seq,
            row.at.as_str(),
            row.actor.as_str(),
            row.action.as_str(),
            row.subject.as_str(),
        );
        let hash = audit::row_hash(&prev, fields, &detail).unwrap();
        assert_eq!(
            (row.seq, &row.prev, row.hash.as_slice()),
            (seq, &prev, hash.as_slice())
        );
        prev.clone_from(&row.hash);
    }
}
