//! A console as small as a test needs: it reads requests, signs, and stores.

use std::time::Duration;

use async_nats::{Client, HeaderMap, Subscriber};
use countersign_sdk::wire::{
    Context, DecidedBy, LogHead, NkeySeed, PublicKey, Receipt, Sha256Digest, Timestamp, Vote,
    VoteAttachment, args_digest, decision_subject, parse_receipt, parse_request,
    realm::{Entry, SigningKey},
    realm_subject, receipt_subject, sign, vote_subject,
};
use countersign_sdk::{Ask, Enrolment, Gate, GateBuilder, Timing};
use countersign_testkit::{AgentCredentials, TestServer};
use futures::StreamExt;
use nkeys::KeyPair;
use serde_json::{Value, json};
use tokio::time::timeout;
use uuid::Uuid;

pub(crate) const LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct Console {
    pub(crate) server: TestServer,
    pub(crate) client: Client,
    pub(crate) realm: Uuid,
    pub(crate) human: KeyPair,
    pub(crate) auto: KeyPair,
    pub(crate) agent: AgentCredentials,
    pub(crate) requests: Subscriber,
    /// The last entry of the log.
    pub(crate) head: LogHead,
    /// The slot that is free.
    pub(crate) free: u64,
}

/// A request as the console sees it.
pub(crate) struct Seen {
    pub(crate) key: countersign_sdk::wire::RequestKey,
    pub(crate) digest: Sha256Digest,
    pub(crate) args_digest: Option<Sha256Digest>,
    pub(crate) payload: Vec<u8>,
}

/// A decision on its way: every part can be spoilt before it is stored.
pub(crate) struct Draft {
    pub(crate) subject: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) key: Option<String>,
    pub(crate) sig: Option<String>,
}

pub(crate) fn stamp() -> Timestamp {
    "2026-11-21T12:00:00.000Z".parse().unwrap()
}

pub(crate) fn public(pair: &KeyPair) -> PublicKey {
    PublicKey::of(pair).unwrap()
}

/// Limits short enough for tests; it never looks for an answer without a hint.
pub(crate) fn quick() -> Timing {
    let mut timing = Timing::default();
    timing.looks = vec![Duration::from_secs(60)];
    timing.exchange = Duration::from_secs(1);
    timing.unknown_key = Duration::from_millis(300);
    timing
}

pub(crate) fn delete_invoice() -> Ask {
    use countersign_sdk::Verdict::{Approve, Deny, Modify, Respond, Skip, Terminate};
    Ask::tool("delete_invoice", json!({ "invoice_id": "INV-42" }))
        .allow([Approve, Modify, Deny, Respond, Skip, Terminate])
        .timeout(Duration::from_secs(20))
}

pub(crate) fn copy(pair: &KeyPair) -> KeyPair {
    KeyPair::from_seed(&pair.seed().unwrap()).unwrap()
}

fn merge(into: &mut Value, more: Value) {
    let more = more.as_object().cloned().unwrap_or_default();
    into.as_object_mut().unwrap().extend(more);
}

impl Console {
    pub(crate) async fn start() -> Self {
        let mut server = TestServer::start().await;
        server.console_with_streams().await;
        let agent = server.agent("acme", "billing-bot").await;
        let client = async_nats::ConnectOptions::with_nkey(server.console_key().seed.clone())
            .connect(server.url())
            .await
            .unwrap();
        let requests = client.subscribe("countersign.v1.request.>").await.unwrap();
        client.flush().await.unwrap();
        let nothing = Sha256Digest::of_bytes(b"");
        let mut made = Self {
            server,
            client,
            realm: Uuid::new_v4(),
            human: KeyPair::new_user(),
            auto: KeyPair::new_user(),
            agent,
            requests,
            head: LogHead {
                root: nothing,
                n: 0,
                digest: nothing,
            },
            free: 1,
        };
        let founding = json!({ "operators": [made.founder()], "realm": { "acceptance": false } });
        let human = copy(&made.human);
        made.write(&human, founding).await;
        made
    }

