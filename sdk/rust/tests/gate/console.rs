//! A console as small as a test needs: it reads requests, signs, and stores.

use std::time::Duration;

use async_nats::{Client, HeaderMap, Subscriber};
use countersign_sdk::wire::{
    Context, DecidedBy, KeyRole, NkeySeed, OperatorEntry, OperatorList, PublicKey, Receipt,
    Sha256Digest, SignedEnvelope, Timestamp, TrustedKey, Vote, VoteAttachment, args_digest,
    decision_subject, parse_receipt, parse_request, policy_subject, receipt_subject, sign,
    vote_subject,
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
        Self {
            server,
            client,
            realm: Uuid::new_v4(),
            human: KeyPair::new_user(),
            auto: KeyPair::new_user(),
            agent,
            requests,
        }
    }

    pub(crate) fn enrolment(&self) -> Enrolment {
        let trusted = |pair: &KeyPair, name: &str, role| TrustedKey {
            key: public(pair),
            name: name.into(),
            role,
        };
        Enrolment {
            nats_url: self.server.url(),
            workspace: self.agent.workspace.parse().unwrap(),
            agent: self.agent.agent.parse().unwrap(),
            nkey_seed: NkeySeed::new(&self.agent.key.seed),
            inbox_prefix: self.agent.inbox_prefix(),
            realm: self.realm,
            trusted_keys: vec![
                trusted(&self.human, "Ada", KeyRole::Human),
                trusted(&self.auto, "console", KeyRole::Auto),
            ],
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
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap_or_default());
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
                key: public(pair),
            },
            decided_at: stamp(),
        };
        let payload = serde_json::to_vec(&vote).unwrap();
        let subject = vote_subject(&seen.key, &public(pair));
        let sig = sign(pair, Context::Vote, &self.realm, &subject, &payload).unwrap();
        VoteAttachment::new(public(pair), subject, &payload, sig)
    }

    /// Stores the list of operators, signed by `signer`.
    pub(crate) async fn list_operators(&self, signer: &KeyPair, listed: &[(&KeyPair, KeyRole)]) {
        let from: Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
        let entries = listed
            .iter()
            .map(|(pair, role)| OperatorEntry::new(public(pair), "operator".into(), *role, from));
        self.list_terms(signer, entries.collect()).await;
    }

    /// The same with terms of any kind.
    pub(crate) async fn list_terms(&self, signer: &KeyPair, terms: Vec<OperatorEntry>) {
        let list = OperatorList::new(terms);
        let subject = policy_subject("operators");
        let payload = serde_json::to_vec(&list).unwrap();
        let sealed =
            SignedEnvelope::seal(signer, Context::Policy, &self.realm, &subject, &payload).unwrap();
        let value = sealed.to_bytes().unwrap();
        self.client.request(subject, value.into()).await.unwrap();
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
