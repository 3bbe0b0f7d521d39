//! Writes an entry: the only way in (protocol, section 8, "Writing").
//!
//! Two writers at once: one gets the slot, the other decides anew from the new state. Nothing is merged.

use std::time::Duration;

use countersign_wire::realm::{Entry, Realm, Word};
use countersign_wire::{PublicKey, Sha256Digest, Stream, realm_subject};
use futures::{StreamExt, stream};
use nkeys::KeyPair;
use serde_json::{Map, Value, json};

use crate::Fault;
use crate::bus::{Bus, BusError, POLICY_STREAM, Publication, StreamMessage};
use crate::ops::job::Job;
use crate::runtime::Shared;

/// Slots that are tried, each of which may hold what somebody else was faster with.
const TRIES: usize = 40;
/// Slots that are asked for at once.
const SLOTS_AT_ONCE: usize = 64;
/// How long the console may take to read what it has written.
const SEEN_LIMIT: Duration = Duration::from_secs(5);

/// The fields that an entry has beside its frame; none where there is nothing to change.
pub(super) type Fields = Option<Map<String, Value>>;

/// What became of a change.
#[derive(Debug, Clone)]
pub struct Written {
    /// False where everything was so already.
    pub changed: bool,
    /// Number of the head.
    pub n: u64,
    /// Digest of the head; none before entry 1.
    pub digest: Option<Sha256Digest>,
}

impl Written {
    fn of(log: &Realm, changed: bool) -> Self {
        let head = log.chain.last();
        Self {
            changed,
            n: head.map_or(0, |head| head.n),
            digest: head.map(|head| head.digest),
        }
    }
}

/// Reads the slots from the stream's leader, from the first that is not known, until one is free.
pub(super) async fn look(bus: &Bus, log: &mut Realm) -> Result<(), BusError> {
    let mut at_once = 1;
    loop {
        let slots = (log.next_slot..).take(at_once);
        let mut reads = stream::iter(slots)
            .map(async |slot| (slot, read_slot(bus, slot).await))
            .buffered(at_once);
        while let Some((slot, read)) = reads.next().await {
            let Some(message) = read? else { return Ok(()) };
            log.apply(slot, message.seq, &message.payload);
        }
        // A whole log is read faster, and the end of one costs a question.
        at_once = (at_once * 2).min(SLOTS_AT_ONCE);
    }
}

async fn read_slot(bus: &Bus, slot: u64) -> Result<Option<StreamMessage>, BusError> {
    bus.read_last(Stream::Decisions.name(), &realm_subject(slot))
        .await
}

/// Reads the log where nothing else does: a process beside the console knows it as of its start.
pub(crate) async fn refresh(shared: &Shared, bus: &Bus) -> Result<(), Fault> {
    let mut log = Realm::clone(&shared.trusted.log());
    if log.chain.is_empty() {
        return Ok(());
    }
    let before = log.next_slot;
    look(bus, &mut log).await?;
    if log.next_slot != before {
        shared.trusted.set(log);
    }
    Ok(())
}

/// What writes entries of this process.
#[derive(Clone, Copy)]
pub(super) struct Pen<'a> {
    pub(super) shared: &'a Shared,
    pub(super) bus: &'a Bus,
    /// Whether this process projects the stream: then an entry counts once it came back.
    pub(super) projects: bool,
}

impl Pen<'_> {
    /// Signs what `change` makes of the state and publishes it on the next free slot. `change` is asked again whenever
    /// somebody else was faster.
    ///
    /// # Errors
    /// What `change` says; `ErrorCode::InvalidArgs` and `ErrorCode::ReadOnly` where the entry would not take effect;
    /// `ErrorCode::BusUnreachable` where nothing answers, or no slot was free in 40 tries.
    pub(super) async fn write(
        self,
        signer: &KeyPair,
        change: impl Fn(&Realm) -> Result<Fields, Fault>,
    ) -> Result<Written, Fault> {
        let Self { shared, bus, .. } = self;
        let mut log = Realm::clone(&shared.trusted.log());
        let mut signed: Option<(u64, Vec<u8>)> = None;
        for _ in 0..TRIES {
            look(bus, &mut log).await?;
            let head = log.chain.last().map_or(0, |head| head.n);
            if head == 0 {
                return Err(Fault::bus_unreachable(
                    "the realm log has no entry yet, and nothing is written before its first; try again in a moment",
                ));
            }
            let bytes = match signed.take().filter(|(at, _)| *at == head) {
                Some((_, bytes)) => bytes,
                None => {
                    let Some(fields) = change(&log)? else {
                        return Ok(Written::of(&log, false));
                    };
                    let policy = policy_mark(shared, bus).await?;
                    match sealed(shared, &log, signer, fields, policy)? {
                        Some(bytes) => bytes,
                        None => return Ok(Written::of(&log, false)),
                    }
                }
            };
            if publish(bus, &mut log, &bytes).await? {
                self.seen(&log).await;
                return Ok(Written::of(&log, true));
            }
            signed = Some((head, bytes));
        }
        Err(Fault::bus_unreachable(
            "no slot of the realm log was free in 40 tries; nothing was changed, try again",
        ))
    }

    /// Waits until this process knows the entry, and its store has it.
    async fn seen(self, log: &Realm) {
        let trusted = &self.shared.trusted;
        let Some(head) = log.chain.last() else { return };
        if !self.projects {
            trusted.set(log.clone());
            return;
        }
        let mut changes = trusted.changes();
        let kept = async {
            let _ = changes
                .wait_for(|known| known.holds(head.n, &head.digest))
                .await;
            // The log is known inside of the transaction that stores it.
            let (job, stored) = Job::asked(|_, _| Ok(()));
            self.shared.notify(job).await;
            let _ = stored.await;
        };
        if tokio::time::timeout(SEEN_LIMIT, kept).await.is_err() {
            tracing::warn!("the entry is stored, and was not read again yet");
        }
    }
}

