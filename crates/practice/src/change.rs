//! Changes of each kind.

mod account;
mod address;
mod amount;
mod paths;
mod switch;
mod text;

use countersign_scrutiny::Names;
use rand::rngs::StdRng;
use serde_json::Value;

use crate::card::{ApprovedCall, Change};
use crate::kind::ChangeKind;

pub(crate) use amount::number;

/// The changes of a kind that these places of a call allow.
pub(crate) fn all(
    kind: ChangeKind,
    source: &ApprovedCall,
    places: &[(String, Names)],
    rng: &mut StdRng,
) -> Vec<Change> {
    let found = places.iter().filter_map(|(at, names)| {
        let names = *names;
        let was = source.args.pointer(at)?;
        if kind == ChangeKind::ExtraRecipient {
            let (at, is) = address::one_more(&source.args, at, names, rng)?;
            let was = source.args.pointer(&at).cloned();
            return Some(Change { kind, at, was, is });
        }
        let is = value(kind, names, was, rng).filter(|is| is != was)?;
        let was = Some(was.clone());
        let at = at.clone();
        Some(Change { kind, at, was, is })
    });
    found.collect()
}

fn value(kind: ChangeKind, names: Names, was: &Value, rng: &mut StdRng) -> Option<Value> {
    match (kind, names) {
        (ChangeKind::AmountTimes10, Names::Amount) => return amount::times_10(was),
        (ChangeKind::SafeguardOff, Names::CheckOn) => return switch::off(was),
        _ => {}
    }
    let text = was.as_str()?;
    let text = match (kind, names) {
        (ChangeKind::LookAlikeHost, Names::Mail | Names::Host) => address::look_alike(text, rng),
        (ChangeKind::OtherAccount, Names::Account) => account::other(text, rng),
        (ChangeKind::WiderPath, Names::Path) => paths::wider(text),
        (ChangeKind::Production, Names::Where) => switch::production(text),
        (ChangeKind::DestructiveLine, Names::Command) => text::destructive_command(text, rng),
        (ChangeKind::DestructiveLine, Names::Sql) => text::destructive_sql(text),
        (ChangeKind::PipedDownload, Names::Command) => text::piped_download(text, rng),
        (
            ChangeKind::HiddenCharacter,
            Names::Mail | Names::Host | Names::Account | Names::Payee | Names::Path,
        ) => text::hidden_character(text, rng),
        _ => None,
    };
    text.map(Value::String)
}
