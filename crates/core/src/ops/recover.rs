//! `bus recover`: gives a bus whose streams were lost or rolled back what this console knows of it.
//!
//! Only a bus of the same realm: elsewhere no signature would hold. Stored messages are never overwritten, and
//! read-only ends after every decision is on the stream again. Requests are left out: their subjects are the agents',
//! and a new stamp would lengthen their lives. A decision that comes late by its new stamp carries this console's
//! attestation of the old one.

mod again;
mod last_moments;
mod values;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{RequestKey, SignedEnvelope, Stream};
use futures::StreamExt;
use serde_json::json;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use self::again::{Again, SubjectState};
use super::alarms;
use super::apply::bus_state::recovered;
use super::lost_anchors;
use super::realm::{LogRecovery, put_back};
use super::rollback::{Remembered, epoch_after, epoch_of, is_renewed};
use crate::Fault;
use crate::bus::{Bus, Founding, PublishOutcome, StreamStatus, Survey};
use crate::runtime::{App, Role};
use crate::store::bus_stream::Position;
use crate::store::republish::{self, Kind};
use crate::store::{Reader, audit, bus_stream, meta};

/// Decisions read at once.
const PAGE: i64 = 500;
/// Decisions that are compared with the stream at once.
const AT_ONCE: usize = 64;
/// How long the console may take to join again and to read everything.
const JOIN_LIMIT: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);
/// Conflicts listed by name; the rest are counted and recorded in the audit log.
const NAMED: usize = 20;

/// What was done, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Streams that the bus lacks and that are made.
    pub created: Vec<&'static str>,
    /// Streams that were made anew by somebody, or rolled back.
    pub changed: Vec<&'static str>,
    /// What becomes of the realm log.
    pub log: LogRecovery,
    /// Of the decisions.
    pub decisions: Count,
    /// Of the votes.
    pub votes: Count,
    /// The first requests on which the stream has another decision, or another vote of the same key.
    pub conflicting: Vec<RequestKey>,
}

/// What became of the messages of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// How many this console knows.
    pub known: u64,
    /// How many are published again.
    pub republished: u64,
    /// How many the stream has already.
    pub left: u64,
    /// How many have another one in their place.
    pub conflicts: u64,
}

impl Count {
    /// How many were looked at.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.republished + self.left + self.conflicts
    }

    async fn of(reader: &Reader, kind: Kind) -> Result<Self, Fault> {
        let known = republish::count(reader, kind).await?;
        Ok(Self {
            known,
            ..Self::default()
        })
    }
}

impl Recovery {
    /// Whether the bus is as this console remembers it.
    #[must_use]
    pub fn is_needless(&self) -> bool {
        self.created.is_empty() && self.changed.is_empty()
    }
}

impl App {
    /// Publishes the decisions and votes that this console knows again, with their bytes and signatures and in their
    /// order, on a bus whose streams were lost or rolled back, then lets the console join it. What is stored there is
    /// left. Can be run again at any time, and by several consoles at once. With `dry_run` it only reports.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` when the bus cannot be recovered so, `ErrorCode::BusUnreachable` when it does not answer;
    /// then run it again.
    pub async fn recover(
        &self,
        dry_run: bool,
        mut progress: impl FnMut(&Recovery),
    ) -> Result<Recovery, Fault> {
        let Some(realm) = self.realm() else {
            return Err(Fault::usage(
                "this folder has never connected to a bus; there is nothing to recover",
            ));
        };
        let bus = self.bus().ok_or_else(|| {
            Fault::bus_unreachable("the bus cannot be reached; try again when it is back")
        })?;
        let survey = bus.survey().await?;
        let positions = bus_stream::all(self.reader()).await?;
        check(&survey, realm)?;
        let mut recovery = Recovery {
            created: survey.missing.clone(),
            changed: self.changed(&bus, &survey, &positions).await?,
            decisions: Count::of(self.reader(), Kind::Decision).await?,
            votes: Count::of(self.reader(), Kind::Vote).await?,
            ..Recovery::default()
        };
        if recovery.is_needless() {
            return Ok(recovery);
        }
        let made = if dry_run {
            recovery.log = put_back(&self.inner.shared, &bus, true).await?;
            survey
        } else {
            let founding = Founding {
                realm,
                root: *self.inner.shared.trusted.log().root(),
            };
            bus.ensure(Some(&founding), self.inner.shared.replicas)
                .await?;
            self.renew_epochs(&bus, &positions).await?;
            // The log comes first: what is stored behind it is judged by it.
            recovery.log = put_back(&self.inner.shared, &bus, false).await?;
            if !recovery.log.parted.is_empty() {
                return Err(parted(&recovery.log));
            }
            self.republish_policy(&bus).await?;
            bus.survey().await?
        };
        let at = Target {
            bus: &bus,
            realm,
            dry_run,
            absent: made.missing.contains(&Stream::Decisions.name()),
        };
        // Decisions first: who reads enough votes and no decision makes one.
        for kind in [Kind::Decision, Kind::Vote] {
            self.republish(at, kind, &mut recovery, &mut progress)
                .await?;
        }
        if dry_run {
            return Ok(recovery);
        }
        // Also where only another stream is known to have changed: a folder that was put back holds fewer anchors, and
        // no position of that stream is kept that would show it.
        self.republish_anchors(&bus).await?;
        self.join_again(&bus, &positions, &recovery).await?;
        Ok(recovery)
    }