/// Publishes bytes on the next free slot and reads that slot, whatever was acknowledged. True where it holds them.
pub(super) async fn publish(bus: &Bus, log: &mut Realm, bytes: &[u8]) -> Result<bool, Fault> {
    let slot = log.next_slot;
    let subject = realm_subject(slot);
    let publication = Publication {
        subject: subject.clone(),
        payload: bytes.to_vec().into(),
        key: None,
        sig: None,
    };
    // Silence and refusals are settled by the look.
    let outcome = bus.publish_once(publication).await;
    let stored = bus.read_last(Stream::Decisions.name(), &subject).await?;
    let Some(message) = stored else {
        tracing::warn!(slot, ?outcome, "the entry is not stored yet");
        return Ok(false);
    };
    log.apply(slot, message.seq, &message.payload);
    Ok(message.payload == bytes)
}

/// What the bus has of the shared policy now: what was signed before counts on.
async fn policy_mark(shared: &Shared, bus: &Bus) -> Result<Value, Fault> {
    let Some(epoch) = shared.trusted.policy_epoch() else {
        return Ok(Value::Null);
    };
    let seq = bus.last_sequence(POLICY_STREAM).await?;
    Ok(json!({"epoch": epoch, "seq": seq}))
}

/// The entry for the head, which takes effect; none where it would change nothing.
fn sealed(
    shared: &Shared,
    log: &Realm,
    signer: &KeyPair,
    fields: Map<String, Value>,
    policy: Value,
) -> Result<Option<Vec<u8>>, Fault> {
    let failed = || {
        Fault::failed(
            "the entry could not be signed; check this console's keys with `countersign doctor`",
        )
    };
    let by = PublicKey::of(signer).map_err(|_| failed())?;
    let now = countersign_wire::Timestamp::new(shared.clock.now().into());
    let head = log.chain.last();
    let (n, prev) = (
        head.map_or(1, |head| head.n + 1),
        head.map(|head| head.digest),
    );
    let mut payload = Entry::frame(n, prev, &now.to_string(), &by);
    payload["policy"] = policy;
    for (name, value) in fields {
        payload[name] = value;
    }
    let bytes = Entry::seal(signer, log.realm(), &payload).map_err(|_| failed())?;
    let entry = Entry::read(&bytes).ok_or_else(too_large)?;
    match log.judge(&entry) {
        Word::Ok => Ok(Some(bytes)),
        Word::NoChange => Ok(None),
        word => Err(refused(word)),
    }
}

fn too_large() -> Fault {
    Fault::invalid_args("this change is too large for one entry of the realm log; make it in parts")
}

/// Why an entry that would not take effect is not written.
fn refused(word: Word) -> Fault {
    match word {
        Word::UnknownKey | Word::NotNext | Word::BadSignature | Word::Gap => Fault::read_only(
            "this console's key is not in force, so what it signs changes no operators; see `countersign operators list`",
        ),
        Word::LastAdmin => Fault::invalid_args(
            "this would leave the realm without an administrator; make another operator one first (`countersign operators admin KEY on`)",
        ),
        Word::KeyTaken => Fault::invalid_args(
            "a key that was named once never comes in again; the person starts a console with a new data folder",
        ),
        Word::BadRecord => Fault::invalid_args(
            "an operator needs a name and a desk key, and an administrator has no limits; nothing was changed",
        ),
        Word::NotPermitted => Fault::invalid_args(
            "this changes what only its holder may change, such as another person's keys; nothing was changed",
        ),
        word => Fault::invalid_args(format!("the change would not take effect ({word})")),
    }
}
