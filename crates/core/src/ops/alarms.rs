//! Alarms: which are active, and which a person has acknowledged.
//!
//! A state that lasts cannot be acknowledged: its alarm ends when the cause is gone.

use serde_json::json;

use super::job::Job;
use super::writer_state::Tx;
use crate::Fault;
use crate::domain::AlarmCode;
use crate::runtime::stopped;
use crate::runtime::{App, Shared};
use crate::store::StoreError;
use crate::store::alarms::{self, Alarm};

/// What came of an acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acknowledged {
    /// The alarm as it is now; the first acknowledgement is kept.
    Done(Alarm),
    /// It reports a state that lasts.
    Lasts(Alarm),
    /// An unknown number, or an alarm that has ended.
    Unknown,
}

/// Raises an alarm of this console's own.
pub(super) fn raise(code: AlarmCode, subject: String) -> Job {
    Job::kept(move |writer, batch| {
        let auto = writer.identity.auto_key().to_string();
        batch.alarm(&auto, code, &subject)
    })
}

/// Ends an alarm whose cause is gone.
pub(super) fn lower(code: AlarmCode, subject: String) -> Job {
    Job::kept(move |writer, batch| {
        let auto = writer.identity.auto_key().to_string();
        batch.clear_alarm(&auto, code, &subject)
    })
}

/// Somebody sends what no client can read: raised once, however often it comes.
pub(super) fn unreadable(sender: String) -> Job {
    Job::kept(move |writer, batch| {
        let auto = writer.identity.auto_key().to_string();
        batch.alarm_unseen(&auto, AlarmCode::UnreadableMessage, &sender)
    })
}

/// Raises the new alarms of a code and ends those that are over, for checks that run again and again. Active alarms
/// stay as they are: a person may have acknowledged them.
pub(super) async fn keep_to(shared: &Shared, code: AlarmCode, now: &[String]) -> Result<(), Fault> {
    let known = alarms::of_code(&shared.reader, code.as_str()).await?;
    let over = known.iter().filter(|announced| !now.contains(announced));
    let over = over.cloned().map(|subject| lower(code, subject));
    let new = now.iter().filter(|subject| !known.contains(subject));
    let new = new.cloned().map(|subject| raise(code, subject));
    for job in over.chain(new) {
        let sent = shared.jobs.send(job).await;
        sent.map_err(|_| stopped())?;
    }
    Ok(())
}

fn acknowledge(batch: &mut Tx<'_>, operator: &str, id: i64) -> Result<Acknowledged, StoreError> {
    let Some(alarm) = alarms::get(batch.tx, id)? else {
        return Ok(Acknowledged::Unknown);
    };
    if AlarmCode::from_word(&alarm.code).is_some_and(AlarmCode::lasts) {
        return Ok(Acknowledged::Lasts(alarm));
    }
    if alarms::acknowledge(batch.tx, id, operator, batch.now)? {
        let detail = json!({ "code": alarm.code });
        batch.record(
            operator,
            "alarm_acknowledged",
            alarm.subject.clone(),
            detail,
        );
        batch.effects.status = true;
    }
    let now = alarms::get(batch.tx, id)?;
    Ok(now.map_or(Acknowledged::Unknown, Acknowledged::Done))
}

fn lasts(alarm: &Alarm) -> Fault {
    Fault::invalid_args(format!(
        "alarm {} ({}) reports a state that lasts; it ends when its cause is gone",
        alarm.id, alarm.code
    ))
}

impl App {
    /// Every active alarm, newest first, the acknowledged ones too.
    pub async fn alarms(&self) -> Result<Vec<Alarm>, Fault> {
        self.with_store_failed(alarms::all(self.reader()).await?)
    }

    /// Acknowledges an alarm: `status` omits it from then on, and the list of alarms keeps it until its cause is gone.
    /// Raised again, it is reported again. Audited.
    ///
    /// # Errors
    /// `ErrorCode::NotFound`; `ErrorCode::InvalidArgs` for a state that lasts; `ErrorCode::ReadOnly` when it cannot be
    /// written.
    pub async fn acknowledge_alarm(&self, id: i64) -> Result<Alarm, Fault> {
        let unwritten = self.with_store_failed(Vec::new())?.pop();
        if let Some(alarm) = unwritten.filter(|alarm| alarm.id == id) {
            return Err(lasts(&alarm));
        }
        let seen = self.ask(move |writer, batch| {
            let me = writer.identity.human_key().to_string();
            acknowledge(batch, &me, id)
        });
        match seen.await? {
            Acknowledged::Done(alarm) => Ok(alarm),
            Acknowledged::Lasts(alarm) => Err(lasts(&alarm)),
            Acknowledged::Unknown => Err(Fault::not_found(format!(
                "there is no alarm {id}; see `countersign alarms`"
            ))),
        }
    }
}
