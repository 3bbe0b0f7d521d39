//! Messages of the server.
//!
//! Refuses to judge them: what cannot be read goes on as it is.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{Relay, Running, Stage, Steps, Then, ended};
use crate::answer;
use crate::forms::{self, Inputs};
use crate::id::Id;
use crate::tools::Page;

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default)]
    id: Option<Value>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(borrow, default)]
    result_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    request_state: Option<Cow<'a, str>>,
    /// A call that became one.
    #[serde(borrow, default)]
    task: Option<&'a RawValue>,
}

impl<R> Relay<R> {
    /// A message of the server, without the end of its line.
    pub(crate) fn sent_by_server(&mut self, line: &[u8]) -> Steps<R> {
        let object = line.trim_ascii_start().starts_with(b"{");
        let head = serde_json::from_slice::<Head<'_>>(line);
        match head.ok().filter(|_| object) {
            None => Steps::pass(),
            Some(head) => match head.method.as_deref() {
                None => self.answered(line, &head),
                Some("notifications/tools/list_changed") => Steps {
                    to_server: self.tools.list(None),
                    ..Steps::pass()
                },
                Some("elicitation/create") => self.elicited(&head),
                Some("notifications/cancelled") => self.cancelled(&head),
                Some("notifications/tasks/status") => Steps {
                    then: self.task_says(head.params),
                    ..Steps::pass()
                },
                Some(_) => Steps::pass(),
            },
        }
    }

    fn answered(&mut self, line: &[u8], head: &Head<'_>) -> Steps<R> {
        let Some(id) = head.id.as_ref().and_then(Id::of) else {
            return Steps::pass();
        };
        if self.tools.awaits(&id) {
            let result = head.result.and_then(value);
            return match self.tools.page(result.as_ref()) {
                Page::More(message) => Steps {
                    to_server: Some(message),
                    ..Steps::stop()
                },
                Page::Whole => Steps {
                    then: Then::Tools,
                    ..Steps::stop()
                },
            };
        }
        if let Some((_, envelope)) = self.discover.take_if(|(asked, _)| *asked == id) {
            let to_server = head.result.and_then(|_| self.tools.list(Some(envelope)));
            return Steps {
                to_server,
                ..Steps::pass()
            };
        }
        let id = self.meant(id);
        match self.calls.remove(&id) {
            Some(Stage::Runs(running)) => self.ran(line, head, running),
            Some(waits) => {
                tracing::warn!(
                    "the server answered call {id}, which still waits for a person; the answer was dropped"
                );
                self.calls.insert(id, waits);
                Steps::stop()
            }
            None => Steps {
                then: self.task_says(head.result),
                ..Steps::pass()
            },
        }
    }

    fn ran(&mut self, line: &[u8], head: &Head<'_>, mut running: Box<Running<R>>) -> Steps<R> {
        let outcome = head.result.map(RawValue::get);
        let outcome = outcome.and_then(|text| serde_json::from_str::<Outcome<'_>>(text).ok());
        let outcome = outcome.unwrap_or_default();
        if outcome.result_type.as_deref() == Some("input_required") {
            let result = head.result.and_then(value).unwrap_or_default();
            if self.console_forms
                && let Some(asked) = forms::all_forms(&result, &running.call.name)
            {
                let token = CancellationToken::new();
                let waits = Stage::Waits(token.clone());
                self.calls.insert(running.call.id.clone(), waits);
                let inputs =
                    Inputs::OfCall(running, asked, outcome.request_state.map(Cow::into_owned));
                return Steps {
                    then: Then::Fill(Box::new(inputs), token),
                    ..Steps::stop()
                };
            }
            if let Some(state) = outcome.request_state {
                self.remember(*running, &state);
            }
            return Steps::pass();
        }
        let task = outcome.task.and_then(value);
        if let Some(task) =
            task.filter(|task| running.receipt.is_some() && task["taskId"].is_string())
        {
            return self.task_began(&task, running);
        }
        let notice = running.notice.take();
        let reported = notice.as_deref().zip(outcome.content);
        let reported =
            reported.and_then(|(notice, content)| answer::with_notice(line, content, notice));
        if reported.is_none() {
            running.notice = notice;
        }
        let failed = match (head.error, outcome.is_error) {
            (Some(error), _) => Some(kind(error)),
            (None, Some(true)) => Some("tool_error".to_owned()),
            (None, _) => None,
        };
        let report = ended(*running, failed.as_deref());
        Steps {
            pass: reported.is_none(),
            to_client: reported,
            then: report.map_or(Then::Nothing, |(r, ended)| Then::Report(r, ended)),
            ..Steps::stop()
        }
    }

    fn elicited(&mut self, head: &Head<'_>) -> Steps<R> {
        let id = head.id.as_ref().and_then(Id::of);
        let params = head.params.and_then(value);
        let runs = |stage: &Stage<R>| match stage {
            Stage::Runs(running) => Some(format!("{:?}", running.call.name)),
            Stage::Waits(_) => None,
        };
        let tasks = self.tasks.values().map(|of| format!("{:?}", of.call.name));
        let mut tools: Vec<_> = self.calls.values().filter_map(runs).chain(tasks).collect();
        tools.sort_unstable();
        match id.zip(params.and_then(|params| forms::form(&params, &tools))) {
            Some((id, form)) if self.console_forms => {
                let token = CancellationToken::new();
                self.forms.insert(id.clone(), token.clone());
                let inputs = Box::new(Inputs::OfServer(id, form));
                Steps {
                    then: Then::Fill(inputs, token),
                    ..Steps::stop()
                }
            }
            _ => Steps::pass(),
        }
    }

    fn cancelled(&mut self, head: &Head<'_>) -> Steps<R> {
        let params = head.params.and_then(value);
        let id = params.and_then(|params| Id::of(params.get("requestId")?));
        match id.and_then(|id| self.forms.remove(&id)) {
            Some(token) => {
                token.cancel();
                Steps::stop()
            }
            None => Steps::pass(),
        }
    }

    /// A form of the server is filled in or not; whether it still waited.
    pub(crate) fn filled(&mut self, id: &Id) -> bool {
        self.forms.remove(id).is_some()
    }
}

/// The type of a JSON-RPC error: its code.
fn kind(error: &RawValue) -> String {
    let code = value(error).and_then(|error| error.get("code")?.as_i64());
    code.map_or_else(|| "error".to_owned(), |code| code.to_string())
}

pub(super) fn value(raw: &RawValue) -> Option<Value> {
    countersign_wire::json_value(raw.get().as_bytes())
}
