//! Makes a card of approved calls.

use countersign_scrutiny::{Call, named};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

use crate::card::{ApprovedCall, Change, PracticeCard};
use crate::change;
use crate::ids::another;
use crate::kind::ChangeKind;

/// One card in this many is unchanged.
const UNCHANGED: u32 = 4;

/// A card of one of these calls, the same for the same calls and seed. None where there are none, or where none of them
/// has a value that could be changed.
#[must_use]
pub fn make(approved: &[ApprovedCall], seed: u64) -> Option<PracticeCard> {
    let mut rng = StdRng::seed_from_u64(seed);
    let unchanged = rng.random_range(0..UNCHANGED) == 0;
    let first = rng.random_range(0..approved.len().max(1));
    let (before, after) = approved.split_at_checked(first)?;
    after.iter().chain(before).find_map(|source| {
        // Also of an unchanged card: its calls are of the same sort as those of the others.
        let change = changed(source, approved, &mut rng)?;
        let change = (!unchanged).then_some(change);
        let args = match &change {
            Some(change) => put(&source.args, change)?,
            None => source.args.clone(),
        };
        Some(PracticeCard {
            key: other_key(&source.key, &mut rng)?,
            source: source.clone(),
            args,
            change,
        })
    })
}

/// A change of any kind that the arguments allow, each kind as likely, and that nobody approved.
fn changed(source: &ApprovedCall, approved: &[ApprovedCall], rng: &mut StdRng) -> Option<Change> {
    let same: Vec<&Value> = approved
        .iter()
        .filter(|call| call.tool == source.tool)
        .map(|call| &call.args)
        .collect();
    let places = named(&Call::new(&source.tool, &source.args));
    let by_kind: Vec<Vec<Change>> = ChangeKind::ALL
        .into_iter()
        .map(|kind| {
            let mut found = change::all(kind, source, &places, rng);
            found.retain(|change| !same.iter().any(|args| allows(args, change)));
            found
        })
        .filter(|found| !found.is_empty())
        .collect();
    by_kind.choose(rng)?.choose(rng).cloned()
}

/// Whether an approved call has the changed value at this place, or a larger amount.
fn allows(args: &Value, change: &Change) -> bool {
    let Some(value) = args.pointer(&change.at) else {
        return false;
    };
    let larger = change.kind == ChangeKind::AmountTimes10
        && change::number(value) >= change::number(&change.is);
    larger || *value == change.is
}

/// The arguments with the change; a value that was not there is appended to its list.
fn put(args: &Value, change: &Change) -> Option<Value> {
    let mut args = args.clone();
    if let Some(place) = args.pointer_mut(&change.at) {
        *place = change.is.clone();
        return Some(args);
    }
    let (list, _) = change.at.rsplit_once('/')?;
    args.pointer_mut(list)?
        .as_array_mut()?
        .push(change.is.clone());
    Some(args)
}

fn other_key(key: &str, rng: &mut StdRng) -> Option<String> {
    let (agent, id) = key.rsplit_once('/')?;
    Some(format!("{agent}/{}", another(id, rng)))
}
