//! Verifies the audit log: the chain, its anchors, and the bytes that it names. Reads every row.

use std::collections::{BTreeSet, HashMap, HashSet};

use countersign_wire::{Anchor, ConsoleId, Stream, audit_subject, canonical_json, read_json};
use serde_json::Value;

use super::verify_anchors::{Anchors, Signer};
use super::verify_rows::{Named, Readings};
use super::{lost_anchors, retention};
use crate::Fault;
use crate::runtime::App;
use crate::store::audit::{self, StoredAnchor, hex, row_hash};
use crate::store::proofs;

/// Rows read at once.
pub(super) const PAGE: i64 = 1_000;

/// The first thing that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstBad {
    /// `audit`, `anchors`, `requests`, `decisions`, `votes`, `policy`, `realm_log` or
    /// `policy_versions`.
    pub table: &'static str,
    /// Row number of `audit` and `anchors`, `WS/AGENT/ID` (of a vote `WS/AGENT/ID/KEY`), the policy's key or
    /// the digest of a rule set otherwise.
    pub id: String,
    /// What is wrong.
    pub reason: String,
}

impl FirstBad {
    pub(crate) fn new(table: &'static str, id: String, reason: &str) -> Self {
        Self {
            table,
            id,
            reason: reason.to_owned(),
        }
    }
}

pub(super) const OTHER_BYTES: &str = "its bytes are not those that the audit log names";

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// Rows of the chain.
    pub rows: i64,
    /// The last row that an anchor on the bus or here covers.
    pub anchored_seq: i64,
    /// None when all is as it was written.
    pub first_bad: Option<FirstBad>,
    /// Whether the anchors were read from the bus, where nobody can take them back.
    pub anchors_from_bus: bool,
    /// Where the chain was brought back from a backup, oldest first.
    pub restores: Vec<Restore>,
}

/// A place where the chain was brought back from a backup: what followed there before is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restore {
    /// The row that says so.
    pub row: i64,
    /// The last row that came from the backup.
    pub from_seq: i64,
    /// Anchors on the bus of the rows that were lost; none until the console has met the bus again.
    pub lost_anchors: Option<i64>,
    /// The last row that is known to have been lost.
    pub lost_up_to: Option<i64>,
}

impl App {
    /// Verifies everything; `head` is a hash that must be among the chain's (one noted down earlier).
    ///
    /// # Errors
    /// `ErrorCode::Store` when the file cannot be read.
    pub async fn audit_verify(&self, head: Option<&str>) -> Result<Verification, Fault> {
        let anchors = self.all_anchors().await?;
        let mut check = Check {
            wanted: anchors.all().map(|anchor| anchor.seq).collect(),
            head: head.map(str::to_lowercase),
            ..Check::default()
        };
        let emptied = retention::named(self.reader()).await?;
        let mut seq = 0;
        loop {
            let rows = audit::after(self.reader(), seq, PAGE).await?;
            let Some(last) = rows.last() else { break };
            seq = last.seq;
            for row in &rows {
                check.row(row);
            }
            self.check_named(&mut check, &emptied).await?;
        }
        self.check_policy(&mut check).await?;
        self.check_entries(&mut check).await?;
        if let Some((table, id)) = proofs::unaudited(self.reader()).await? {
            check.bad(table, id, "no audit row names it");
        }
        if let Some(wanted) = &check.head
            && !check.head_seen
        {
            let reason = format!(
                "the head {} is not in the chain",
                countersign_wire::escape(wanted).plain()
            );
            check.bad("audit", check.rows.to_string(), &reason);
        }
        let restored_anchors =
            check.restored_anchors(anchors.on_bus.as_deref().unwrap_or_default());
        let signer = self.anchor_signer();
        let (anchored_seq, wrong) =
            anchors.check(&signer, &check.hashes, check.rows, &restored_anchors);
        for bad in wrong {
            check.first_bad.get_or_insert(bad);
        }
        // Last: what was done to the log itself says more than the rows that it no longer fits.
        self.check_readings(&mut check, seq).await?;
        Ok(Verification {
            rows: check.rows,
            anchored_seq,
            first_bad: check.first_bad,
            anchors_from_bus: anchors.on_bus.is_some(),
            restores: check.restores,
        })
    }

    /// The anchors of this console: from the bus when it answers, and those kept here.
    pub(crate) async fn all_anchors(&self) -> Result<Anchors, Fault> {
        let here = audit::anchors(self.reader()).await?;
        let console = self.identity().console_id.to_string();
        let mut anchors = Anchors {
            here,
            on_bus: None,
            epoch: None,
        };
        if let Some(bus) = self.bus()
            && let Ok(epoch) = bus.epoch(Stream::Audit.name()).await
            && let Ok(there) = lost_anchors::on_the_bus(&bus, &console).await
        {
            anchors.on_bus = Some(there);
            anchors.epoch = epoch.map(|epoch| epoch.to_string());
        }
        Ok(anchors)
    }

    /// Who signs the anchors of this console.
    fn anchor_signer(&self) -> Signer {
        let id = ConsoleId::from(self.identity().console_id);
        let mut keys = vec![self.identity().auto_key().to_string()];
        let log = self.inner.shared.trusted.log();
        let former = lost_anchors::console_keys(&log, &self.identity().console_id.to_string());
        keys.extend(former.iter().map(ToString::to_string));
        Signer {
            realm: self.realm(),
            subject: audit_subject(&id),
            keys,
        }
    }
}

