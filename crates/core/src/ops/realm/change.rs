//! What people change of the operators, as records of an entry. What they do not name stays as it is, fields of later
//! versions too.

use countersign_wire::realm::{Ask, Realm, Record};
use countersign_wire::{PublicKey, Risk, Sha256Digest, WorkspaceName};
use serde_json::{Map, Value, json};

use super::asks;
use super::keys::operator_of;
use super::write::{Fields, Pen, Written};
use crate::Fault;
use crate::bus::Bus;
use crate::runtime::{App, Role};

/// In which workspaces, and up to which risk, an operator may say more than no.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// None: all.
    pub workspaces: Option<Vec<WorkspaceName>>,
    /// None: any.
    pub max_risk: Option<Risk>,
}

impl Limits {
    fn json(&self) -> Option<Value> {
        let mut limits = Map::new();
        if let Some(workspaces) = &self.workspaces {
            limits.insert("workspaces".into(), json!(workspaces));
        }
        if let Some(risk) = self.max_risk {
            limits.insert("max_risk".into(), json!(risk));
        }
        (!limits.is_empty()).then_some(Value::Object(limits))
    }
}

/// One change of the operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Lets in who asked with this key; a key that asks to be the own operator's is added.
    Accept {
        /// The key of the ask.
        key: String,
        /// None: the name in the ask.
        name: Option<String>,
        /// As an administrator.
        admin: bool,
        /// Of a new operator.
        limits: Limits,
    },
    /// Ends the operators of these keys in one entry, or only the keys; turns asks away.
    Retire {
        /// Any key of each.
        keys: Vec<String>,
        /// Only these keys.
        key_only: bool,
    },
    /// These limits and no others.
    Limit(String, Limits),
    /// An administrator from now on, or no longer.
    Admin(String, bool),
    /// Another name.
    Rename(String, String),
    /// Whether newcomers wait for a person.
    Acceptance(bool),
}

impl Change {
    fn keys(&self) -> Vec<&str> {
        match self {
            Self::Accept { key, .. }
            | Self::Limit(key, _)
            | Self::Admin(key, _)
            | Self::Rename(key, _) => vec![key],
            Self::Retire { keys, .. } => keys.iter().map(String::as_str).collect(),
            Self::Acceptance(_) => Vec::new(),
        }
    }
}

/// The asks of keys that a change names.
pub(super) type Asks = Vec<Ask>;

/// What an entry says so that the change is made; none where it is so already.
pub(super) fn plan(
    log: &Realm,
    own: &PublicKey,
    asks: &[Ask],
    change: &Change,
) -> Result<Fields, Fault> {
    let me = operator_of(log, own);
    let ask = |key: &str| asks.iter().find(|ask| ask.key.key == key);
    let records = match change {
        Change::Acceptance(on) if *on == log.acceptance => return Ok(None),
        Change::Acceptance(on) => {
            let fields = json!({"realm": {"acceptance": on}});
            return Ok(fields.as_object().cloned());
        }
        Change::Accept {
            key,
            name,
            admin,
            limits,
        } => match accept(
            log,
            me.as_deref(),
            ask(key),
            (key, name.as_deref(), *admin, limits),
        )? {
            Some(record) => vec![record],
            None => return Ok(None),
        },
        Change::Retire { keys, key_only } => {
            let mut records: Vec<Value> = Vec::new();
            for key in keys {
                retire(log, ask(key), key, *key_only, &mut records)?;
            }
            records
        }
        Change::Limit(key, limits) => vec![changed(log, key, |record| {
            match limits.json() {
                Some(limits) => record.insert("limits".into(), limits),
                None => record.remove("limits"),
            };
        })?],
        Change::Admin(key, on) => vec![changed(log, key, |record| {
            record.insert("admin".into(), json!(on));
        })?],
        Change::Rename(key, name) => vec![changed(log, key, |record| {
            record.insert("name".into(), json!(name));
        })?],
    };
    if records.is_empty() {
        return Ok(None);
    }
    Ok(json!({ "operators": records }).as_object().cloned())
}

fn accept(
    log: &Realm,
    me: Option<&str>,
    ask: Option<&Ask>,
    (key, name, admin, limits): (&str, Option<&str>, bool, &Limits),
) -> Result<Option<Value>, Fault> {
    if log.term(key, None).is_some() {
        return Ok(None);
    }
    if log.was_named(key) {
        return Err(Fault::invalid_args(format!(
            "{key} has ended, and a key never comes in again; the person starts a console with a new data folder"
        )));
    }
    let ask = ask.ok_or_else(|| no_such(key))?;
    if ask.operator.as_str() == key {
        let mut record = json!({
            "id": key, "name": name.unwrap_or(&ask.name), "keys": [ask.key.fields],
        });
        if admin {
            record["admin"] = json!(true);
        }
        if let Some(limits) = limits.json() {
            record["limits"] = limits;
        }
        return Ok(Some(record));
    }
    let own = me.filter(|me| *me == ask.operator.as_str());
    let Some(before) = own.and_then(|me| log.operators.get(me)) else {
        return Err(Fault::invalid_args(format!(
            "{key} asks to be another key of operator {}, and only that operator accepts it",
            ask.operator
        )));
    };
    let mut record = before.fields.clone();
    if let Some(keys) = record.get_mut("keys").and_then(Value::as_array_mut) {
        keys.push(Value::Object(ask.key.fields.clone()));
    }
    Ok(Some(Value::Object(record)))
}

