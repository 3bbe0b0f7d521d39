//! The approved call that is nearest to a new one, and in what the two differ.

use countersign_wire::pointer;
use serde_json::Value;

use crate::call::Call;
use crate::role::{Role, role};

/// One place at which two calls differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// JSON pointer.
    pub at: String,
    /// The value of the earlier call; none where there was none.
    pub was: Option<Value>,
    /// The value of this call; none where it is gone.
    pub is: Option<Value>,
}

/// Of calls with their arguments, the newest first, the one that shares the most values that identify something;
/// of those the newest.
#[must_use]
pub fn nearest<T>(
    tool: &str,
    now: &Value,
    approved: impl IntoIterator<Item = (T, Value)>,
) -> Option<(T, Value)> {
    let mut best: Option<(usize, T, Value)> = None;
    for (call, args) in approved {
        let shared = shares(tool, now, &args);
        if best.as_ref().is_none_or(|(most, ..)| shared > *most) {
            best = Some((shared, call, args));
        }
    }
    best.map(|(_, call, args)| (call, args))
}

/// How many values that identify something two calls of a tool share.
#[must_use]
pub fn shares(tool: &str, one: &Value, other: &Value) -> usize {
    let theirs = identities(&Call::new(tool, other));
    let mine = identities(&Call::new(tool, one));
    mine.iter().filter(|value| theirs.contains(value)).count()
}

/// What names whom and what a call is about.
fn identities(call: &Call<'_>) -> Vec<(String, String)> {
    let one = |leaf| match role(leaf, call)? {
        Role::Mails(mails) => {
            let mail = mails.first()?;
            Some((leaf.place.clone(), format!("{}@{}", mail.local, mail.host)))
        }
        Role::Where(value)
        | Role::Host(value)
        | Role::Account(value)
        | Role::Payee(value)
        | Role::Path(value) => Some((leaf.place.clone(), value)),
        Role::Amount(_) => None,
    };
    call.leaves.iter().filter_map(one).collect()
}

/// Where two calls differ, in the order of the arguments; what is gone comes last.
#[must_use]
pub fn differs(was: &Value, is: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk("", Some(was), Some(is), &mut found);
    found
}

fn walk(at: &str, was: Option<&Value>, is: Option<&Value>, found: &mut Vec<Difference>) {
    match (was, is) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let gone = old.keys().filter(|key| !new.contains_key(*key));
            for key in new.keys().chain(gone) {
                walk(&pointer::below(at, key), old.get(key), new.get(key), found);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for place in 0..old.len().max(new.len()) {
                walk(
                    &format!("{at}/{place}"),
                    old.get(place),
                    new.get(place),
                    found,
                );
            }
        }
        (was, is) if was == is => {}
        (was, is) => found.push(Difference {
            at: at.to_owned(),
            was: was.cloned(),
            is: is.cloned(),
        }),
    }
}
