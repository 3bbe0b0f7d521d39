//! Messages of the client.

use bytes::Bytes;
use countersign_sdk::PROBE;
use tokio_util::sync::CancellationToken;

use super::{Relay, Running, Stage, Steps, Then, ended};
use crate::answer;
use crate::message::{self, Call, INVALID_REQUEST, Refused, Sent};

impl<R> Relay<R> {
    /// A message of the client, without the end of its line.
    pub(crate) fn sent_by_client(&mut self, line: &[u8]) -> Steps<R> {
        match message::read(line) {
            Err(refused) => Steps::answer(answer::error(&refused)),
            Ok(Sent::Other) => Steps::pass(),
            Ok(Sent::CallWithoutId) => Steps::stop(),
            Ok(Sent::Call(call)) => self.call(*call),
            Ok(Sent::Initialized) => Steps {
                to_server: self.tools.list(None),
                ..Steps::pass()
            },
            Ok(Sent::Discover(id, envelope)) => {
                self.discover = Some((id, envelope));
                Steps::pass()
            }
            Ok(Sent::TaskResult(id, task)) => {
                // Its answer is the result of the call.
                if let Some(running) = self.tasks.remove(&task) {
                    self.calls.insert(id, Stage::Runs(running));
                }
                Steps::pass()
            }
            Ok(Sent::Cancelled(id)) => match self.calls.remove(&self.meant(id.clone())) {
                Some(Stage::Waits(token)) => {
                    token.cancel();
                    Steps::stop()
                }
                Some(Stage::Runs(running)) => {
                    // Only the question for a task's result may be taken back.
                    let is_call = running.call.id == id;
                    let failed = if is_call {
                        answer::CANCELLED
                    } else {
                        answer::NO_REPORT
                    };
                    let report = ended(*running, Some(failed));
                    let then = report.map_or(Then::Nothing, |(r, ended)| Then::Report(r, ended));
                    Steps {
                        then,
                        ..Steps::pass()
                    }
                }
                None => Steps::pass(),
            },
        }
    }

    fn call(&mut self, call: Call) -> Steps<R> {
        if self.calls.contains_key(&call.id) {
            return Steps::answer(answer::error(&Refused {
                id: call.id.value(),
                code: INVALID_REQUEST,
                why: "a tool call with this id is not over".to_owned(),
            }));
        }
        let to_server = match self.tools.never_asked() {
            true => self.tools.list(Some(call.envelope())),
            false => None,
        };
        if call.name != PROBE && !self.which.asks(&call.name) {
            self.run(call, None);
            return Steps {
                to_server,
                ..Steps::pass()
            };
        }
        if let Some(receipt) = self.approved_before(&call) {
            let message = call.message(&call.id, &call.arguments, &call.others);
            self.run(call, Some(receipt));
            let to_server: Option<Bytes> = Some(answer::line(&message));
            return Steps {
                to_server,
                ..Steps::stop()
            };
        }
        let token = CancellationToken::new();
        let waits = Stage::Waits(token.clone());
        self.calls.insert(call.id.clone(), waits);
        Steps {
            to_server,
            then: Then::Ask(Box::new(call), token),
            ..Steps::stop()
        }
    }

    fn run(&mut self, call: Call, receipt: Option<R>) {
        self.probes += u64::from(call.name == PROBE);
        let running = Running {
            arguments: call.arguments.clone(),
            notice: None,
            receipt,
            call,
        };
        let id = running.call.id.clone();
        self.calls.insert(id, Stage::Runs(Box::new(running)));
    }
}
