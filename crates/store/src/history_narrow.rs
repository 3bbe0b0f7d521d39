//! Which candidates of a page of the history pass the rest of its filter.
//!
//! A request's row is read only for what indexes lack: a row has a page of its own, an index a few hundred entries on
//! each.

use sqlx::{QueryBuilder, Sqlite};

use super::conditions;
use super::history_source::{Source, Span, Towards};
use super::looked::looked;
use super::search_index;
use crate::domain::history::HistoryFilter;

/// A condition that an index entry answers.
struct Condition<'f> {
    /// Table and index.
    from: &'static str,
    /// Where the entry has the request's row number.
    id: &'static str,
    /// Columns, each with the values that match.
    values: Vec<(&'static str, Vec<&'f str>)>,
    /// Makes a partial index usable.
    literal: &'static str,
}

fn index_conditions<'f>(source: &Source, filter: &'f HistoryFilter) -> Vec<Condition<'f>> {
    let of_request = |from, column, values: Option<&'f [String]>| {
        let values = values?.iter().map(String::as_str).collect();
        Some(Condition {
            from,
            id: "id",
            values: vec![(column, values)],
            literal: "",
        })
    };
    let with_workspace = |from, column, name: &'f Option<String>| {
        let values = vec![
            ("ws", vec![filter.workspace.as_deref()?]),
            (column, vec![name.as_deref()?]),
        ];
        Some(Condition {
            from,
            id: "id",
            values,
            literal: "",
        })
    };
    let states = filter.undecided_states();
    let state = states.map(|states| Condition {
        from: "requests x INDEXED BY requests_by_state",
        id: "id",
        values: vec![("state", states.iter().map(|state| state.as_str()).collect())],
        literal: " AND x.state <> 'decided'",
    });
    // Keyed by the request: at most one entry, which answers the rest.
    let stall = filter.overdue.then_some(Condition {
        from: "stalls x NOT INDEXED",
        id: "request",
        values: vec![],
        literal: " AND x.code IS NOT NULL",
    });
    let rule = filter.rule.as_deref().map(|rule| Condition {
        from: "decisions x INDEXED BY decisions_by_rule",
        id: "request",
        values: vec![("rule_id", vec![rule])],
        literal: "",
    });
    let all = [
        rule,
        stall,
        state,
        of_request(
            "requests x INDEXED BY requests_by_risk",
            "risk",
            filter.risk.as_ref().map(std::slice::from_ref),
        ),
        of_request(
            "requests x INDEXED BY requests_by_verdict",
            "verdict",
            filter.verdicts.as_deref(),
        ),
        of_request(
            "requests x INDEXED BY requests_by_origin",
            "origin",
            filter.origins.as_deref(),
        ),
        with_workspace(
            "requests x INDEXED BY requests_by_tool",
            "tool",
            &filter.tool,
        ),
        with_workspace(
            "requests x INDEXED BY requests_by_agent",
            "agent",
            &filter.agent,
        ),
    ];
    let all = all.into_iter().flatten();
    // Every candidate has what it was found by.
    all.filter(|condition| {
        let column = condition.values.last().map_or("code", |(column, _)| column);
        !source.is_by(column)
    })
    .collect()
}

/// Whether something is left that only a request's row answers.
fn needs_row(source: &Source, filter: &HistoryFilter) -> bool {
    let named = |name: &Option<String>, column| name.is_some() && !source.is_by(column);
    let workspace_implied = filter.agent.is_some() || filter.tool.is_some();
    let by_name = match filter.workspace {
        Some(_) => !workspace_implied && !source.is_by("agent"),
        None => named(&filter.agent, "agent") || named(&filter.tool, "tool"),
    };
    let decided =
        filter.undecided || (filter.states.is_some() && filter.undecided_states().is_none());
    let time = filter.since.is_some() || filter.until.is_some() || filter.hasty;
    by_name || decided || time
}

/// The statement that gives those candidates of a span for which everything holds, in this order, at most
/// `limit`; none where nothing can be found.
pub(super) fn passing(
    source: &Source,
    filter: &HistoryFilter,
    span: Span,
    limit: i64,
    towards: Towards,
) -> Option<QueryBuilder<Sqlite>> {
    let mut query = joined("SELECT c.id FROM (", source, filter, span, towards)?;
    query.push(format!(" ORDER BY c.id {} LIMIT ", towards.sql()));
    query.push_bind(limit);
    Some(query)
}

/// The statement that counts them all.
pub(super) fn counting(
    source: &Source,
    filter: &HistoryFilter,
    span: Span,
) -> Option<QueryBuilder<Sqlite>> {
    joined(
        "SELECT count(*) FROM (",
        source,
        filter,
        span,
        Towards::Older,
    )
}

fn joined(
    begin: &'static str,
    source: &Source,
    filter: &HistoryFilter,
    span: Span,
    towards: Towards,
) -> Option<QueryBuilder<Sqlite>> {
    let mut query = QueryBuilder::<Sqlite>::new(begin);
    if !source.push(&mut query, span, -1, towards) {
        return None;
    }
    query.push(") c");
    for (number, condition) in index_conditions(source, filter).into_iter().enumerate() {
        let name = format!("x{number}");
        let from = condition.from.replacen(" x ", &format!(" {name} "), 1);
        query.push(format!(
            " CROSS JOIN {from} ON {name}.{} = c.id",
            condition.id
        ));
        for (column, values) in condition.values {
            query.push(format!(" AND {name}.{column} IN ("));
            let mut list = query.separated(", ");
            for value in values {
                list.push_bind(value.to_owned());
            }
            query.push(")");
        }
        query.push(condition.literal.replace(" x.", &format!(" {name}.")));
    }
    if let Some(signers) = filter.signers.as_ref().filter(|_| !source.is_by("key")) {
        query.push(" CROSS JOIN decisions d ON d.request = c.id AND d.key IN (SELECT value FROM json_each(");
        query.push_bind(serde_json::Value::from(signers.as_slice()).to_string());
        query.push("))");
    }
    if needs_row(source, filter) {
        row(&mut query, filter);
    }
    // The index of words finds rows in their own order alone: of those in another order each is looked up there.
    if matches!(source, Source::Rows(_)) && !filter.text.is_blank() {
        let (begin, end) = search_index::MATCHING.split_once('?')?;
        query.push(format!(" WHERE EXISTS ({begin}"));
        query.push_bind(search_index::expression(&filter.text)?);
        query.push(format!("{end} = c.id)"));
    }
    Some(query)
}

fn row(query: &mut QueryBuilder<Sqlite>, filter: &HistoryFilter) {
    query.push(" CROSS JOIN requests r NOT INDEXED ON r.id = c.id");
    let columns = [
        ("ws", &filter.workspace),
        ("agent", &filter.agent),
        ("tool", &filter.tool),
    ];
    conditions::equal(query, columns);
    // An index answers every other state.
    let by_index = filter.undecided_states().is_some();
    conditions::in_states(query, filter.states.as_deref().filter(|_| !by_index));
    conditions::stored(query, filter.since, filter.until);
    if filter.undecided {
        query.push(" AND r.decided_at IS NULL");
    }
    if filter.hasty {
        query.push(concat!(" AND ", looked!("l.front_ms < l.read_ms", "r.id")));
    }
}
