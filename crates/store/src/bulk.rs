//! Many rows in one statement.
//!
//! A statement costs a round trip to the connection's thread, several times what a row costs. Rows
//! are cut into powers of two, so that a handful of texts serves every batch from the cache of
//! prepared statements.

use countersign_wire::RequestKey;
use sqlx::{QueryBuilder, Sqlite};

/// Largest number of rows in one statement: with 40 columns far below SQLite's 32,766 parameters.
const LARGEST: usize = 64;

/// Cuts `rows` into pieces of 64, 32, 16, 8, 4, 2 and 1, in order.
pub(crate) fn pieces<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        if rows.is_empty() {
            return None;
        }
        let size = (1usize << rows.len().ilog2()).min(LARGEST);
        let (piece, rest) = rows.split_at(size);
        rows = rest;
        Some(piece)
    })
}

/// Writes `WITH name(a, b) AS (VALUES (?, ?), …) ` for `rows` into a query builder.
macro_rules! with_values {
    ($query:expr, $name_and_columns:expr, $rows:expr, |$separated:ident, $row:ident| $bind:expr) => {{
        $query.push(concat!("WITH ", $name_and_columns, " AS ("));
        $query.push_values($rows, |mut $separated, $row| $bind);
        $query.push(") ");
    }};
}
pub(crate) use with_values;

/// A query that begins with `WITH wanted(ws, agent, request_id) AS (VALUES …) `, one row for each key.
pub(super) fn wanted(keys: &[RequestKey]) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("");
    with_values!(
        query,
        "wanted(ws, agent, request_id)",
        keys,
        |values, key| {
            values
                .push_bind(key.workspace.as_ref())
                .push_bind(key.agent.as_ref())
                .push_bind(key.request_id.as_ref());
        }
    );
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_all_rows_in_order_and_in_few_sizes() {
        for count in 0..300 {
            let rows: Vec<usize> = (0..count).collect();
            let joined: Vec<usize> = pieces(&rows).flatten().copied().collect();
            assert_eq!(joined, rows);
            assert!(pieces(&rows).all(|piece| piece.len().is_power_of_two() && piece.len() <= 64));
        }
    }
}
