//! Table `votes`: the operators' votes as they are stored on the bus, whether or not the request is here.

use countersign_wire::RequestKey;
use rusqlite::{Connection, Row, params};

use super::requests::parts;
use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;
pub use crate::domain::facts::StoredVote;

/// A vote as it came from the stream, with what this console makes of it.
#[derive(Debug, Clone)]
pub struct NewVote {
    /// The request's row, none while it is unknown.
    pub request: Option<i64>,
    /// From the subject.
    pub key: RequestKey,
    /// The voter's public key, from the subject.
    pub voter: String,
    /// From the payload, where it could be read.
    pub body: VoteBody,
    /// Payload as stored.
    pub payload: Vec<u8>,
    /// Header `CS-Key`.
    pub signer: Option<String>,
    /// Header `CS-Sig`.
    pub sig: Option<String>,
    /// Stream epoch.
    pub stream_epoch: String,
    /// Sequence in the stream.
    pub stream_seq: i64,
    /// The server's stamp.
    pub at: Timestamp,
    /// Whether every check holds; none while the request is unknown.
    pub stands: Option<bool>,
    /// Whether this console's operator gave it.
    pub mine: bool,
}

/// The readable part of a vote.
#[derive(Debug, Clone, Default)]
pub struct VoteBody {
    /// UUID.
    pub vote_id: Option<String>,
    /// As sent.
    pub verdict: Option<String>,
    /// Digest of the arguments that may run.
    pub args_digest: Option<String>,
    /// The voter's name, as sent.
    pub name: Option<String>,
}

const SELECT: &str = "SELECT id, ws, agent, request_id, key, vote_id, verdict, args_digest, name, payload, \
    signer, sig, stream_seq, at, stands, mine FROM votes WHERE ";

fn read(row: &Row<'_>) -> rusqlite::Result<StoredVote> {
    Ok(StoredVote {
        id: row.get(0)?,
        ws: row.get(1)?,
        agent: row.get(2)?,
        request_id: row.get(3)?,
        key: row.get(4)?,
        vote_id: row.get(5)?,
        verdict: row.get(6)?,
        args_digest: row.get(7)?,
        name: row.get(8)?,
        payload: row.get(9)?,
        signer: row.get(10)?,
        sig: row.get(11)?,
        stream_seq: row.get(12)?,
        at: row.get(13)?,
        stands: row.get(14)?,
        mine: row.get(15)?,
    })
}

/// Inserts rows; a second vote of one key on one request is left out. Returns the stream sequences of
/// what was inserted.
pub fn insert(tx: &Connection, rows: &[NewVote]) -> Result<Vec<i64>, StoreError> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO votes(request, ws, agent, request_id, key, vote_id, verdict, args_digest, name,
         payload, signer, sig, stream_epoch, stream_seq, at, stands, mine)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
    )?;
    let mut inserted = Vec::with_capacity(rows.len());
    for row in rows {
        let added = insert.execute(params![
            row.request,
            row.key.workspace.as_ref(),
            row.key.agent.as_ref(),
            row.key.request_id.as_ref(),
            row.voter,
            row.body.vote_id,
            row.body.verdict,
            row.body.args_digest,
            row.body.name,
            row.payload,
            row.signer,
            row.sig,
            row.stream_epoch,
            row.stream_seq,
            row.at.0,
            row.stands,
            row.mine,
        ])?;
        if added == 1 {
            inserted.push(row.stream_seq);
        }
    }
    Ok(inserted)
}

/// Votes that came before these requests, in the order of the stream.
pub fn orphans(tx: &Connection, keys: &[RequestKey]) -> Result<Vec<StoredVote>, StoreError> {
    let sql = format!("{SELECT} ws = ? AND agent = ? AND request_id = ? AND request IS NULL");
    let mut select = tx.prepare_cached(&sql)?;
    let mut found = Vec::new();
    for key in keys {
        for vote in select.query_map(parts(key), read)? {
            found.push(vote?);
        }
    }
    found.sort_by_key(|vote| vote.stream_seq);
    Ok(found)
}

/// How many votes wait for their request.
pub fn count_orphans(tx: &Connection) -> Result<i64, StoreError> {
    sql::value(tx, "SELECT count(*) FROM votes WHERE request IS NULL", [])
}

/// Joins a vote to its request.
pub fn adopt(tx: &Connection, id: i64, request: i64, stands: bool) -> Result<(), StoreError> {
    let adopt = "UPDATE votes SET request = ?2, stands = ?3 WHERE id = ?1 AND request IS NULL";
    sql::change(tx, adopt, params![id, request, stands]).map(drop)
}

/// The valid votes on a request, in the order of the stream.
pub fn standing(tx: &Connection, request: i64) -> Result<Vec<StoredVote>, StoreError> {
    let sql = format!("{SELECT} request = ? AND stands = 1 ORDER BY stream_seq");
    sql::all(tx, &sql, [request], read)
}

/// The same, outside a transaction.
pub async fn of_request(reader: &Reader, request: i64) -> Result<Vec<StoredVote>, StoreError> {
    reader.direct(move |sqlite| standing(sqlite, request)).await
}

/// Rows of waiting requests behind `after` with valid votes, at most `limit`.
pub fn undecided(tx: &Connection, after: i64, limit: i64) -> Result<Vec<i64>, StoreError> {
    sql::column(
        tx,
        "SELECT r.id FROM requests r WHERE r.state <> 'decided' AND r.state IN ('pending', 'holding')
         AND (r.approvals_required > 1 OR r.approvals_needed > 1) AND r.id > ?
         AND EXISTS (SELECT 1 FROM votes v WHERE v.request = r.id AND v.stands = 1)
         ORDER BY r.id LIMIT ?",
        [after, limit],
    )
}

/// What there is of a key's vote on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnVote {
    /// None.
    None,
    /// On the stream or on the way there.
    Given,
    /// What the stream holds in its place does not verify.
    Void,
}

/// Whether a key has voted on a request.
pub fn voted(tx: &Connection, key: &str, request: i64) -> Result<OwnVote, StoreError> {
    let of = params![request, key];
    let vote = "SELECT stands FROM votes WHERE request = ?1 AND key = ?2";
    let stored: Option<Option<bool>> = sql::first(tx, vote, of, |row| row.get(0))?;
    if stored == Some(Some(false)) {
        return Ok(OwnVote::Void);
    }
    let on_its_way = "SELECT EXISTS (SELECT 1 FROM outbox
         WHERE kind = 'vote' AND request = ?1 AND signer = ?2)";
    Ok(match stored.is_some() || sql::value(tx, on_its_way, of)? {
        true => OwnVote::Given,
        false => OwnVote::None,
    })
}
