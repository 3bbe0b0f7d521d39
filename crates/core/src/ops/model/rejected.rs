//! A rejected request reads the same in whatever order its messages are read.

use countersign_wire::{
    Context, DecidedBy, Sha256Digest, Stream, Verdict, Vote, args_digest, request_digest, sign,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::bus::MemoryBus;
use super::console::{Console, Death, ModelClock, identity};
use super::realm::ModelRealm;
use crate::clock::Clock;
use crate::domain::Timestamp;

use Sent::{Rejected, Request, Voted, Withdraw};

const ASKED: Timestamp = Timestamp(1_795_000_000_000);
const NO_REQUEST: &[u8] = b"{}";

/// How a console comes to know what is stored.
#[derive(Debug, Clone, Copy)]
enum Reads {
    /// Each message when it is stored.
    AsStored,
    /// All that is stored, one stream after the other.
    First(Stream),
}

const ORDERS: [Reads; 3] = [
    Reads::AsStored,
    Reads::First(Stream::Requests),
    Reads::First(Stream::Decisions),
];

#[derive(Debug, Clone, Copy)]
enum Sent {
    Request,
    Voted,
    Withdraw,
    /// By a console, with its automatic key.
    Rejected,
}

struct Desk {
    console: Console,
    clock: ModelClock,
    bus: MemoryBus,
    realm: Uuid,
    request: Vec<u8>,
}

fn request() -> Vec<u8> {
    let args = json!({"n": 1});
    let body = json!({
        "v": 1, "kind": "tool_call", "request_id": "r1", "workspace": "acme",
        "agent": {"name": "bot"}, "tool": {"name": "t"}, "args": args,
        "args_digest": args_digest(&args).unwrap().to_string(), "risk": "low",
        "allowed_verdicts": ["approve"], "requested_at": ASKED.rfc3339(),
        "expires_at": ASKED.plus_ms(60_000).rfc3339(), "approvals_required": 2,
    });
    serde_json::to_vec(&body).unwrap()
}

impl Desk {
    async fn new(request: &[u8], waiting_limit: i64) -> Self {
        let (folder, clock) = (tempfile::tempdir().unwrap(), ModelClock::default());
        let identity = identity(&folder, "Ada");
        let realm = ModelRealm::of(&[&identity]);
        let mut bus = MemoryBus::default();
        realm.store(&mut bus, clock.now(), usize::MAX);
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
        console.state.as_mut().unwrap().waiting_limit = waiting_limit;
        Self {
            console,
            clock,
            bus,
            realm: realm.realm,
            request: request.to_vec(),
        }
    }

    fn store(&mut self, said: Sent) -> Stream {
        let by = self.console.identity.signing();
        let digest = request_digest(&self.request);
        let decided_at = countersign_wire::Timestamp::new(ASKED.into());
        let (word, tail, body, pair) = match said {
            Sent::Request => ("request", String::new(), None, &by.human),
            Sent::Withdraw => ("withdraw", String::new(), None, &by.human),
            Sent::Voted => {
                let vote = Vote {
                    v: 1,
                    vote_id: Uuid::now_v7(),
                    request_digest: digest,
                    verdict: Verdict::Approve,
                    args_digest: Some(Sha256Digest::of_bytes(br#"{"n":1}"#)),
                    edited_args: None,
                    message: None,
                    decided_by: DecidedBy {
                        name: "Ada".to_owned(),
                        key: by.human_key.clone().into(),
                    },
                    decided_at,
                };
                let body = serde_json::to_value(vote).unwrap();
                ("vote", format!(".{}", by.human_key), Some(body), &by.human)
            }
            Sent::Rejected => {
                let body = json!({
                    "v": 1, "decision_id": Uuid::now_v7(), "request_id": "r1",
                    "request_digest": digest, "verdict": "rejected", "origin": "system",
                    "decided_by": {"name": "desk", "key": by.auto_key}, "decided_at": decided_at,
                });
                ("decision", String::new(), Some(body), &by.auto)
            }
        };
        let stream = match said {
            Sent::Request | Sent::Withdraw => Stream::Requests,
            Sent::Voted | Sent::Rejected => Stream::Decisions,
        };
        let subject = format!("countersign.v1.{word}.acme.bot.r1{tail}");
        let context = match said {
            Sent::Voted => Context::Vote,
            _ => Context::Decision,
        };
        let payload = match (said, body) {
            (Sent::Request, _) => self.request.clone(),
            (_, body) => body.map_or(Vec::new(), |body: Value| serde_json::to_vec(&body).unwrap()),
        };
        let sig = sign(pair, context, &self.realm, &subject, &payload).unwrap();
        self.clock.turn(5);
        let signed = Some((pair.public_key(), sig.to_string()));
        self.bus
            .store(stream, self.clock.now(), subject, payload, signed);
        stream
    }

    /// Stores all and reads it.
    async fn lives(&mut self, said: &[Sent], reads: Reads) {
        if let Reads::AsStored = reads {
            self.console.catch_up(&self.bus, Stream::Requests).await;
        }
        for one in said {
            let stream = self.store(*one);
            if let Reads::AsStored = reads {
                let bus = &self.bus;
                self.console.deliver(bus, stream, 1, Death::No).await;
            }
        }
        if let Reads::First(stream) = reads {
            self.console.catch_up(&self.bus, stream).await;
        }
    }

    fn texts(&self, query: &'static str) -> Vec<String> {
        self.console.texts(query, &[])
    }

    /// State of the request, how its decision reads, which votes count, alarms, and what still waits for a request.
    fn reported(&self) -> [Vec<String>; 5] {
        [
            self.texts("SELECT state FROM requests"),
            self.texts("SELECT coalesce(effective, '') FROM decisions"),
            self.texts("SELECT CAST(coalesce(stands, 'unknown') AS TEXT) FROM votes"),
            self.texts("SELECT code FROM alarms ORDER BY code"),
            self.texts("SELECT kind FROM tombstones"),
        ]
    }
}

fn words(reported: [&[&str]; 5]) -> [Vec<String>; 5] {
    reported.map(|words| words.iter().map(|word| (*word).to_owned()).collect())
}

#[tokio::test]
async fn a_vote_on_what_is_no_request_is_void_whichever_is_read_first() {
    for said in [[Request, Voted, Withdraw], [Voted, Withdraw, Request]] {
        for reads in ORDERS {
            let mut desk = Desk::new(NO_REQUEST, 10).await;
            desk.lives(&said, reads).await;
            let expected = words([&["rejected"], &[], &["0"], &["void_vote"], &[]]);
            assert_eq!(desk.reported(), expected, "{said:?} {reads:?}");
        }
    }
}

#[tokio::test]
async fn nobody_withdraws_what_is_no_request() {
    for said in [[Request, Withdraw, Rejected], [Withdraw, Rejected, Request]] {
        for reads in ORDERS {
            let mut desk = Desk::new(NO_REQUEST, 10).await;
            desk.lives(&said, reads).await;
            let expected = words([&["rejected"], &["rejected"], &[], &[], &[]]);
            assert_eq!(desk.reported(), expected, "{said:?} {reads:?}");
        }
    }
}

#[tokio::test]
async fn a_request_that_its_agent_withdrew_before_a_console_without_room_answered_is_withdrawn() {
    let table = [
        ([Request, Withdraw, Rejected], "withdrawn"),
        ([Withdraw, Request, Rejected], "withdrawn"),
        ([Withdraw, Rejected, Request], "withdrawn"),
        ([Request, Rejected, Withdraw], "rejected"),
        ([Rejected, Withdraw, Request], "rejected"),
    ];
    for (said, reads_as) in table {
        for reads in ORDERS {
            // Where there is room, and at the console that has none.
            for waiting_limit in [10, 0] {
                let mut desk = Desk::new(&request(), waiting_limit).await;
                desk.lives(&said, reads).await;
                let expected = words([&[reads_as], &[reads_as], &[], &[], &[]]);
                assert_eq!(desk.reported(), expected, "{said:?} {reads:?}");
            }
        }
    }
}
