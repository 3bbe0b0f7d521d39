//! One sentence about what will happen, made of the arguments.

mod files;
mod parts;
mod payment;
mod people;
mod tools;

use crate::call::Call;
use crate::command::{Line, scripts};
use crate::past::Past;
use crate::shown::shown;

/// The console's own sentence; none where it cannot be sure. Commands and SQL that cannot be read are not named otherwise.
#[must_use]
pub fn effect(call: &Call<'_>, past: &Past) -> Option<String> {
    if !files::is_editor(call) && scripts(call).next().is_some() {
        return command(call);
    }
    if crate::sql::is_sql(call) {
        let place = call
            .leaves
            .iter()
            .find(|leaf| leaf.named("connection database db cluster environment"));
        let place = place
            .and_then(|leaf| leaf.text())
            .filter(|text| !text.trim().is_empty());
        let sentence = crate::sql::effect(call)?;
        return Some(match place {
            Some(place) if !sentence.contains(place) => format!("{sentence}, on {}", shown(place)),
            _ => sentence,
        });
    }
    people::mail(call)
        .or_else(|| payment::payment(call, past))
        .or_else(|| people::event(call))
        .or_else(|| people::chat(call))
        .or_else(|| tools::known(call))
        .or_else(|| files::files(call))
        .or_else(|| files::http(call))
        .or_else(|| tools::other(call, past))
}

/// "Runs npm, find -delete, rm".
fn command(call: &Call<'_>) -> Option<String> {
    let mut scripts = scripts(call);
    let (_, _, script) = scripts.next()?;
    if scripts.next().is_some() || script.unreadable.is_some() {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for line in crate::command::lines(script) {
        let known = line.command.words.first().is_none_or(|word| !word.dynamic);
        if !known {
            return None;
        }
        let name = named(&line);
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| {
        format!(
            "Runs {}",
            names
                .iter()
                .map(|name| shown(name))
                .collect::<Vec<_>>()
                .join(", ")
        )
    })
}

fn named(line: &Line<'_>) -> String {
    let deletes = line.name == "find" && line.words.iter().any(|word| word.text == "-delete");
    if deletes {
        "find -delete".to_owned()
    } else {
        // The subcommand, and the place that an option names.
        let sub = line
            .texts()
            .first()
            .copied()
            .filter(|_| line.is("kubectl helm terraform git docker aws gcloud az"));
        let place =
            line.text_value("--kube-context --context --namespace --profile --project --cluster");
        let parts = [Some(line.name.as_str()), sub, place.map(|_| "on"), place];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests;
