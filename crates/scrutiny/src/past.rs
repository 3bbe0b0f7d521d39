//! What people approved and denied before, as counts per place.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::OnceLock;

use crate::domain_name::Domain;
use crate::facts::{Fact, Kind};
use crate::shown::shown;

/// A value at a place, and how often.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Habit {
    /// Calls that people approved.
    pub approved: u32,
    /// Calls that people denied.
    pub denied: u32,
    /// The largest amount approved.
    pub most: Option<f64>,
    /// The newest denial.
    pub denial: Option<Denial>,
}

/// Who denied, when and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Denial {
    /// Name of the person.
    pub by: Option<String>,
    /// The server's stamp, ms; none where it is not known.
    pub at: Option<i64>,
    /// What the person wrote.
    pub why: Option<String>,
}

/// Gives the keyed digest of a value that looks like a secret, none for others.
pub type Hide = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The past of one agent's tool.
#[derive(Default)]
pub struct Past {
    places: HashMap<(Kind, String), HashMap<String, Habit>>,
    hide: Option<Hide>,
    /// Approved hosts as they are compared, and how often; made when they are first asked for.
    hosts: OnceLock<Vec<(Domain, String, u32)>>,
}

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Past")
            .field("places", &self.places.len())
            .finish()
    }
}

impl Past {
    /// Nothing yet; values that look like secrets are compared by their digests.
    #[must_use]
    pub fn hiding(hide: Hide) -> Self {
        Self {
            hide: Some(hide),
            ..Self::default()
        }
    }

    /// Adds what is stored of a value to what is known of it; the newest denial comes last.
    pub fn insert(&mut self, kind: Kind, place: &str, value: &str, habit: Habit) {
        self.hosts = OnceLock::new();
        let place = self.places.entry((kind, place.to_owned())).or_default();
        let known = place.entry(value.to_owned()).or_default();
        known.approved += habit.approved;
        known.denied += habit.denied;
        known.most = match (known.most, habit.most) {
            (Some(most), Some(other)) => Some(most.max(other)),
            (most, other) => most.or(other),
        };
        known.denial = habit.denial.or(known.denial.take());
    }

    /// The places of these facts that hold more than so many values.
    #[must_use]
    pub fn full(&self, facts: &[Fact], most: usize) -> BTreeSet<(Kind, String)> {
        let places = facts.iter().map(|fact| (fact.kind, fact.place.clone()));
        let full =
            |place: &(Kind, String)| self.places.get(place).is_some_and(|of| of.len() > most);
        places.filter(full).collect()
    }

    /// Learns the facts of a call that people approved so many times.
    pub fn approve(&mut self, facts: &[Fact], times: u32) {
        for fact in facts {
            let habit = self.habit(fact);
            habit.approved += times;
            if fact.kind == Kind::Args {
                // The same arguments were approved: what a person denied of them before is over.
                (habit.denied, habit.denial) = (0, None);
            }
            habit.most = match (habit.most, fact.amount) {
                (Some(most), Some(amount)) => Some(most.max(amount)),
                (most, amount) => most.or(amount),
            };
        }
    }

    /// Learns the facts of a call that a person denied.
    pub fn deny(&mut self, facts: &[Fact], denial: &Denial) {
        for fact in facts.iter().filter(|fact| fact.kind.is_kept_of_a_denial()) {
            let habit = self.habit(fact);
            habit.denied += 1;
            habit.denial = Some(denial.clone());
        }
    }

    fn habit(&mut self, fact: &Fact) -> &mut Habit {
        let value = self.key(&fact.value);
        if fact.kind == Kind::Host {
            self.hosts = OnceLock::new();
        }
        let place = self
            .places
            .entry((fact.kind, fact.place.clone()))
            .or_default();
        place.entry(value).or_default()
    }

    /// A value as it is kept: a secret as its digest.
    #[must_use]
    pub fn key(&self, value: &str) -> String {
        self.hidden(value).unwrap_or_else(|| value.to_owned())
    }

