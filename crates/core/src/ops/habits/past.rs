//! What the writer remembers of the pasts of tools, so that it reads each once a day.

use std::collections::HashMap;

use countersign_redaction::is_secret_value;
use countersign_scrutiny::{Habit, Kind, Past};
use countersign_wire::Sha256Digest;
use uuid::Uuid;

use super::learn::{ROWS, denial, parted, remember};
use crate::domain::Timestamp;
use crate::ops::scrutiny::{APPROVED_MS, DENIED_MS, is_approval};
use crate::store::people_decided::{self, Decided};
use crate::store::{Connection, StoreError, habits, meta};

/// The most pasts that are kept in memory.
const MOST: usize = 64;

/// A tool of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ToolName {
    pub(crate) ws: String,
    pub(crate) agent: String,
    pub(crate) tool: String,
}

impl ToolName {
    pub(crate) fn new(ws: &str, agent: &str, tool: &str) -> Self {
        Self {
            ws: ws.to_owned(),
            agent: agent.to_owned(),
            tool: tool.to_owned(),
        }
    }

    pub(super) fn of(decided: &Decided) -> Self {
        let (ws, agent, tool) = &decided.tool;
        Self::new(ws, agent, tool)
    }

    pub(super) fn parts(&self) -> habits::Tool<'_> {
        (&self.ws, &self.agent, &self.tool)
    }
}

/// Days since 1970, of the server's stamp in ms.
pub(super) fn day_of(ms: i64) -> i64 {
    ms.div_euclid(Timestamp::DAY_MS)
}

/// Pasts by tool, with the day on which each was read: what is older than its window counts no longer.
#[derive(Default)]
pub(crate) struct Pasts {
    by_tool: HashMap<ToolName, (i64, Past)>,
    /// What digests of secrets are made with.
    key: Option<String>,
}

impl Pasts {
    /// The past of a tool at this moment.
    pub(super) fn of(
        &mut self,
        tx: &Connection,
        now: Timestamp,
        tool: &ToolName,
    ) -> Result<&mut Past, StoreError> {
        let day = day_of(now.0);
        let known = self.by_tool.get(tool).is_some_and(|(read, _)| *read == day);
        if !known {
            let key = match &self.key {
                Some(key) => key.clone(),
                None => self.key.insert(hiding_key(tx)?).clone(),
            };
            let past = read(tx, now, tool, key)?;
            if self.by_tool.len() >= MOST {
                self.by_tool.clear();
            }
            self.by_tool.insert(tool.clone(), (day, past));
        }
        Ok(&mut self.by_tool.entry(tool.clone()).or_default().1)
    }

    /// It is read again when it is needed.
    pub(super) fn forget(&mut self, tool: &ToolName) {
        self.by_tool.remove(tool);
    }

    /// All of them are.
    pub(super) fn forget_all(&mut self) {
        self.by_tool.clear();
    }
}

fn hiding_key(tx: &Connection) -> Result<String, StoreError> {
    if let Some(key) = meta::stored(tx, meta::HIDING)? {
        return Ok(key);
    }
    let key = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    meta::put(tx, meta::HIDING, &key)?;
    Ok(key)
}

fn read(tx: &Connection, now: Timestamp, tool: &ToolName, key: String) -> Result<Past, StoreError> {
    let mut past = Past::hiding(Box::new(move |value| {
        is_secret_value(value).then(|| {
            let digest = Sha256Digest::of_bytes(format!("{key}{value}").as_bytes());
            format!("hidden:{digest}")
        })
    }));
    let denied_since = day_of(now.0 - DENIED_MS);
    for row in habits::of_tool(tx, tool.parts(), day_of(now.0 - APPROVED_MS))? {
        let Some(kind) = Kind::from_word(&row.kind) else {
            continue;
        };
        let (value, most) = parted(kind, &row.value);
        let counts = row.day >= denied_since;
        let habit = Habit {
            approved: row.approved,
            denied: if counts { row.denied } else { 0 },
            most: most.filter(|_| row.approved > 0),
            denial: row.denial.filter(|_| counts).map(denial),
        };
        past.insert(kind, &row.place, value, habit);
    }
    let requests = people_decided::of_tool_since(tx, tool.parts(), now.0 - APPROVED_MS)?;
    let newest = requests.len().saturating_sub(ROWS as usize);
    for request in &requests[newest..] {
        for decided in people_decided::of(tx, std::slice::from_ref(request), 0)? {
            let counts =
                is_approval(&decided.decision) || decided.decision.decided_at >= now.0 - DENIED_MS;
            if counts {
                remember(&mut past, tool, &decided.decision, 1);
            }
        }
    }
    Ok(past)
}
