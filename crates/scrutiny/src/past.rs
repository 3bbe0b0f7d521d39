//! What people approved and denied before, as counts per place.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::{LazyLock, OnceLock};

use crate::call::Call;
use crate::cell::Cell;
use crate::cells;
use crate::domain_name::Domain;
use crate::facts::{Fact, Kind};
use crate::shown::shown;

/// Approved calls of which all values are known, and denied ones.
const ROWS: usize = 40;

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

/// The values of one call.
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    pub(crate) digest: String,
    /// The day of the call, as days since 1970.
    pub(crate) today: Option<i64>,
    /// What keeps it from being remembered twice; may be empty.
    id: String,
}

/// Values and how many of the newest approved calls had each.
pub(crate) type Forms = HashMap<String, usize>;

/// A host as it is compared, its letters, how often it was approved at a place, and that place.
type Host = (Domain, String, u32, String);

/// Where a place's values are: row and cell.
type Columns = HashMap<String, Vec<(usize, usize)>>;

/// Gives the keyed digest of a value that looks like a secret, none for others.
pub type Hide = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The past of one agent's tool.
#[derive(Default)]
pub struct Past {
    places: HashMap<(Kind, String), HashMap<String, Habit>>,
    /// The newest approved calls, the newest last.
    rows: VecDeque<Row>,
    columns: OnceLock<Columns>,
    forms: OnceLock<HashMap<String, Forms>>,
    /// Calls that people denied, the newest last.
    pub(crate) denials: VecDeque<(Row, Denial)>,
    hide: Option<Hide>,
    /// Approved hosts as they are compared, and how often; made when they are first asked for.
    hosts: OnceLock<Vec<Host>>,
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

    /// Learns the values of a call that people approved, or that a person denied; the newest 40 are kept, those with
    /// the same id once. Whether it was new.
    pub fn remember(&mut self, id: &str, call: &Call<'_>, denial: Option<&Denial>) -> bool {
        let known = self
            .rows
            .iter()
            .chain(self.denials.iter().map(|(row, _)| row));
        if !id.is_empty() && known.into_iter().any(|row| row.id == id) {
            return false;
        }
        let row = Row {
            cells: cells::of(call).to_vec(),
            digest: call.digest.clone(),
            today: call.today,
            id: id.to_owned(),
        };
        match denial {
            None => {
                self.columns = OnceLock::new();
                self.forms = OnceLock::new();
                self.denials
                    .retain(|(denied, _)| denied.digest.is_empty() || denied.digest != row.digest);
                self.rows.push_back(row);
                self.rows.drain(..self.rows.len().saturating_sub(ROWS));
            }
            Some(denial) => {
                self.denials.push_back((row, denial.clone()));
                self.denials
                    .drain(..self.denials.len().saturating_sub(ROWS));
            }
        }
        true
    }

    /// The newest approved calls, the newest last.
    pub(crate) fn rows(&self) -> &VecDeque<Row> {
        &self.rows
    }

    /// The values that the newest approved calls had at a place, each with the number of its call.
    pub(crate) fn column<'p>(
        &'p self,
        place: &str,
    ) -> impl Iterator<Item = (usize, &'p Cell)> + use<'p> {
        let columns = self.columns.get_or_init(|| {
            let mut columns = Columns::new();
            for (number, row) in self.rows.iter().enumerate() {
                for (at, cell) in row.cells.iter().enumerate() {
                    columns
                        .entry(cell.place.clone())
                        .or_default()
                        .push((number, at));
                }
            }
            columns
        });
        let places = columns.get(place).map_or(&[][..], Vec::as_slice);
        places
            .iter()
            .map(|(row, at)| (*row, &self.rows[*row].cells[*at]))
    }

    /// The values that the newest approved calls had at a place, and how many calls had each.
    pub(crate) fn forms(&self, place: &str) -> &Forms {
        static NONE: LazyLock<Forms> = LazyLock::new(Forms::new);
        let all = self.forms.get_or_init(|| {
            let mut all: HashMap<String, Forms> = HashMap::new();
            for row in &self.rows {
                let mut seen = HashSet::new();
                for cell in &row.cells {
                    if seen.insert((&cell.place, &cell.form)) {
                        let forms = all.entry(cell.place.clone()).or_default();
                        *forms.entry(cell.form.clone()).or_default() += 1;
                    }
                }
            }
            all
        });
        all.get(place).unwrap_or(&NONE)
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

    pub(crate) fn hosts(&self) -> &[Host] {
        self.hosts.get_or_init(|| {
            let places = self.places.iter().filter(|((of, _), _)| *of == Kind::Host);
            let all = places.flat_map(|((_, place), values)| {
                values
                    .iter()
                    .map(move |(host, habit)| (place, host, habit.approved))
            });
            all.filter(|(.., approved)| *approved > 0)
                .map(|(place, host, approved)| {
                    (Domain::of(host), host.clone(), approved, place.clone())
                })
                .collect()
        })
    }

    /// Whether a host of this registrable domain was approved anywhere.
    pub(crate) fn knows_domain(&self, domain: &str) -> bool {
        self.hosts().iter().any(|(known, ..)| known.name == domain)
    }

    /// Whether a value was approved anywhere.
    pub(crate) fn knows(&self, kind: Kind, value: &str) -> bool {
        let value = self.key(value);
        self.anywhere(kind).any(|(known, _)| known == value)
    }

    /// Whether about each approved call had a value of its own at a place.
    pub(crate) fn varies(&self, place: &str) -> bool {
        let forms = self.forms(place);
        let calls: usize = forms.values().sum();
        calls < 3 || forms.len() * 3 >= calls * 2
    }

    /// The approved call that shares the most of what names something, the rarest counting most; of those the newest.
    pub(crate) fn nearest(&self, cells: &[Cell]) -> Option<&Row> {
        let mut shares = vec![0.0; self.rows.len()];
        for cell in cells.iter().filter(|cell| cell.names()) {
            let mut rows: Vec<usize> = self
                .column(&cell.place)
                .filter(|(_, of)| of.form == cell.form)
                .map(|(row, _)| row)
                .collect();
            rows.dedup();
            let rare = (1.0 + self.rows.len() as f64 / rows.len().max(1) as f64).ln();
            rows.into_iter().for_each(|row| shares[row] += rare);
        }
        let best = shares
            .iter()
            .enumerate()
            .max_by(|(_, one), (_, other)| f64::total_cmp(one, other));
        self.rows.get(best?.0)
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
