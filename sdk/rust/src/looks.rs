//! Looks at the realm log, and at a decision beside it (protocol, section 8).
//!
//! It believes only what two looks in a row show alike: so all of it was there at one moment. Slots are read on a
//! connection of their own, because the client library ends one on which a header line comes that it cannot parse.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_wire::{Enrolment, realm_subject};
use futures::future::{BoxFuture, FutureExt, Shared, try_join_all};
use uuid::Uuid;

use crate::GateError;
use crate::bus::{Bus, BusFault};
use crate::judge::{StoredMessage, Trust};
use crate::log::{Log, LogFault, fold};
use crate::login::Login;

/// Slots that are asked for at once.
const WINDOW: usize = 64;

/// The log that one gate knows, and how it is read.
pub(crate) struct Looks {
    realm: Uuid,
    /// None where the agent was told to believe anybody.
    reading: Option<Arc<Reading>>,
}

type Restart = Shared<BoxFuture<'static, Result<(), BusFault>>>;

struct Reading {
    slots: Bus,
    log: Mutex<Log>,
    restarting: Mutex<Option<Restart>>,
    reported: Mutex<Option<String>>,
}

/// What one look shows.
#[derive(PartialEq)]
struct Seen {
    /// The slots that were known when it began: the last one read, and the first one that was not.
    from: (Option<StoredMessage>, u64),
    decision: Option<StoredMessage>,
    last: Option<StoredMessage>,
    new: Vec<StoredMessage>,
}

impl Looks {
    /// Connects, where the enrolment names a log.
    pub(crate) async fn connect(enrolment: &Enrolment, login: &Login) -> Result<Self, GateError> {
        let reading = match &enrolment.log {
            Some(head) => Some(Arc::new(Reading {
                slots: Bus::connect(enrolment, login).await?,
                log: Mutex::new(Log::new(enrolment.realm, head)),
                restarting: Mutex::default(),
                reported: Mutex::default(),
            })),
            None => None,
        };
        let realm = enrolment.realm;
        Ok(Self { realm, reading })
    }

    /// Who may sign, as it was read last.
    pub(crate) fn trust(&self) -> Trust {
        match &self.reading {
            Some(reading) => Trust::Log(Arc::clone(&lock(&reading.log).state)),
            None => Trust::Anyone(self.realm),
        }
    }

    /// Why nothing that lets a call run may be believed.
    pub(crate) fn fault(&self) -> Option<LogFault> {
        let reading = self.reading.as_ref()?;
        lock(&reading.log).fault
    }

