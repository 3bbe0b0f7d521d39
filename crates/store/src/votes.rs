//! Table `votes`: the operators' votes as they are stored on the bus, whether or not the request is here.

use countersign_wire::RequestKey;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::bulk::{pieces, wanted};
use super::{Reader, StoreError};
use crate::domain::Timestamp;

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

/// A vote as other parts read it.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct StoredVote {
    /// Row number.
    pub id: i64,
    /// From the subject.
    pub ws: String,
    /// From the subject.
    pub agent: String,
    /// From the subject.
    pub request_id: String,
    /// The voter's public key.
    pub key: String,
    /// UUID.
    pub vote_id: Option<String>,
    /// `approve` or `modify` where it is valid.
    pub verdict: Option<String>,
    /// Digest of the arguments that may run.
    pub args_digest: Option<String>,
    /// The voter's name, as sent.
    pub name: Option<String>,
    /// Payload as stored.
    pub payload: Vec<u8>,
    /// Header `CS-Key`.
    pub signer: Option<String>,
    /// Header `CS-Sig`.
    pub sig: Option<String>,
    /// Sequence in the stream.
    pub stream_seq: i64,
    /// The server's stamp, ms.
    pub at: i64,
    /// Whether every check held when it was stored.
    pub stands: Option<bool>,
    /// Whether this console's operator gave it.
    pub mine: bool,
}

impl StoredVote {
    /// The request that it is about.
    #[must_use]
    pub fn request_key(&self) -> Option<RequestKey> {
        format!("{}/{}/{}", self.ws, self.agent, self.request_id)
            .parse()
            .ok()
    }
}

const COLUMNS: &str = "v.id, v.ws, v.agent, v.request_id, v.key, v.vote_id, v.verdict, v.args_digest, \
    v.name, v.payload, v.signer, v.sig, v.stream_seq, v.at, v.stands, v.mine";

/// Inserts rows; a second vote of one key on one request is left out. Returns the stream sequences of
/// what was inserted.
pub async fn insert(tx: &mut SqliteConnection, rows: &[NewVote]) -> Result<Vec<i64>, StoreError> {
    let mut inserted = Vec::with_capacity(rows.len());
    for piece in pieces(rows) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "INSERT INTO votes(request, ws, agent, request_id, key, vote_id, verdict, args_digest, name,
             payload, signer, sig, stream_epoch, stream_seq, at, stands, mine) ",
        );
        query.push_values(piece, |mut values, row| {
            values
                .push_bind(row.request)
                .push_bind(row.key.workspace.as_ref())
                .push_bind(row.key.agent.as_ref())
                .push_bind(row.key.request_id.as_ref())
                .push_bind(row.voter.as_str())
                .push_bind(row.body.vote_id.as_deref())
                .push_bind(row.body.verdict.as_deref())
                .push_bind(row.body.args_digest.as_deref())
                .push_bind(row.body.name.as_deref())
                .push_bind(row.payload.as_slice())
                .push_bind(row.signer.as_deref())
                .push_bind(row.sig.as_deref())
                .push_bind(row.stream_epoch.as_str())
                .push_bind(row.stream_seq)
                .push_bind(row.at.0)
                .push_bind(row.stands)
                .push_bind(row.mine);
        });
        query.push(" ON CONFLICT DO NOTHING RETURNING stream_seq");
        inserted.extend(
            query
                .build_query_scalar::<i64>()
                .fetch_all(&mut *tx)
                .await?,
        );
    }
    Ok(inserted)
}

/// Votes that came before these requests.
pub async fn orphans(
    tx: &mut SqliteConnection,
    keys: &[RequestKey],
) -> Result<Vec<StoredVote>, StoreError> {
    let mut found = Vec::new();
    for piece in pieces(keys) {
        let mut query = wanted(piece);
        query.push("SELECT ");
        query.push(COLUMNS);
        query.push(
            " FROM wanted CROSS JOIN votes v ON v.ws = wanted.ws AND v.agent = wanted.agent
             AND v.request_id = wanted.request_id WHERE v.request IS NULL ORDER BY v.stream_seq",
        );
        found.extend(
            query
                .build_query_as::<StoredVote>()
                .fetch_all(&mut *tx)
                .await?,
        );
    }
    Ok(found)
}

/// How many votes wait for their request.
pub async fn count_orphans(tx: &mut SqliteConnection) -> Result<i64, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT count(*) FROM votes WHERE request IS NULL")
            .fetch_one(tx)
            .await?,
    )
}

/// Joins a vote to its request.
pub async fn adopt(
    tx: &mut SqliteConnection,
    id: i64,
    request: i64,
    stands: bool,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE votes SET request = ?2, stands = ?3 WHERE id = ?1 AND request IS NULL")
        .bind(id)
        .bind(request)
        .bind(stands)
        .execute(tx)
        .await?;
    Ok(())
}

/// The valid votes on a request, in the order of the stream.
pub async fn standing(
    tx: &mut SqliteConnection,
    request: i64,
) -> Result<Vec<StoredVote>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new("SELECT ");
    query.push(COLUMNS);
    query.push(" FROM votes v WHERE v.request = ");
    query.push_bind(request);
    query.push(" AND v.stands = 1 ORDER BY v.stream_seq");
    Ok(query.build_query_as().fetch_all(tx).await?)
}

/// The same, outside a transaction.
pub async fn of_request(reader: &Reader, request: i64) -> Result<Vec<StoredVote>, StoreError> {
    standing(&mut *reader.0.acquire().await?, request).await
}

/// Rows of waiting requests behind `after` with valid votes, at most `limit`.
pub async fn undecided(
    tx: &mut SqliteConnection,
    after: i64,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT r.id FROM requests r WHERE r.state <> 'decided' AND r.state IN ('pending', 'holding')
         AND (r.approvals_required > 1 OR r.approvals_needed > 1) AND r.id > ?
         AND EXISTS (SELECT 1 FROM votes v WHERE v.request = r.id AND v.stands = 1)
         ORDER BY r.id LIMIT ?",
    )
    .bind(after)
    .bind(limit)
    .fetch_all(tx)
    .await?)
}