    pub(crate) fn hidden(&self, value: &str) -> Option<String> {
        self.hide.as_ref().and_then(|hide| hide(value))
    }

    /// Calls that people approved.
    pub(crate) fn calls(&self) -> u32 {
        self.count(Kind::Call, "", "")
    }

    /// How many approved calls had this value there.
    pub(crate) fn count(&self, kind: Kind, place: &str, value: &str) -> u32 {
        self.get(kind, place, value)
            .map_or(0, |habit| habit.approved)
    }

    pub(crate) fn get(&self, kind: Kind, place: &str, value: &str) -> Option<&Habit> {
        let place = self.places.get(&(kind, place.to_owned()))?;
        place.get(self.key(value).as_str())
    }

    /// Approved values at a place.
    pub(crate) fn at<'a>(
        &'a self,
        kind: Kind,
        place: &str,
    ) -> impl Iterator<Item = (&'a str, &'a Habit)> + use<'a> {
        let place = self.places.get(&(kind, place.to_owned()));
        let values = place
            .into_iter()
            .flatten()
            .map(|(value, habit)| (value.as_str(), habit));
        values.filter(|(_, habit)| habit.approved > 0)
    }

    /// Approved values of a kind, wherever they were.
    pub(crate) fn anywhere(&self, kind: Kind) -> impl Iterator<Item = (&str, &Habit)> {
        let places = self.places.iter().filter(move |((of, _), _)| *of == kind);
        let values = places
            .flat_map(|(_, values)| values.iter().map(|(value, habit)| (value.as_str(), habit)));
        values.filter(|(_, habit)| habit.approved > 0)
    }

    pub(crate) fn hosts(&self) -> &[(Domain, String, u32)] {
        self.hosts.get_or_init(|| {
            let all = self.anywhere(Kind::Host);
            all.map(|(host, habit)| (Domain::of(host), host.to_owned(), habit.approved))
                .collect()
        })
    }

    /// Whether a value was approved anywhere.
    pub(crate) fn knows(&self, kind: Kind, value: &str) -> bool {
        let value = self.key(value);
        self.anywhere(kind).any(|(known, _)| known == value)
    }

    /// What a person denied in one call and nobody approved: kind, place, and the value as it is kept.
    pub(crate) fn denied_with(&self, denial: &Denial) -> Vec<(Kind, &str, &str)> {
        let places = self.places.iter().flat_map(|((kind, place), values)| {
            let denied = values.iter().filter(|(_, habit)| habit.denied > 0);
            let denied = denied.filter(|(_, habit)| habit.denial.as_ref() == Some(denial));
            denied.map(|(value, _)| (*kind, place.as_str(), value.as_str()))
        });
        let new = |(kind, place, value): &(Kind, &str, &str)| match kind {
            Kind::Args => false,
            Kind::Flag => self.count(*kind, place, value) == 0,
            _ => !self.anywhere(*kind).any(|(known, _)| known == *value),
        };
        places.filter(new).collect()
    }

    /// Whether about each approved call had a value of its own at a place.
    pub(crate) fn varies(&self, place: &str) -> bool {
        let calls = usize::try_from(self.count(Kind::Has, place, "")).unwrap_or(usize::MAX);
        calls >= 4
            && self.at(Kind::Value, place).count().saturating_mul(3) >= calls.saturating_mul(2)
    }

    /// The denial of a value, wherever it was.
    pub(crate) fn denial(&self, kind: Kind, value: &str) -> Option<&Denial> {
        let value = self.key(value);
        let places = self.places.iter().filter(|((of, _), _)| *of == kind);
        let mut habits = places.filter_map(|(_, values)| values.get(&value));
        habits.find(|habit| habit.denied > 0)?.denial.as_ref()
    }
}

impl Past {
    /// A value as a person reads it: escaped, at most 80 characters, a secret not at all.
    pub(crate) fn shown(&self, value: &str) -> String {
        if self.hidden(value).is_some() || value.starts_with("hidden:") {
            return "a hidden value".to_owned();
        }
        shown(value)
    }
}
