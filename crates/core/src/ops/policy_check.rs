//! Verifies that the values of the shared policy are those that the audit log names.
//!
//! A value without a row is an error, and so is a row without its value.

use std::collections::{BTreeMap, HashSet};

use countersign_wire::Sha256Digest;
use serde_json::Value;

use super::audit_verify::{Check, OTHER_BYTES, PAGE};
use crate::Fault;
use crate::runtime::App;
use crate::store::policy::PolicyRow;
use crate::store::{policy_history, policy_versions, proofs};

impl App {
    /// Checks the shared policy's values against the rows that name them. Returns the keys that signed for
    /// this console before.
    pub(super) async fn check_policy(&self, check: &mut Check) -> Result<Vec<String>, Fault> {
        let mut kept: HashSet<(String, String)> = HashSet::new();
        let (mut after, mut former) = (0, Vec::new());
        loop {
            let rows = policy_history::after(self.reader(), after, PAGE).await?;
            let Some((last, _)) = rows.last() else { break };
            after = *last;
            for (_, row) in rows {
                let digest = Sha256Digest::of_bytes(&row.payload).to_string();
                former.extend(self.former_keys(&row));
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
        self.check_versions(check).await?;
        Ok(former)
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

    /// Keys that a list of operators gives to this console.
    fn former_keys(&self, row: &PolicyRow) -> Vec<String> {
        if row.key != "operators" {
            return Vec::new();
        }
        let list: Value = serde_json::from_slice(&row.payload).unwrap_or_default();
        let console = self.identity().console_id.to_string();
        let entries = list["operators"].as_array();
        entries
            .into_iter()
            .flatten()
            .filter(|entry| entry["role"] == "auto" && entry["console"] == *console)
            .filter_map(|entry| entry["key"].as_str().map(str::to_owned))
            .collect()
    }
}