    /// The record of the console's own person.
    pub(crate) fn founder(&self) -> Value {
        let id = public(&self.human);
        let auto = SigningKey::of_pair(&self.auto, &self.realm, &id, "auto", None).unwrap();
        let mut record = self.record(&self.human, json!({ "admin": true }));
        record["keys"].as_array_mut().unwrap().push(auto);
        record
    }

    /// An operator's record with one key.
    pub(crate) fn record(&self, pair: &KeyPair, more: Value) -> Value {
        let id = public(pair);
        let key = SigningKey::of_pair(pair, &self.realm, &id, "human", None).unwrap();
        let mut record = json!({ "id": id, "name": "operator", "keys": [key] });
        merge(&mut record, more);
        record
    }

    /// The next entry, which nobody has stored.
    pub(crate) fn entry(&self, by: &KeyPair, change: Value) -> Vec<u8> {
        let prev = (self.head.n > 0).then_some(self.head.digest);
        let mut payload = Entry::frame(self.head.n + 1, prev, "now", &public(by));
        merge(&mut payload, change);
        Entry::seal(by, &self.realm, &payload).unwrap()
    }

    /// Signs the next entry and stores it.
    pub(crate) async fn write(&mut self, by: &KeyPair, change: Value) {
        let message = self.entry(by, change);
        let digest = Entry::read(&message).unwrap().digest;
        let n = self.head.n + 1;
        let root = if n == 1 { digest } else { self.head.root };
        self.head = LogHead { root, n, digest };
        self.fill(message, HeaderMap::new()).await;
    }

    /// Anything at all in the free slot.
    pub(crate) async fn fill(&mut self, message: Vec<u8>, headers: HeaderMap) {
        let subject = realm_subject(self.free);
        self.free += 1;
        let reply = self
            .client
            .request_with_headers(subject, headers, message.into());
        let ack: Value = serde_json::from_slice(&reply.await.unwrap().payload).unwrap();
        assert!(ack.get("error").is_none(), "{ack}");
    }

    /// What the console's own person changes.
    pub(crate) async fn change(&mut self, records: &[Value]) {
        let human = copy(&self.human);
        self.write(&human, json!({ "operators": records })).await;
    }

    /// A new operator with these limits and the like.
    pub(crate) async fn let_in(&mut self, more: Value) -> KeyPair {
        let pair = KeyPair::new_user();
        let record = self.record(&pair, more);
        self.change(&[record]).await;
        pair
    }

    /// An operator ends.
    pub(crate) async fn end(&mut self, pair: &KeyPair) {
        self.change(&[json!({ "id": public(pair), "keys": [] })])
            .await;
    }

    pub(crate) fn enrolment(&self) -> Enrolment {
        Enrolment {
            nats_url: self.server.url(),
            workspace: self.agent.workspace.parse().unwrap(),
            agent: self.agent.agent.parse().unwrap(),
            nkey_seed: NkeySeed::new(&self.agent.key.seed),
            inbox_prefix: self.agent.inbox_prefix(),
            realm: self.realm,
            log: Some(self.head.clone()),
            tls: Default::default(),
            nats_creds: None,
        }
    }

    pub(crate) fn builder(&self) -> GateBuilder {
        Gate::builder(self.enrolment()).timing(quick())
    }

    pub(crate) async fn gate(&self) -> Gate {
        self.builder().connect().await.unwrap()
    }

    pub(crate) async fn next_request(&mut self) -> Seen {
        let message = timeout(LIMIT, self.requests.next()).await.unwrap().unwrap();
        let parsed = parse_request(&message.subject, &message.payload).unwrap();
        Seen {
            key: parsed.key,
            digest: parsed.request_digest,
            args_digest: parsed.args_digest,
            payload: message.payload.to_vec(),
        }
    }