fn retire(
    log: &Realm,
    ask: Option<&Ask>,
    key: &str,
    key_only: bool,
    records: &mut Vec<Value>,
) -> Result<(), Fault> {
    if !log.was_named(key) {
        ask.ok_or_else(|| no_such(key))?;
        records.push(json!({"id": key, "keys": []}));
        return Ok(());
    }
    let Some(before) = log.owner(key).and_then(|id| log.operators.get(id)) else {
        return Ok(());
    };
    let known = |record: &&mut Value| record["id"] == before.id.as_str();
    if !key_only {
        if !records.iter_mut().any(|record| known(&record)) {
            records.push(json!({"id": before.id, "keys": []}));
        }
        return Ok(());
    }
    if before.key(key).is_none() {
        return Ok(());
    }
    if !records.iter_mut().any(|record| known(&record)) {
        records.push(Value::Object(before.fields.clone()));
    }
    let record = records.iter_mut().find(known);
    if let Some(keys) = record.and_then(|record| record["keys"].as_array_mut()) {
        keys.retain(|of| of["key"] != key);
    }
    Ok(())
}

/// The record of a key's operator with something else in it.
fn changed(
    log: &Realm,
    key: &str,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Result<Value, Fault> {
    let before = known(log, key)?;
    let mut record = before.fields.clone();
    change(&mut record);
    Ok(Value::Object(record))
}

fn known<'l>(log: &'l Realm, key: &str) -> Result<&'l Record, Fault> {
    if !log.was_named(key) {
        return Err(no_such(key));
    }
    let record = log.owner(key).and_then(|id| log.operators.get(id));
    record.map(AsRef::as_ref).ok_or_else(|| {
        Fault::invalid_args(format!(
            "the operator of {key} has ended, and does not come back"
        ))
    })
}

fn no_such(key: &str) -> Fault {
    Fault::not_found(format!(
        "no operator and no ask has the key {key}; see `countersign operators list`"
    ))
}

/// Whether a change is a matter of the own operator alone.
fn is_own(log: &Realm, me: &str, change: &Change) -> bool {
    match change {
        Change::Retire { keys, .. } => keys.iter().all(|key| log.owner(key) == Some(me)),
        Change::Accept { key, .. } => log.term(key, None).is_some(),
        _ => false,
    }
}

impl App {
    /// Changes the operators of the realm. Two consoles that change them at once both do, each by the state that the
    /// other left.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` for an operator who waits, has ended, or is not an administrator; `ErrorCode::NotFound`,
    /// `ErrorCode::InvalidArgs`, `ErrorCode::BusUnreachable`.
    pub async fn change_operators(&self, change: &Change) -> Result<Written, Fault> {
        self.change_operators_at(change, None).await
    }

    async fn change_operators_at(
        &self,
        change: &Change,
        shown: Option<&Sha256Digest>,
    ) -> Result<Written, Fault> {
        let bus = self.realm_bus().await?;
        let shared = &self.inner.shared;
        let realm = *shared.trusted.log().realm();
        let mut asks: Asks = Vec::new();
        for key in change.keys() {
            asks.extend(asks::find(&bus, &realm, key).await?);
        }
        let keys = shared.identity.signing();
        let own = keys.human_key.clone();
        if let Some(why) = self.why_not_sign(own.as_str()) {
            return Err(Fault::read_only(why));
        }
        let pen = Pen {
            shared,
            bus: &bus,
            projects: self.role() == Role::Console,
        };
        let plan = |log: &Realm| {
            let head = log.chain.last().map(|head| &head.digest);
            if shown.is_some() && shown != head {
                return Err(Fault::invalid_args(
                    "the operators changed since they were shown, and nothing was written; look at them again and repeat the change",
                ));
            }
            let fields = plan(log, &own, &asks, change)?;
            let me = operator_of(log, &own).unwrap_or_default();
            let admin = log.operators.get(&me).is_some_and(|record| record.admin);
            let adds = matches!(change, Change::Accept { key, .. }
                if asks.iter().any(|ask| ask.key.key == *key && ask.operator.as_str() == me));
            if fields.is_some() && !admin && !adds && !is_own(log, &me, change) {
                return Err(Fault::read_only(
                    "your operator is not an administrator; ask one to change the operators (`countersign operators list` names them)",
                ));
            }
            Ok(fields)
        };
        pen.write(&keys.human, plan).await
    }

    /// The bus, with the realm log as this process knows it.
    pub(super) async fn realm_bus(&self) -> Result<Bus, Fault> {
        if self.role() == Role::Console {
            self.ready(JOIN_LIMIT).await;
        }
        self.knows_the_bus().await?;
        let bus = self.bus().filter(|_| self.realm().is_some());
        let bus = bus.ok_or_else(|| {
            Fault::bus_unreachable(
                "the operators are a log on the bus, which cannot be reached; try again when it is back",
            )
        })?;
        if self.role() != Role::Console {
            super::write::refresh(&self.inner.shared, &bus).await?;
        }
        Ok(bus)
    }
}

/// The same for a person who saw the operators as of this head: where the log moved on, nothing is written.
///
/// # Errors
/// As [`App::change_operators`]; `ErrorCode::InvalidArgs` where the head is another one.
pub async fn change_shown(
    app: &App,
    change: &Change,
    shown: &Sha256Digest,
) -> Result<Written, Fault> {
    app.change_operators_at(change, Some(shown)).await
}

/// How long a console that was started for the change may take to join the bus.
const JOIN_LIMIT: std::time::Duration = std::time::Duration::from_secs(30);