    /// Reads what is new. What cannot be read now is read at the next look.
    pub(crate) async fn refresh(&self) -> Result<(), GateError> {
        let Some(reading) = &self.reading else {
            return Ok(());
        };
        match reading.both(None).await {
            Err(BusFault::Final(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// The decision that is stored on the subject; where one is, the trust is as it was at the same moment.
    pub(crate) async fn decision(
        &self,
        bus: &Bus,
        subject: &str,
    ) -> Result<Option<StoredMessage>, BusFault> {
        match &self.reading {
            Some(reading) => reading.both(Some((bus, subject))).await,
            None => bus.decision(subject).await,
        }
    }

    pub(crate) async fn close(&self) {
        if let Some(reading) = &self.reading {
            reading.slots.close().await;
        }
    }
}

impl Reading {
    async fn both(
        self: &Arc<Self>,
        decision: Option<(&Bus, &str)>,
    ) -> Result<Option<StoredMessage>, BusFault> {
        let found = self.agreed(decision).await;
        if let Err(BusFault::Passing(why)) = &found {
            self.report(format!(
                "nothing is believed while the log of operators cannot be read: {why}"
            ));
        }
        found
    }

    async fn agreed(
        self: &Arc<Self>,
        decision: Option<(&Bus, &str)>,
    ) -> Result<Option<StoredMessage>, BusFault> {
        if lock(&self.log).fault.is_some() {
            self.restart().await?;
        }
        let mut before: Option<Seen> = None;
        loop {
            let (last, first) = match &*lock(&self.log) {
                log if log.fault.is_none() => (log.last.clone(), log.state.next_slot),
                _ => break,
            };
            let expected = before.as_ref().map_or(0, |seen| seen.new.len());
            let again = last.as_ref().map(|slot| slot.subject.as_str());
            let (stored, read, new) = self.look(decision, again, first, expected).await?;
            if decision.is_some() && stored.is_none() {
                return Ok(None);
            }
            let seen = Seen {
                from: (last, first),
                decision: stored,
                last: read,
                new,
            };
            {
                let mut log = lock(&self.log);
                let moved = (&log.last, log.state.next_slot) != (&seen.from.0, seen.from.1);
                if moved || before.as_ref() != Some(&seen) {
                    before = Some(seen);
                    continue;
                }
                if log.extend(seen.last.as_ref(), &seen.new) {
                    return Ok(seen.decision);
                }
            }
            before = None;
            self.restart().await?;
        }
        match decision {
            Some((bus, subject)) => bus.decision(subject).await,
            None => Ok(None),
        }
    }

    /// Reads from the first slot on. All who wait share one reading, and it goes on where they wait no longer.
    fn restart(self: &Arc<Self>) -> Restart {
        let mut held = lock(&self.restarting);
        if let Some(running) = held.as_ref().filter(|restart| restart.peek().is_none()) {
            return running.clone();
        }
        let reading = Arc::clone(self);
        let task = tokio::spawn(async move { reading.read_whole().await });
        let ended = task.map(|ended| ended.unwrap_or_else(|why| Err(failed(&why))));
        let restart = ended.boxed().shared();
        *held = Some(restart.clone());
        restart
    }

    async fn read_whole(&self) -> Result<(), BusFault> {
        let (realm, root, n) = {
            let log = lock(&self.log);
            (*log.state.realm(), *log.state.root(), log.known.0)
        };
        let mut expected = usize::try_from(n).unwrap_or(WINDOW);
        let mut slots = Arc::new(self.look(None, None, 1, expected).await?.2);
        let state = loop {
            expected = slots.len();
            let first = Arc::clone(&slots);
            // Folded while the second look is on its way.
            let folding = tokio::task::spawn_blocking(move || fold(realm, root, &first));
            let again = self.look(None, None, 1, expected).await?.2;
            if again == *slots {
                break folding.await.map_err(|why| failed(&why))?;
            }
            slots = Arc::new(again);
        };
        let mut log = lock(&self.log);
        log.restart(state, &slots);
        match log.fault {
            Some(fault) => self.report(format!(
                "{}: the bus lacks entry {} of the log of operators; nothing that lets a call run is believed until \
                 it is there again",
                fault.as_str(),
                log.known.0
            )),
            None => *lock(&self.reported) = None,
        }
        Ok(())
    }

    /// What is stored there, and in every slot from `first` on until one is free. So many are expected.
    async fn look(
        &self,
        decision: Option<(&Bus, &str)>,
        last: Option<&str>,
        first: u64,
        expected: usize,
    ) -> Result<
        (
            Option<StoredMessage>,
            Option<StoredMessage>,
            Vec<StoredMessage>,
        ),
        BusFault,
    > {
        let mut window = (expected + 1).min(WINDOW);
        let decision = async {
            match decision {
                Some((bus, subject)) => bus.decision(subject).await,
                None => Ok(None),
            }
        };
        let last = async {
            match last {
                Some(subject) => self.slots.decision(subject).await,
                None => Ok(None),
            }
        };
        let (decision, last, mut got) =
            tokio::try_join!(decision, last, self.window(first, window))?;
        let mut slots = Vec::new();
        loop {
            let asked = got.len();
            let taken: Vec<_> = got.into_iter().map_while(|slot| slot).collect();
            let is_end = taken.len() < asked;
            slots.extend(taken);
            if is_end {
                return Ok((decision, last, slots));
            }
            window = (2 * window).min(WINDOW);
            let read = u64::try_from(slots.len()).unwrap_or(u64::MAX);
            got = self.window(first.saturating_add(read), window).await?;
        }
    }

    async fn window(
        &self,
        first: u64,
        size: usize,
    ) -> Result<Vec<Option<StoredMessage>>, BusFault> {
        let size = u64::try_from(size).unwrap_or_default();
        let slots = (first..first.saturating_add(size))
            .map(|slot| async move { self.slots.decision(&realm_subject(slot)).await });
        try_join_all(slots).await
    }

    fn report(&self, why: String) {
        let mut reported = lock(&self.reported);
        if reported.as_ref() != Some(&why) {
            tracing::warn!("{why}");
        }
        *reported = Some(why);
    }
}

fn failed(why: &tokio::task::JoinError) -> BusFault {
    BusFault::Passing(format!("the log was not read: {why}"))
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
