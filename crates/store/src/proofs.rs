//! The bytes that audit entries name, read back.

use countersign_wire::{RejectionCode, Sha256Digest};
use futures::TryStreamExt;

use super::{Reader, StoreError};

fn has_digest(bytes: &[u8], digest: &str) -> bool {
    Sha256Digest::of_bytes(bytes).to_string() == digest
}

fn parts(key: &str) -> Option<(&str, &str, &str)> {
    let mut parts = key.splitn(3, '/');
    Some((parts.next()?, parts.next()?, parts.next()?))
}

/// A request's facts, and its bytes.
#[derive(Debug, sqlx::FromRow)]
pub struct ToldRequest {
    /// Payload as received.
    pub raw: Vec<u8>,
    /// `sha256:…` of it.
    pub request_digest: String,
    /// `tool_call`, `question` or `form`.
    pub kind: Option<String>,
    /// Tool name.
    pub tool: Option<String>,
    /// Effective risk.
    pub risk: String,
    /// The agent's title.
    pub title: Option<String>,
    /// Digest of the arguments.
    pub args_digest: Option<String>,
    /// 1 to 5.
    pub approvals_required: i64,
    /// Why it was rejected.
    pub error_code: Option<String>,
}

/// The request `WS/AGENT/ID`, or one whose subject named none; none where its row is gone.
pub async fn request(reader: &Reader, name: &str) -> Result<Option<ToldRequest>, StoreError> {
    let (ws, agent, id) = parts(name).unwrap_or(("", "", name));
    Ok(sqlx::query_as(
        "SELECT raw, request_digest, kind, tool, risk, title, args_digest, approvals_required, error_code
         FROM requests WHERE ws = ? AND agent = ? AND request_id = ?",
    )
    .bind(ws)
    .bind(agent)
    .bind(id)
    .fetch_optional(&reader.0)
    .await?)
}

/// A decision's facts, and its bytes.
#[derive(Debug, sqlx::FromRow)]
pub struct ToldDecision {
    /// Payload as stored.
    pub payload: Vec<u8>,
    /// `CS-Key`.
    pub key: Option<String>,
    /// `CS-Sig`.
    pub sig: Option<String>,
    /// UUID.
    pub decision_id: Option<String>,
    /// As sent.
    pub verdict: Option<String>,
    /// As sent.
    pub origin: Option<String>,
    /// JSON `{name, key}`.
    pub decided_by: Option<String>,
    /// For the agent.
    pub message: Option<String>,
    /// Rule that decided.
    pub rule_id: Option<String>,
    /// Its version.
    pub rule_version: Option<i64>,
    /// Rule set in force.
    pub policy_digest: Option<String>,
    /// Arguments that may run.
    pub args_digest: Option<String>,
    /// How it reads everywhere.
    pub effective: Option<String>,
}

/// The decision on `WS/AGENT/ID`; none where its row is gone.
pub async fn decision(reader: &Reader, name: &str) -> Result<Option<ToldDecision>, StoreError> {
    let (ws, agent, id) = parts(name).unwrap_or(("", "", name));
    Ok(sqlx::query_as(
        "SELECT payload, key, sig, decision_id, verdict, origin, decided_by, message, rule_id, rule_version,
         policy_digest, args_digest, effective
         FROM decisions WHERE ws = ? AND agent = ? AND request_id = ?",
    )
    .bind(ws)
    .bind(agent)
    .bind(id)
    .fetch_optional(&reader.0)
    .await?)
}

/// How the decision on `WS/AGENT/ID` reads, and how the log says so in the last row behind `after` that reads
/// it anew; none where the decision is gone.
pub async fn reading(
    reader: &Reader,
    name: &str,
    after: i64,
) -> Result<Option<(Option<String>, Option<String>)>, StoreError> {
    let (ws, agent, id) = parts(name).unwrap_or(("", "", name));
    Ok(sqlx::query_as(
        "SELECT d.effective, (SELECT json_extract(a.detail, '$.effective') FROM audit a
           WHERE a.seq > ?4 AND a.subject = ?5 AND a.action IN ('judged', 'judged_again')
           ORDER BY a.seq DESC LIMIT 1)
         FROM decisions d WHERE d.ws = ?1 AND d.agent = ?2 AND d.request_id = ?3",
    )
    .bind(ws)
    .bind(agent)
    .bind(id)
    .bind(after)
    .bind(name)
    .fetch_optional(&reader.0)
    .await?)
}

