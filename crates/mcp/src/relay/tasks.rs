//! Calls that became tasks: how they end is in what passes afterwards.

use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use super::server::value;
use super::{Ended, Relay, Running, Steps, Then, ended};
use crate::answer::{CANCELLED, NO_REPORT};

impl<R> Relay<R> {
    /// The server answered an approved call with a task.
    pub(super) fn task_began(&mut self, task: &Value, running: Box<Running<R>>) -> Steps<R> {
        let asked = running.call.others.get("task");
        let ttl = task.get("ttl").or_else(|| asked?.get("ttl"));
        let ttl = ttl.and_then(Value::as_u64).map(Duration::from_millis);
        let id = task["taskId"].as_str().unwrap_or_default().to_owned();
        self.tasks.insert(id.clone(), running);
        let then = ttl.map_or(Then::Nothing, |ttl| Then::Expires(id, ttl));
        Steps {
            then,
            ..Steps::pass()
        }
    }

    /// What the server says of a task. Its end is reported once; the notice of an edit stays for the result.
    pub(super) fn task_says(&mut self, said: Option<&RawValue>) -> Then<R> {
        let said = said.filter(|_| !self.tasks.is_empty()).and_then(value);
        let said = said.unwrap_or_default();
        let failed = match said["status"].as_str() {
            Some("completed") => None,
            Some("failed") => Some("task_failed".to_owned()),
            Some("cancelled") => Some(CANCELLED.to_owned()),
            _ => return Then::Nothing,
        };
        let running = said["taskId"]
            .as_str()
            .and_then(|id| self.tasks.get_mut(id));
        let Some((receipt, running)) = running.and_then(|of| Some((of.receipt.take()?, of))) else {
            return Then::Nothing;
        };
        let (arguments, notice_pending) = (running.arguments.clone(), false);
        Then::Report(
            receipt,
            Ended {
                arguments,
                failed,
                notice_pending,
            },
        )
    }

    /// The server keeps the task no longer: what is to be reported of one whose end nobody saw.
    pub(crate) fn task_expired(&mut self, task: &str) -> Option<(R, Ended)> {
        ended(*self.tasks.remove(task)?, Some(NO_REPORT))
    }
}
