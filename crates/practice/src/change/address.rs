//! Hosts and recipients.

use countersign_scrutiny::Names;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

/// Letters that are taken for each other.
const LIKE: [(&str, &str); 16] = [
    ("m", "rn"),
    ("rn", "m"),
    ("l", "i"),
    ("i", "l"),
    ("o", "0"),
    ("l", "1"),
    ("u", "v"),
    ("v", "u"),
    ("e", "c"),
    ("a", "o"),
    ("n", "m"),
    ("t", "f"),
    ("g", "q"),
    ("s", "5"),
    ("d", "cl"),
    ("w", "vv"),
];

/// One letter of the host's own label is another that looks like it.
pub(super) fn look_alike(text: &str, rng: &mut StdRng) -> Option<String> {
    let (from, to) = label(text)?;
    let name = &text[from..to];
    let mut made = Vec::new();
    for (one, other) in LIKE {
        // Not the first letter: that one is read.
        let places = name.match_indices(one).filter(|(at, _)| *at > 0);
        made.extend(places.map(|(at, _)| (from + at, one, other)));
    }
    let (at, one, other) = *made.choose(rng)?;
    Some(format!("{}{other}{}", &text[..at], &text[at + one.len()..]))
}

/// Where in the text the longest label of its first host is, the last one left out.
fn label(text: &str) -> Option<(usize, usize)> {
    let from = match (text.find("://"), text.find('@')) {
        (Some(scheme), _) => scheme + 3,
        (None, Some(at)) => at + 1,
        (None, None) => 0,
    };
    let rest = &text[from..];
    let end = rest.find(|at: char| !at.is_alphanumeric() && !"-._".contains(at));
    let host = &rest[..end.unwrap_or(rest.len())];
    let (names, _) = host.trim_end_matches('.').rsplit_once('.')?;
    let longest = names.split('.').max_by_key(|label| label.len())?;
    let at = from + names.rfind(longest)?;
    (longest.len() >= 5 && longest.is_ascii()).then_some((at, at + longest.len()))
}

/// Where one more recipient goes, and the value there.
pub(super) fn one_more(
    args: &Value,
    at: &str,
    names: Names,
    rng: &mut StdRng,
) -> Option<(String, Value)> {
    const TO: [&str; 8] = [
        "to",
        "cc",
        "bcc",
        "recipients",
        "attendees",
        "participants",
        "invitees",
        "emails",
    ];
    if names != Names::Mail {
        return None;
    }
    let (above, last) = at.rsplit_once('/')?;
    let list = last.parse::<usize>().is_ok().then_some(above);
    let name = list.unwrap_or(at).rsplit('/').next()?.to_lowercase();
    if !TO.contains(&name.as_str()) {
        return None;
    }
    let first = args.pointer(at)?.as_str()?;
    let more = stranger(first, rng)?;
    match list {
        // Once for the list, at its first element.
        Some(list) if last == "0" => {
            let many = args.pointer(list)?.as_array()?.len();
            Some((format!("{list}/{many}"), json!(more)))
        }
        Some(_) => None,
        None => Some((at.to_owned(), json!(format!("{first}, {more}")))),
    }
}

/// The recipient's name at a host where anybody may have an address.
fn stranger(first: &str, rng: &mut StdRng) -> Option<String> {
    const HOSTS: [&str; 4] = ["gmail.com", "outlook.com", "proton.me", "gmx.net"];
    let (name, _) = first.split('@').next().zip(first.split('@').nth(1))?;
    let name = name.rsplit(['<', ' ']).next()?;
    let number = rng.random_range(10..100);
    Some(format!("{name}{number}@{}", HOSTS.choose(rng)?))
}