/// The first request that does not read as its decision does, and whether it has one.
pub async fn unlike_decision(reader: &Reader) -> Result<Option<(String, bool)>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT iif(r.ws = '', r.request_id, r.ws || '/' || r.agent || '/' || r.request_id), d.id IS NOT NULL
         FROM requests r LEFT JOIN decisions d ON d.request = r.id
         WHERE CASE WHEN d.id IS NULL THEN
             r.state IN ('decided', 'void') OR (r.state IN ('pending', 'expired', 'withdrawn', 'rejected')
               AND r.verdict NOT IN ('expired', 'withdrawn', 'rejected'))
           ELSE r.verdict IS NOT d.effective OR r.origin IS NOT d.origin OR r.state <> CASE
             WHEN r.error_code <> ? THEN 'rejected'
             WHEN d.effective IN ('expired', 'withdrawn', 'rejected', 'void') THEN d.effective
             ELSE 'decided' END
           END
         ORDER BY r.id LIMIT 1",
    )
    .bind(RejectionCode::TooManyWaiting.as_str())
    .fetch_optional(&reader.0)
    .await?)
}

/// The bytes of the vote `WS/AGENT/ID/KEY`; none where its row is gone.
pub async fn vote_bytes(reader: &Reader, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let Some((request, voter)) = name.rsplit_once('/') else {
        return Ok(None);
    };
    let Some((ws, agent, id)) = parts(request) else {
        return Ok(None);
    };
    Ok(sqlx::query_scalar(
        "SELECT payload FROM votes WHERE ws = ? AND agent = ? AND request_id = ? AND key = ?",
    )
    .bind(ws)
    .bind(agent)
    .bind(id)
    .bind(voter)
    .fetch_optional(&reader.0)
    .await?)
}

/// Whether a policy value has the bytes of this digest.
pub async fn policy_has(reader: &Reader, key: &str, digest: &str) -> Result<bool, StoreError> {
    let bytes: Option<Vec<u8>> = sqlx::query_scalar("SELECT payload FROM policy WHERE key = ?")
        .bind(key)
        .fetch_optional(&reader.0)
        .await?;
    Ok(bytes.is_some_and(|bytes| has_digest(&bytes, digest)))
}

/// The first digest of a rule set whose words are others.
pub async fn other_version(reader: &Reader) -> Result<Option<String>, StoreError> {
    let mut rows = sqlx::query_as::<_, (String, Vec<u8>)>(
        "SELECT digest, body FROM policy_versions ORDER BY digest",
    )
    .fetch(&reader.0);
    while let Some((digest, body)) = rows.try_next().await? {
        if !has_digest(&body, &digest) {
            return Ok(Some(digest));
        }
    }
    Ok(None)
}

/// The first row that no audit entry names: somebody put it there.
pub async fn unaudited(reader: &Reader) -> Result<Option<(&'static str, String)>, StoreError> {
    const NAME: &str = "iif(ws = '', request_id, ws || '/' || agent || '/' || request_id)";
    for (table, actions) in [
        ("requests", "'request', 'rejected'"),
        ("decisions", "'decision'"),
    ] {
        let sql = format!(
            "SELECT {NAME} FROM {table} t WHERE {NAME} NOT IN (SELECT a.subject FROM audit a
             WHERE a.action IN ({actions})) LIMIT 1"
        );
        // Made of the constants above only.
        let found: Option<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .fetch_optional(&reader.0)
            .await?;
        if let Some(name) = found {
            return Ok(Some((table, name)));
        }
    }
    let vote: Option<String> = sqlx::query_scalar(
        "SELECT ws || '/' || agent || '/' || request_id || '/' || key AS tied FROM votes
         WHERE tied NOT IN (SELECT a.subject || '/' || a.actor FROM audit a WHERE a.action = 'vote') LIMIT 1",
    )
    .fetch_optional(&reader.0)
    .await?;
    if let Some(name) = vote {
        return Ok(Some(("votes", name)));
    }
    let policy: Option<String> = sqlx::query_scalar(
        "SELECT key FROM policy WHERE key NOT IN (SELECT a.subject FROM audit a
         WHERE a.action = 'policy') LIMIT 1",
    )
    .fetch_optional(&reader.0)
    .await?;
    Ok(policy.map(|key| ("policy", key)))
}
