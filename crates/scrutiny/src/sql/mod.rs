//! Statements of SQL: what they do, and what cannot be undone.

mod condition;
mod effect;
mod read;
mod statement;

use sqlparser::ast::Statement;

use crate::call::Call;
use crate::finding::{Code, Hazard};
use crate::leaf::Leaf;
use crate::role::is_sql_name;

pub(crate) use effect::effect;
pub(crate) use read::{Sql, read};
pub(crate) use statement::{Act, acts};

/// The SQL of a call: texts named for it that begin as SQL does.
pub(crate) fn texts<'l, 'a>(call: &'l Call<'a>) -> impl Iterator<Item = (&'l Leaf<'a>, &'l str)> {
    call.leaves
        .iter()
        .filter(|leaf| is_sql_name(leaf))
        .filter_map(|leaf| {
            let text = leaf.value.as_str()?;
            read::begins_as_sql(text).then_some((leaf, text))
        })
}

/// Whether the call is about SQL, also about one that does not read as SQL.
pub(crate) fn is_sql(call: &Call<'_>) -> bool {
    texts(call).next().is_some()
        || call
            .leaves
            .iter()
            .any(|leaf| leaf.has_word("sql") && leaf.text().is_some())
}

pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    let mut found = Vec::new();
    for (leaf, text) in texts(call) {
        let Sql {
            statements,
            unreadable,
        } = read(text);
        found.extend(of_statements(&leaf.at, &statements));
        found.extend(read::by_words(text).map(|what| destructive(&leaf.at, what, what)));
        if unreadable {
            let message =
                "The console cannot read this SQL, so it cannot say what it does.".to_owned();
            found.push(Hazard::look(
                Code::UnreadableSql,
                &leaf.at,
                "unreadable",
                message,
            ));
        }
    }
    found
}

fn of_statements(at: &str, statements: &[Statement]) -> Vec<Hazard> {
    let mut found = Vec::new();
    for act in acts(statements) {
        match act {
            Act::Destroys { what, shape } => found.push(destructive(at, &shape, &what)),
            Act::Opens { what, shape } => {
                let message = format!("The SQL {what}.");
                found.push(Hazard::stop(Code::OpensRights, at, shape, message));
            }
            Act::Unknown(what) => {
                let message = format!("The SQL {what}, so the console cannot say what it does.");
                found.push(Hazard::look(Code::UnreadableSql, at, what, message));
            }
        }
    }
    found
}

fn destructive(at: &str, shape: &str, what: &str) -> Hazard {
    Hazard::stop(Code::DestructiveSql, at, shape, format!("The SQL {what}."))
}

/// The first thing that SQL in a command destroys.
pub(crate) fn destroys(text: &str) -> Option<String> {
    let destroys = |act| match act {
        Act::Destroys { what, .. } => Some(what),
        _ => None,
    };
    acts(&read(text).statements).into_iter().find_map(destroys)
}

/// The first right that SQL in a command opens.
pub(crate) fn opens(text: &str) -> Option<String> {
    let opens = |act| match act {
        Act::Opens { what, .. } => Some(what),
        _ => None,
    };
    acts(&read(text).statements).into_iter().find_map(opens)
}
