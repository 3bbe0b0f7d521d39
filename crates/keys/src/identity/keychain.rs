//! Seeds in the operating system's keychain: on Linux the desktop's Secret Service.
//!
//! It waits at most [`LIMIT`], and a seed counts as kept only after it was read back.

use std::fmt;
use std::future::Future;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use uuid::Uuid;

use super::desktop_secrets::{Attributes, DesktopSecrets, SecretError};
use super::seeds::{KeyPlace, SeedError, SeedName, SeedStore};

/// The most that one seed may take; a healthy service answers in milliseconds.
const LIMIT: Duration = Duration::from_secs(3);
const APPLICATION: &str = "countersign";

/// The keychain's entries of one console.
#[derive(Debug, Clone)]
pub(super) struct Keychain {
    console: String,
}

impl Keychain {
    pub(super) fn new(console: Uuid) -> Self {
        Self {
            console: console.to_string(),
        }
    }

    fn attributes(&self, name: SeedName) -> Attributes<'_> {
        Attributes::from([
            ("application", APPLICATION),
            ("console", self.console.as_str()),
            ("key", name.as_str()),
        ])
    }

    fn failed(&self, at: String, why: &dyn fmt::Display) -> SeedError {
        SeedError {
            place: KeyPlace::Keychain,
            at,
            why: why.to_string(),
        }
    }

    /// Runs `work` on a thread of its own, as this is called inside and outside of a runtime.
    fn ask<T, F>(
        &self,
        at: String,
        work: impl FnOnce(DesktopSecrets) -> F + Send + 'static,
    ) -> Result<T, SeedError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, SecretError>>,
    {
        let (answer, answered) = mpsc::sync_channel(1);
        let asking = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| error.to_string())?;
            let asked = async { work(DesktopSecrets::connect().await?).await };
            let ended = runtime.block_on(async { tokio::time::timeout(LIMIT, asked).await });
            // What the bus's client still does must not hold this thread.
            runtime.shutdown_background();
            match ended {
                Ok(done) => done.map_err(|error| error.to_string()),
                Err(_) => Err(format!("it did not answer within {} s", LIMIT.as_secs())),
            }
        };
        let spawned = thread::Builder::new()
            .name("keychain".to_owned())
            // Nobody waits any more when the answer finds no taker.
            .spawn(move || drop(answer.send(asking())));
        if let Err(error) = spawned {
            return Err(self.failed(at, &error));
        }
        match answered.recv_timeout(LIMIT * 2) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(why)) => Err(self.failed(at, &why)),
            Err(_) => Err(self.failed(at, &"it does not answer")),
        }
    }
}

impl SeedStore for Keychain {
    fn place(&self) -> KeyPlace {
        KeyPlace::Keychain
    }

    fn describe(&self, name: SeedName) -> String {
        format!(
            "the keychain's entry {APPLICATION} {} {}",
            self.console,
            name.as_str()
        )
    }

    fn usable(&self) -> Result<(), SeedError> {
        self.ask("the system's keychain".to_owned(), async |service| {
            service.collection().await.map(|_| ())
        })
    }

    fn get(&self, name: SeedName) -> Result<Option<String>, SeedError> {
        let asked = self.clone();
        self.ask(self.describe(name), async move |service| {
            service.get(&asked.attributes(name)).await
        })
    }

    fn put(&self, name: SeedName, seed: &str) -> Result<(), SeedError> {
        let (asked, text) = (self.clone(), seed.to_owned());
        let label = format!(
            "Countersign: {} key of console {}",
            name.as_str(),
            self.console
        );
        let kept = self.ask(self.describe(name), async move |service| {
            let attributes = asked.attributes(name);
            service.put(&attributes, &label, &text).await?;
            Ok(service.get(&attributes).await? == Some(text))
        })?;
        match kept {
            true => Ok(()),
            false => Err(self.failed(
                self.describe(name),
                &"it returned something other than what was stored",
            )),
        }
    }

    fn remove(&self, name: SeedName) -> Result<(), SeedError> {
        let asked = self.clone();
        self.ask(self.describe(name), async move |service| {
            service.remove(&asked.attributes(name)).await
        })
    }
}
