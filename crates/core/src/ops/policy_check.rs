//! Verifies that the values of the shared policy are those that the audit log names.
//!
//! A value without a row is an error, and so is a row without its value.

use std::collections::{BTreeMap, HashSet};

use countersign_wire::Sha256Digest;
use countersign_wire::realm::{Entry, Word};

use super::audit_verify::{Check, OTHER_BYTES, PAGE};
use crate::Fault;
use crate::runtime::App;
use crate::store::{policy_history, policy_versions, proofs, realm_log};

impl App {
    /// Checks the shared policy's values against the rows that name them.
    pub(super) async fn check_policy(&self, check: &mut Check) -> Result<(), Fault> {
        let mut kept: HashSet<(String, String)> = HashSet::new();
        let mut after = 0;
        loop {
            let rows = policy_history::after(self.reader(), after, PAGE).await?;
            let Some((last, _)) = rows.last() else { break };
            after = *last;
            for (_, row) in rows {
                let digest = Sha256Digest::of_bytes(&row.payload).to_string();
                kept.insert((row.key, digest));
            }
        }
        let named = std::mem::take(&mut check.policy);
        for value in &named {
            if !kept.contains(value) {
                check.bad("policy", value.0.clone(), OTHER_BYTES);
            }
        }
        let newest: BTreeMap<&String, &String> = named.iter().map(|(key, d)| (key, d)).collect();
        for (key, digest) in newest {
            if !proofs::policy_has(self.reader(), key, digest).await? {
                check.bad("policy", key.clone(), OTHER_BYTES);
            }
        }
        let named: HashSet<&(String, String)> = named.iter().collect();
        if let Some((key, _)) = kept.iter().find(|value| !named.contains(value)) {
            check.bad("policy", key.clone(), "no audit row names it");
        }
        self.check_versions(check).await
    }

    /// Checks the words of the rule sets by which this console decided.
    async fn check_versions(&self, check: &mut Check) -> Result<(), Fault> {
        let named = std::mem::take(&mut check.versions);
        if let Some(digest) = proofs::other_version(self.reader()).await? {
            check.bad("policy_versions", digest, OTHER_BYTES);
        }
        for digest in named {
            if policy_versions::read(self.reader(), &digest)
                .await?
                .is_none()
            {
                check.bad(
                    "policy_versions",
                    digest,
                    "it is gone, and a decision names it",
                );
            }
        }
        Ok(())
    }

    /// Checks the entries of the realm log against the rows that name them.
    pub(super) async fn check_entries(&self, check: &mut Check) -> Result<(), Fault> {
        let named = std::mem::take(&mut check.entries);
        let mut kept: HashSet<(i64, String)> = HashSet::new();
        for row in realm_log::entries(self.reader()).await? {
            let (Some(n), Some(digest)) = (row.n, row.digest) else {
                continue;
            };
            let bytes = row.message.unwrap_or_default();
            let of_bytes = Entry::read(&bytes).map(|entry| entry.digest.to_string());
            let effect = row.word == Word::Ok.as_str();
            if of_bytes.as_ref() != Some(&digest) {
                check.bad("realm_log", n.to_string(), OTHER_BYTES);
            } else if effect && !named.contains(&(n, digest.clone())) {
                check.bad("realm_log", n.to_string(), "no audit row names it");
            }
            kept.insert((n, digest));
        }
        if let Some((n, _)) = named.iter().find(|entry| !kept.contains(entry)) {
            check.bad("realm_log", n.to_string(), OTHER_BYTES);
        }
        Ok(())
    }
}