    /// A decision of the operator with these fields in addition to the usual ones.
    pub(crate) fn decision(&self, seen: &Seen, verdict: &str, more: Value) -> Draft {
        self.signed(seen, verdict, more, &self.human, self.realm)
    }

    pub(crate) fn approval(&self, seen: &Seen) -> Draft {
        self.decision(seen, "approve", json!({ "args_digest": seen.args_digest }))
    }

    pub(crate) fn signed(
        &self,
        seen: &Seen,
        verdict: &str,
        more: Value,
        pair: &KeyPair,
        realm: Uuid,
    ) -> Draft {
        let mut body = json!({
            "v": 1, "decision_id": Uuid::now_v7(), "request_id": seen.key.request_id,
            "request_digest": seen.digest, "verdict": verdict, "origin": "operator",
            "decided_by": { "name": "Ada", "key": public(pair) }, "decided_at": stamp(),
        });
        merge(&mut body, more);
        let subject = decision_subject(&seen.key);
        let payload = serde_json::to_vec(&body).unwrap();
        let sig = sign(pair, Context::Decision, &realm, &subject, &payload).unwrap();
        Draft {
            subject,
            payload,
            key: Some(pair.public_key()),
            sig: Some(sig.to_string()),
        }
    }

    /// Stores a decision; false when the subject is taken.
    pub(crate) async fn store(&self, draft: Draft) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Last-Subject-Sequence", "0");
        for (name, value) in [("CS-Key", draft.key), ("CS-Sig", draft.sig)] {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
        let reply = self
            .client
            .request_with_headers(draft.subject, headers, draft.payload.into())
            .await
            .unwrap();
        let ack: Value = serde_json::from_slice(&reply.payload).unwrap();
        ack.get("error").is_none()
    }

    pub(crate) async fn approve(&self, seen: &Seen) {
        assert!(self.store(self.approval(seen)).await);
    }

    /// A vote inside a decision.
    pub(crate) fn vote(&self, seen: &Seen, pair: &KeyPair) -> VoteAttachment {
        let vote = Vote {
            message: None,
            v: 1,
            vote_id: Uuid::now_v7(),
            request_digest: seen.digest,
            verdict: countersign_sdk::Verdict::Approve,
            args_digest: seen.args_digest,
            edited_args: None,
            decided_by: DecidedBy {
                name: "operator".into(),
                key: public(pair).into(),
            },
            decided_at: stamp(),
        };
        let payload = serde_json::to_vec(&vote).unwrap();
        let subject = vote_subject(&seen.key, &public(pair).into());
        let sig = sign(pair, Context::Vote, &self.realm, &subject, &payload).unwrap();
        VoteAttachment::new(public(pair).into(), subject, &payload, sig)
    }

    /// Every receipt of the request that is stored, once there are so many.
    pub(crate) async fn receipts(&self, seen: &Seen, wanted: usize) -> Vec<Receipt> {
        let subject = receipt_subject(&seen.key);
        self.stored("CS_RECEIPTS", &subject, wanted)
            .await
            .iter()
            .map(|payload| parse_receipt(&subject, payload).unwrap())
            .collect()
    }

    /// What the stream holds on the subject, once there are so many messages.
    pub(crate) async fn stored(&self, stream: &str, subject: &str, wanted: usize) -> Vec<Vec<u8>> {
        let jetstream = async_nats::jetstream::new(self.client.clone());
        let stream = jetstream.get_stream(stream).await.unwrap();
        let config = async_nats::jetstream::consumer::pull::OrderedConfig {
            filter_subject: subject.into(),
            ..Default::default()
        };
        let consumer = stream.create_consumer(config).await.unwrap();
        let messages = consumer.messages().await.unwrap();
        let read = messages
            .take(wanted)
            .map(|message| message.unwrap().payload.to_vec());
        timeout(LIMIT, read.collect()).await.unwrap()
    }
}

pub(crate) fn digest_of(args: &Value) -> Sha256Digest {
    args_digest(args).unwrap()
}