    async fn stream_marks(&self, positions: &[Position]) -> Result<Remembered, Fault> {
        let console = self.identity().console_id.into();
        Remembered::read(self.reader(), console, positions.to_vec()).await
    }

    /// The streams that are not the remembered ones: another epoch, or other messages than were read.
    async fn changed(
        &self,
        bus: &Bus,
        survey: &Survey,
        positions: &[Position],
    ) -> Result<Vec<&'static str>, Fault> {
        let known = self.stream_marks(positions).await?;
        let back = known.rollback(bus, &survey.streams).await?;
        let differs = |stream: &&StreamStatus| {
            !is_as_remembered(stream, positions) || back.iter().any(|of| of.stream == stream.name)
        };
        let streams = survey.streams.iter().filter(differs);
        Ok(streams.map(|stream| stream.name).collect())
    }

    /// A stream that was rolled back would number its next messages as the lost ones were. Where one was, all streams
    /// begin anew: what another one has lost may have been removed since from what is left of it.
    async fn renew_epochs(&self, bus: &Bus, positions: &[Position]) -> Result<(), Fault> {
        let survey = bus.survey().await?;
        let known = self.stream_marks(positions).await?;
        let back = known.rollback(bus, &survey.streams).await?;
        let at = |stream: &StreamStatus| positions.iter().find(|at| at.stream == stream.name);
        // By another console, or by this one before it was cut off.
        let renewed = |stream| at(stream).is_some_and(|at| is_renewed(stream, at));
        if back.is_empty() && !survey.streams.iter().any(renewed) {
            return Ok(());
        }
        for stream in &survey.streams {
            if let Some(position) = at(stream).filter(|at| epoch_of(stream) == at.epoch) {
                bus.renew_epoch(stream.name, epoch_after(&position.epoch))
                    .await?;
            }
        }
        Ok(())
    }

    async fn republish(
        &self,
        at: Target<'_>,
        kind: Kind,
        recovery: &mut Recovery,
        progress: &mut impl FnMut(&Recovery),
    ) -> Result<(), Fault> {
        let keys = self.identity().signing();
        let (absent, dry_run) = (at.absent, at.dry_run);
        let mut last = 0;
        loop {
            let page = republish::page(self.reader(), kind, last, PAGE).await?;
            let Some(end) = page.last() else {
                return Ok(());
            };
            last = end.id;
            // Started in their order; one after the other a slow link would take hours.
            let mut looks = futures::stream::iter(page.into_iter().filter_map(Again::of))
                .map(|message| {
                    let (bus, realm, keys) = (at.bus.clone(), at.realm, Arc::clone(&keys));
                    let reader = self.reader();
                    async move {
                        let place = match absent {
                            true => Ok(SubjectState::Empty),
                            false => message.look(&bus).await,
                        };
                        let place = match place {
                            Ok(SubjectState::Empty) if !dry_run => {
                                message.put(&bus, &realm, (reader, &keys.auto)).await
                            }
                            place => place,
                        };
                        (message, place)
                    }
                })
                .buffered(AT_ONCE);
            while let Some((message, place)) = looks.next().await {
                let place = place?;
                let count = match kind {
                    Kind::Decision => &mut recovery.decisions,
                    Kind::Vote => &mut recovery.votes,
                };
                match place {
                    SubjectState::Empty => count.republished += 1,
                    SubjectState::Same => count.left += 1,
                    SubjectState::Other => {
                        count.conflicts += 1;
                        if !at.dry_run {
                            self.note_conflict(&message).await?;
                        }
                        if recovery.conflicting.len() < NAMED {
                            recovery.conflicting.push(message.request);
                        }
                    }
                }
            }
            progress(recovery);
        }
    }

    /// Two decisions on one request, or two votes of one key: the stream's is the one that agents read now.
    async fn note_conflict(&self, message: &Again) -> Result<(), Fault> {
        let digest = countersign_wire::Sha256Digest::of_bytes(&message.row.payload).to_string();
        let name = message.request.to_string();
        let code = crate::domain::AlarmCode::RecoverConflict;
        self.submit(alarms::raise(code, name.clone())).await?;
        let detail = json!({
            "payload_digest": digest,
            "stream": Stream::Decisions.name(),
            "voter": message.row.voter,
        });
        self.record("recover_conflict", name, detail).await
    }

    /// The signed heads of this console's audit log, where its subject has none.
    async fn republish_anchors(&self, bus: &Bus) -> Result<(), Fault> {
        let console = self.identity().console_id.to_string();
        let there = lost_anchors::on_the_bus(bus, &console).await?;
        let there: HashSet<&[u8]> = there.iter().map(|anchor| &anchor.payload[..]).collect();
        for anchor in audit::anchors(self.reader()).await? {
            if there.contains(&anchor.payload[..]) {
                continue;
            }
            let Ok(sig) = anchor.sig.parse() else {
                continue;
            };
            // One of an earlier key of this console keeps its signer.
            let Some(key) = lost_anchors::signer(&self.inner.shared, &anchor) else {
                continue;
            };
            let envelope = SignedEnvelope::of_parts(&anchor.payload, key.into(), sig);
            let Ok(bytes) = envelope.to_bytes() else {
                continue;
            };
            match bus.publish_anchor(&console, bytes.into()).await {
                PublishOutcome::Stored { .. } => {}
                PublishOutcome::Refused { .. } | PublishOutcome::NoAnswer => {
                    return Err(no_answer());
                }
            }
        }
        Ok(())
    }

    /// Sets the positions to the streams as they are now, and waits until the console has joined them.
    async fn join_again(
        &self,
        bus: &Bus,
        positions: &[Position],
        recovery: &Recovery,
    ) -> Result<(), Fault> {
        let survey = bus.survey().await?;
        let stale = self.changed(bus, &survey, positions).await?;
        let epochs: BTreeMap<&'static str, String> = survey
            .streams
            .iter()
            .filter(|stream| stale.contains(&stream.name))
            .filter_map(|stream| Some((stream.name, stream.epoch?.to_string())))
            .collect();
        let detail = json!({
                "created": recovery.created,
                "changed": recovery.changed,
                "log": recovery.log.detail(),
                "republished": recovery.decisions.republished,
                "left": recovery.decisions.left,
                "conflicts": recovery.decisions.conflicts,
                "votes": {
                    "republished": recovery.votes.republished,
                    "left": recovery.votes.left,
                    "conflicts": recovery.votes.conflicts,
                },
        });
        self.ask(move |writer, batch| recovered(writer, batch, &epochs, &detail))
            .await?;
        let give_up = Instant::now() + JOIN_LIMIT;
        loop {
            let joined = match self.role() {
                Role::Console => {
                    self.health().borrow().read_only.is_none() && *self.caught_up().borrow()
                }
                _ => meta::get(self.reader(), meta::READ_ONLY)
                    .await?
                    .is_none_or(|why| why.is_empty()),
            };
            if joined {
                return Ok(());
            }
            if Instant::now() >= give_up {
                return Err(Fault::read_only(
                    "the decisions are on the bus again, and the console has not joined it yet; see `countersign status`",
                ));
            }
            sleep(LOOK).await;
        }
    }
}

