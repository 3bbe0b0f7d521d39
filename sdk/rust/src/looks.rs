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

/// What one look shows: what is stored in places that were named, and in slots from one on until one is free.
type Look = (Vec<Option<StoredMessage>>, Vec<StoredMessage>);

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
        let mut before = None;
        loop {
            let from = match &*lock(&self.log) {
                log if log.fault.is_none() => (log.last.clone(), log.state.next_slot),
                _ => break,
            };
            let again = from
                .0
                .iter()
                .map(|slot| (&self.slots, slot.subject.as_str()));
            let places: Vec<_> = decision.into_iter().chain(again).collect();
            let expected = before
                .as_ref()
                .map_or(0, |(_, look): &(_, Look)| look.1.len());
            let look = self.look(&places, from.1, expected).await?;
            let stored = decision.and_then(|_| look.0.first()).cloned().flatten();
            if decision.is_some() && stored.is_none() {
                return Ok(None);
            }
            let seen = Some((from, look));
            if before != seen {
                before = seen;
                continue;
            }
            let extended = {
                let mut log = lock(&self.log);
                let now = (log.last.clone(), log.state.next_slot);
                let as_it_was = seen.filter(|(from, _)| *from == now);
                as_it_was.map(|(_, look)| log.extend(look.0.last(), &look.1))
            };
            match extended {
                Some(true) => return Ok(stored),
                Some(false) => {
                    before = None;
                    self.restart().await?;
                }
                // Somebody else read on meanwhile.
                None => {}
            }
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
        let mut slots = Arc::new(self.look(&[], 1, expected).await?.1);
        let state = loop {
            expected = slots.len();
            let first = Arc::clone(&slots);
            // Folded while the second look is on its way.
            let folding = tokio::task::spawn_blocking(move || fold(realm, root, &first));
            let again = self.look(&[], 1, expected).await?.1;
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

    /// So many slots are expected to be taken.
    async fn look(
        &self,
        places: &[(&Bus, &str)],
        first: u64,
        expected: usize,
    ) -> Result<Look, BusFault> {
        let mut window = expected.saturating_add(1).min(WINDOW);
        let places = places.iter().map(|(bus, subject)| bus.decision(subject));
        let (places, mut got) = tokio::try_join!(try_join_all(places), self.window(first, window))?;
        let mut slots = Vec::new();
        loop {
            let asked = got.len();
            let taken: Vec<_> = got.into_iter().map_while(|slot| slot).collect();
            let is_end = taken.len() < asked;
            slots.extend(taken);
            if is_end {
                return Ok((places, slots));
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