#[derive(Default)]
pub(super) struct Check {
    rows: i64,
    prev: Option<Vec<u8>>,
    head: Option<String>,
    head_seen: bool,
    /// Rows that an anchor names, and their hashes.
    wanted: HashSet<i64>,
    hashes: HashMap<i64, String>,
    /// Policy keys and the digests that rows name, in their order.
    pub(super) policy: Vec<(String, String)>,
    /// Entries of the realm log that rows name: numbers and digests.
    pub(super) entries: Vec<(i64, String)>,
    /// Digests of the rule sets by which this console decided.
    pub(super) versions: BTreeSet<String>,
    named: Vec<Named>,
    pub(super) readings: Readings,
    restores: Vec<Restore>,
    /// What the chain says of anchors that a restore lost.
    lost: Vec<Value>,
    first_bad: Option<FirstBad>,
}

impl Check {
    pub(super) fn bad(&mut self, table: &'static str, id: String, reason: &str) {
        self.first_bad
            .get_or_insert_with(|| FirstBad::new(table, id, reason));
    }

    fn row(&mut self, row: &audit::Row) {
        self.rows += 1;
        let prev = self
            .prev
            .replace(row.hash.clone())
            .unwrap_or_else(|| vec![0; 32]);
        let name = || row.seq.to_string();
        if row.seq != self.rows {
            self.bad("audit", name(), "a row before it is missing");
            self.rows = row.seq;
        }
        if row.prev != prev {
            self.bad("audit", name(), "it does not follow the row before it");
        }
        let fields = (
            row.seq,
            row.at.as_str(),
            row.actor.as_str(),
            row.action.as_str(),
            row.subject.as_str(),
        );
        let detail: Option<Value> = serde_json::from_str(&row.detail).ok();
        let hash = detail
            .as_ref()
            // The text is hashed as it is written down, so that the stored text cannot drift from it.
            .filter(|detail| canonical_json(detail).is_ok_and(|text| text == row.detail))
            .and_then(|detail| row_hash(&row.prev, fields, detail).ok());
        if hash.is_none_or(|hash| hash[..] != row.hash[..]) {
            self.bad("audit", name(), "its hash is not that of its fields");
        }
        let hash = hex(&row.hash);
        self.head_seen |= self.head.as_deref() == Some(hash.as_str());
        if self.wanted.contains(&row.seq) {
            self.hashes.insert(row.seq, hash);
        }
        let text = |field: &str| {
            detail
                .as_ref()
                .and_then(|detail| detail[field].as_str().map(str::to_owned))
        };
        self.restored(row, detail.as_ref());
        let name = |table, name: String, digest| Named {
            table,
            name,
            digest,
            actor: row.actor.clone(),
            effective: text("effective"),
        };
        let subject = row.subject.clone();
        match row.action.as_str() {
            "request" | "rejected" => {
                let named = text("request_digest").map(|digest| name("requests", subject, digest));
                self.named.extend(named);
            }
            "decision" => {
                let named = text("payload_digest").map(|digest| name("decisions", subject, digest));
                self.named.extend(named);
            }
            "judged" | "judged_again" => self.readings.again(&subject, text("effective")),
            "vote" => {
                let subject = format!("{subject}/{}", row.actor);
                let named = text("payload_digest").map(|digest| name("votes", subject, digest));
                self.named.extend(named);
            }
            "decide" | "hold" => self.versions.extend(text("policy_digest")),
            "operators" => {
                let entry = row.subject.parse().ok().zip(text("digest"));
                self.entries.extend(entry);
            }
            "policy" => {
                self.policy
                    .extend(text("payload_digest").map(|digest| (subject, digest)));
            }
            _ => {}
        }
    }

    pub(super) fn take_named(&mut self) -> Vec<Named> {
        std::mem::take(&mut self.named)
    }

    fn restored(&mut self, row: &audit::Row, detail: Option<&Value>) {
        let Some(detail) = detail else { return };
        if row.action == "restore" {
            self.restores.push(Restore {
                row: row.seq,
                from_seq: detail["audit_seq"].as_i64().unwrap_or(0),
                lost_anchors: None,
                lost_up_to: detail["replaced"]["seq"].as_i64(),
            });
        }
        if row.action == lost_anchors::ACTION
            && let Some(restore) = self.restores.last_mut()
            && detail["restore"].as_i64() == Some(restore.row)
        {
            restore.lost_anchors = detail["count"].as_i64();
            restore.lost_up_to = restore.lost_up_to.max(detail["last"]["seq"].as_i64());
            self.lost.push(detail.clone());
        }
    }

    /// The anchors that a restore explains: exactly those that the chain names, none more.
    fn restored_anchors(&self, anchors: &[StoredAnchor]) -> HashSet<i64> {
        let mut restored_anchors = HashSet::new();
        for detail in &self.lost {
            let Some(restore) = detail["restore"]
                .as_i64()
                .and_then(|row| self.restores.iter().find(|restore| restore.row == row))
            else {
                continue;
            };
            let last = detail["last"]["stream_seq"].as_i64().unwrap_or(0);
            let lost: Vec<&StoredAnchor> = anchors
                .iter()
                .filter(|anchor| anchor.seq > restore.from_seq && anchor.stream_seq <= last)
                .filter(|anchor| !self.holds(anchor))
                .collect();
            let named = lost_anchors::named(&lost);
            if named["digest"] == detail["digest"] && named["count"] == detail["count"] {
                restored_anchors.extend(lost.iter().map(|anchor| anchor.stream_seq));
            }
        }
        restored_anchors
    }

    fn holds(&self, stored: &StoredAnchor) -> bool {
        read_json::<Anchor>(&stored.payload)
            .is_ok_and(|anchor| self.hashes.get(&stored.seq) == Some(&anchor.hash))
    }
}
