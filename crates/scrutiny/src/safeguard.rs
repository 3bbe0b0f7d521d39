//! Checks that are switched off.

use serde_json::Value;

use crate::call::Call;
use crate::facts::Kind;
use crate::finding::{Code, Finding, Weight};
use crate::inner;
use crate::leaf::Leaf;
use crate::leaf::among;
use crate::past::Past;

/// Approved calls with the check on, after which off is not a choice but a change.
const ALWAYS: u32 = 3;

const CHECKS: &str = "verify tls ssl secure strict check confirm safe backup dryrun validate verification confirmation checks \
    validation tlsverify sslmode interlock guard mfa audit auth protection";
/// Checks only by themselves or with one of [`MODES`]: `link_preview` is none.
const DRY: &str = "preview test simulate sandbox";
const MODES: &str = "mode run only first is as use enable enabled";
const LOOSE: &str = "force insecure overwrite forced unsafe";
const LOOSE_STARTS: &str = "skip no allow disable bypass ignore";
/// What may be skipped, left out or allowed without harm.
const HARMLESS: &str = "reply color colour cache wrap header headers progress pager weekends weekend duplicates empty comments \
    comment reminders reminder guests answers pagination case whitespace blank hidden notification \
    notifications preview holidays whitespaces existing null nulls footer signature archived freeform \
    retries";
const APPROVALS: &str = "require requires";

/// Whether a safeguard is off; none for what is not a safeguard.
pub(crate) fn is_off(leaf: &Leaf<'_>) -> Option<bool> {
    let on = match leaf.value.as_ref() {
        Value::Bool(on) => *on,
        Value::String(word) => match word.to_lowercase().as_str() {
            "true" | "yes" | "on" | "enabled" | "require" | "required" => true,
            "false" | "no" | "off" | "disabled" | "disable" | "none" | "never" => false,
            _ => return None,
        },
        _ => return None,
    };
    let words: Vec<&str> = leaf.words.iter().map(String::as_str).collect();
    let first = words.first().copied().unwrap_or_default();
    if words.iter().any(|word| among(LOOSE, word)) {
        return Some(on);
    }
    if among(LOOSE_STARTS, first) && words.len() > 1 {
        let harmless = words[1..].iter().any(|word| among(HARMLESS, word));
        return (!harmless).then_some(on);
    }
    // `auto_approve`: nobody is asked.
    if first == "auto"
        && words
            .get(1)
            .is_some_and(|word| among("approve approval confirm accept", word))
    {
        return Some(on);
    }
    let dry = words.windows(2).any(|pair| pair == ["dry", "run"]);
    // `email_verified`, `tls_version` are facts, not switches; `ssl` beside other words is one.
    let check = words.iter().any(|word| among(CHECKS, word))
        && !words.iter().any(|word| among("in out list box", word));
    let mode = words.iter().any(|word| among(DRY, word))
        && words
            .iter()
            .all(|word| among(DRY, word) || among(MODES, word));
    let approval = among(APPROVALS, first)
        && words.len() > 1
        && !words.iter().any(|word| among(HARMLESS, word));
    (dry || check || mode || approval).then_some(!on)
}

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let mut found = Vec::new();
    for leaf in inner::values(call).filter(|leaf| is_off(leaf) == Some(true)) {
        let (on, off) = (
            past.count(Kind::Flag, &leaf.place, "on"),
            past.count(Kind::Flag, &leaf.place, "off"),
        );
        if off > 0 {
            continue;
        }
        let name = crate::shown::shown(&leaf.name);
        let value = crate::shown::shown(&leaf.value.to_string());
        let before = match on {
            0 => "no earlier call shows whether that is usual".to_owned(),
            1 => "1 earlier call had the check on".to_owned(),
            on => format!("{on} earlier calls had the check on, none off"),
        };
        found.push(Finding {
            code: Code::SafeguardOff,
            weight: if on >= ALWAYS {
                Weight::Stop
            } else {
                Weight::Look
            },
            at: leaf.at.clone(),
            message: format!("{name} is {value}: a check is switched off; {before}."),
        });
    }
    found
}
