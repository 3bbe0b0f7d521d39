//! Rules and setups that a folder keeps from its console's earlier life.
//!
//! The last good value stays in force for what held calls back, behind what cannot be read and behind a deletion, which
//! nobody signs.

use countersign_wire::{AgentKey, PolicyKey};

use super::super::rules::last_readable;
use super::super::setup::{SetupValue, last_readable_setup};
use super::{Policies, RulesEntry, SetupEntry, known, read_payload};
use crate::store::policy::PolicyRow;
use crate::store::{Reader, StoreError};

impl Policies {
    /// The sets that this folder's console knew in its earlier life, each that cannot be read behind the one before it
    /// as [`with_last_good`] gives them, and what agents declared.
    pub(crate) fn remembered(rows: &[PolicyRow], declared: &[(AgentKey, String)]) -> Self {
        let policies = Self::default();
        for (agent, schema) in declared {
            policies.declared(agent, Some(schema));
        }
        for row in rows {
            let revision = u64::try_from(row.revision).unwrap_or(0);
            let author = (row.signer.clone(), revision);
            match PolicyKey::parse(&row.key) {
                Some(PolicyKey::Rules(workspace)) if row.is_deleted() => {
                    let known = RulesEntry {
                        revision,
                        ..RulesEntry::default()
                    };
                    policies.take(workspace, known);
                }
                Some(PolicyKey::Rules(workspace)) => {
                    policies.take(workspace, known(&row.payload, author, revision));
                }
                Some(PolicyKey::Setup(agent)) => {
                    let last = policies.setup(&agent).unbound();
                    let (value, author) = match SetupValue::read(&row.payload) {
                        Some(value) => (value, Some(author)),
                        None if row.is_deleted() && last.chosen().is_empty() => {
                            (SetupValue::default(), None)
                        }
                        None => (last, None),
                    };
                    let known = SetupEntry {
                        revision,
                        value,
                        author,
                    };
                    policies.take_setup(agent, known);
                }
                _ => {}
            }
        }
        policies
    }
}

/// The values of a folder, each that cannot be read or was deleted behind the last one that could be: its asks, its
/// denials, and the values by which rules deny still count.
pub(crate) async fn with_last_good(
    reader: &Reader,
    rows: &[PolicyRow],
) -> Result<Vec<PolicyRow>, StoreError> {
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        let good = match PolicyKey::parse(&row.key) {
            Some(PolicyKey::Rules(workspace)) if read_payload(&row.payload).is_err() => {
                let last = last_readable(reader, &workspace).await?;
                last.map(|(good, _)| good)
            }
            Some(PolicyKey::Setup(agent)) if SetupValue::read(&row.payload).is_none() => {
                let last = last_readable_setup(reader, &agent).await?;
                last.map(|(good, _)| good)
            }
            _ => None,
        };
        all.extend(good.map(|good| PolicyRow {
            revision: 0,
            ..good
        }));
        all.push(row.clone());
    }
    Ok(all)
}
