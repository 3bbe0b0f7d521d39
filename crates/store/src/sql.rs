//! Statements that stay prepared, and what they find.

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::StoreError;

/// Changes rows. Returns how many.
pub(crate) fn change(
    sqlite: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<usize, StoreError> {
    Ok(sqlite.prepare_cached(sql)?.execute(params)?)
}

/// Every row.
pub(crate) fn all<T>(
    sqlite: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let mut select = sqlite.prepare_cached(sql)?;
    let rows = select.query_map(params, read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The first row, if there is one.
pub(crate) fn first<T>(
    sqlite: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, StoreError> {
    Ok(sqlite
        .prepare_cached(sql)?
        .query_row(params, read)
        .optional()?)
}

/// The first column of every row.
pub(crate) fn column<T: FromSql>(
    sqlite: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Vec<T>, StoreError> {
    all(sqlite, sql, params, |row| row.get(0))
}

/// The one value of a statement that always has a row, as of `count` or `max`.
pub(crate) fn value<T: FromSql>(
    sqlite: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<T, StoreError> {
    Ok(sqlite
        .prepare_cached(sql)?
        .query_row(params, |row| row.get(0))?)
}
