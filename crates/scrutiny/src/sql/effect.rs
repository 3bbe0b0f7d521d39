//! What SQL does, in one sentence.

use sqlparser::ast::{FromTable, ObjectType, Query, SetExpr, Statement};

use super::{Sql, read, texts};
use crate::call::Call;
use crate::shown::shown;

/// A query that changes nothing: no `SELECT … INTO`, no statement in a `WITH`.
fn reads(query: &Query) -> bool {
    let plain = match query.body.as_ref() {
        SetExpr::Select(select) => select.into.is_none(),
        SetExpr::Query(query) => reads(query),
        SetExpr::SetOperation { .. } | SetExpr::Values(_) | SetExpr::Table(_) => true,
        _ => false,
    };
    let with = query.with.iter().flat_map(|with| &with.cte_tables);
    plain && with.into_iter().all(|table| reads(&table.query))
}

/// "Creates 1 table, alters 1, drops 1: order_events_v1"; none where a statement does anything else.
pub(crate) fn effect(call: &Call<'_>) -> Option<String> {
    let mut texts = texts(call);
    let (Some((_, text)), None) = (texts.next(), texts.next()) else {
        return None;
    };
    let Sql {
        statements,
        unreadable: false,
    } = read(text)
    else {
        return None;
    };
    let (mut creates, mut alters, mut rows) = (0, 0, Vec::new());
    let mut drops: Vec<String> = Vec::new();
    for statement in &statements {
        match statement {
            Statement::CreateTable(_) => creates += 1,
            Statement::AlterTable(_) => alters += 1,
            Statement::Drop {
                object_type: ObjectType::Table,
                names,
                ..
            } => drops.extend(names.iter().map(ToString::to_string)),
            Statement::Insert(insert) => rows.push(format!("adds rows to {}", insert.table)),
            Statement::Update(update) => {
                rows.push(format!("changes rows of {}", update.table.relation));
            }
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) =
                    &delete.from;
                let [from] = from.as_slice() else {
                    return None;
                };
                let all = if delete.selection.is_none() {
                    "all rows"
                } else {
                    "rows"
                };
                rows.push(format!("deletes {all} of {}", from.relation));
            }
            Statement::Query(query) if reads(query) => rows.push("reads".to_owned()),
            _ => return None,
        }
    }
    rows.dedup();
    let counted = [
        ("creates", creates),
        ("alters", alters),
        ("drops", drops.len()),
    ];
    let mut parts: Vec<String> = Vec::new();
    for (verb, count) in counted.into_iter().filter(|(_, count)| *count > 0) {
        let noun = match (parts.is_empty(), count) {
            (true, 1) => " table",
            (true, _) => " tables",
            (false, _) => "",
        };
        let names = match verb {
            "drops" => format!(": {}", shown(&drops.join(", "))),
            _ => String::new(),
        };
        parts.push(format!("{verb} {count}{noun}{names}"));
    }
    parts.extend(rows.iter().map(|row| shown(row)));
    let sentence = parts.join(", ");
    let first = sentence.chars().next()?.to_uppercase();
    Some(format!("{first}{}", sentence.get(1..)?))
}