fn parted(log: &LogRecovery) -> Fault {
    let digests: Vec<String> = log.parted.iter().map(ToString::to_string).collect();
    Fault::read_only(format!(
        "the realm log on the bus went on without entries that this console knows ({}); nothing was changed. See docs/recover.md",
        digests.join(", ")
    ))
}

/// Where messages go, and whether they go at all.
#[derive(Clone, Copy)]
struct Target<'a> {
    bus: &'a Bus,
    realm: Uuid,
    dry_run: bool,
    /// The stream is missing, and so are its messages.
    absent: bool,
}

/// Whether a stream has the epoch that this console remembers, or is one that it does not know yet.
fn is_as_remembered(stream: &StreamStatus, positions: &[Position]) -> bool {
    let position = positions.iter().find(|at| at.stream == stream.name);
    position.is_none_or(|at| epoch_of(stream) == at.epoch)
}

fn no_answer() -> Fault {
    Fault::bus_unreachable(
        "the bus did not answer; what is stored stays, run `countersign bus recover` again",
    )
}

/// Whether the streams are of the realm that this folder knows.
///
/// # Errors
/// `ErrorCode::ReadOnly` for those of another one: no signature of this folder would hold there.
pub fn check_realm(survey: &Survey, realm: Uuid) -> Result<(), Fault> {
    match survey.realm.filter(|other| *other != realm) {
        None => Ok(()),
        Some(other) => Err(Fault::read_only(format!(
            "the streams on this bus belong to realm {other} and this folder to {realm}, under which all its decisions are signed; connect to the right bus, or, if these streams hold nothing of worth, let its administrator delete them and run `countersign bus recover`"
        ))),
    }
}

/// Refuses a bus on which this console's signatures cannot hold, or whose settings break a promise.
fn check(survey: &Survey, realm: Uuid) -> Result<(), Fault> {
    check_realm(survey, realm)?;
    // Streams that name no realm at all cannot be this folder's either.
    let Some(difference) = survey.differences.first() else {
        return Ok(());
    };
    Err(Fault::read_only(format!(
        "{} of {} is {} instead of {}; set it back first",
        difference.field, difference.stream, difference.found, difference.expected
    )))
}
