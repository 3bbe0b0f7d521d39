//! What to ask, in the words of a program.
//!
//! What an agent can honour is not guessed: editing is offered to the operator only if the agent says that it takes
//! edited arguments.

mod tool;

use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{
    ApprovalDecision, ApprovalRequest, Chain, Confirm, Effective, Group, HistoryItem, NativeDigest,
    Question, QuestionOption, RequestId, RequestKind, Risk, Skill, Tool, Verdict,
};
use serde_json::{Map, Value};

use crate::draft::{Draft, What};

/// A request to be built: a tool call, a question or a form.
///
/// Without [`timeout`](Self::timeout) the gate's own default counts. Without
/// [`allow`](Self::allow) a tool call may be approved or denied as it is, a question
/// and a form answered or denied.
#[derive(Clone)]
pub struct Ask {
    pub(crate) what: What,
    pub(crate) lifetime: Lifetime,
    pub(crate) key: Option<String>,
    pub(crate) kept_since: Option<Duration>,
    pub(crate) degraded: Option<Degraded>,
}

/// From a decision that counts to what of it cannot be honoured.
pub(crate) type Degraded = Arc<dyn Fn(&ApprovalDecision) -> Vec<String> + Send + Sync>;

#[derive(Clone, Copy)]
pub(crate) enum Lifetime {
    OfTheGate,
    Longest,
    Within(Duration),
}

macro_rules! words {
    ($($(#[$about:meta])* $name:ident => $field:ident,)+) => {
        $($(#[$about])* #[must_use] pub fn $name(self, text: impl Into<String>) -> Self {
            let text = text.into();
            self.set(|draft| draft.$field = Some(text))
        })+
    };
}

macro_rules! parts {
    ($($(#[$about:meta])* $field:ident: $type:ty,)+) => {
        $($(#[$about])* #[must_use] pub fn $field(self, $field: $type) -> Self {
            self.set(|draft| draft.$field = Some($field))
        })+
    };
}

impl Ask {
    /// May this tool be called with these arguments? The risk is `high` unless set. A name that is not 1 to 64 of
    /// `A-Z a-z 0-9 _ . -` is asked as [`tool_slug`](crate::wire::tool_slug), with `tool_name` in `native`.
    pub fn tool(name: impl Into<String>, args: Value) -> Self {
        let mut draft = Draft::new(RequestKind::ToolCall, Risk::High);
        draft.tool = Some(Tool::named(name));
        draft.args = Some(args);
        draft.allowed = vec![Verdict::Approve, Verdict::Deny];
        Self::draft(draft)
    }

    /// A question to a person; any answer is welcome until options are given.
    pub fn question(text: impl Into<String>) -> Self {
        let mut draft = Draft::new(RequestKind::Question, Risk::Low);
        draft.question = Some(Question {
            text: text.into(),
            context: None,
            options: None,
            allow_freeform: Some(true),
        });
        Self::draft(draft)
    }

    /// A form to fill in; the schema is a JSON Schema of the answer.
    pub fn form(title: impl Into<String>, response_schema: Value) -> Self {
        let mut draft = Draft::new(RequestKind::Form, Risk::Low);
        draft.title = Some(title.into());
        draft.response_schema = Some(response_schema);
        Self::draft(draft)
    }

    /// A request that the caller built and sent as it is: none of the setters changes it. [`timeout`](Self::timeout)
    /// shortens the own wait alone.
    ///
    /// If its bytes are on the bus already, from an earlier life of the agent, it gets the answer to those, whatever
    /// was done with it then.
    pub fn raw(request: ApprovalRequest) -> Self {
        let lifetime = match request.expires_at {
            Some(_) => Lifetime::Within(request.lifetime().unsigned_abs()),
            None => Lifetime::Longest,
        };
        Self {
            what: What::Raw(Box::new(request)),
            lifetime,
            key: None,
            kept_since: None,
            degraded: None,
        }
    }

    /// Of [`raw`](Self::raw): the caller keeps the request in a journal of its own, since so long ago. Its timer runs
    /// since then; dropping the answer leaves the request on the bus; once the time is over nothing is published.
    #[must_use]
    pub fn kept_since(mut self, passed: Duration) -> Self {
        self.kept_since = Some(passed);
        self
    }

    fn draft(draft: Draft) -> Self {
        Self {
            what: What::Draft(Box::new(draft)),
            lifetime: Lifetime::OfTheGate,
            key: None,
            kept_since: None,
            degraded: None,
        }
    }

    fn set(mut self, change: impl FnOnce(&mut Draft)) -> Self {
        if let What::Draft(draft) = &mut self.what {
            change(draft);
        }
        self
    }

    /// How long to wait, at most 30 days.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.lifetime = Lifetime::Within(limit);
        self
    }

    /// Waits as long as the protocol allows, 30 days.
    #[must_use]
    pub fn no_timeout(mut self) -> Self {
        self.lifetime = Lifetime::Longest;
        self
    }

    /// On a gate with a journal: the request stays until its answer was handed out. The same key with the same call
    /// waits for the same request, in this or a later process, with the timer of its first ask; with another call it
    /// takes the former request back. 1 to 1,024 characters. Without a journal it changes nothing.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// What of a decision cannot be honoured, for `degraded` of the receipt `received`; an empty list says nothing.
    #[must_use]
    pub fn degraded(
        mut self,
        words: impl Fn(&ApprovalDecision) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.degraded = Some(Arc::new(words));
        self
    }

    /// The framework of this request and its version, where the gate asks for several.
    #[must_use]
    pub fn framework(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        let framework = (name.into(), version.into());
        self.set(|draft| draft.framework = Some(framework))
    }

    /// The id of the request; a new UUIDv7 if it is not set.
    #[must_use]
    pub fn request_id(self, id: RequestId) -> Self {
        self.set(|draft| draft.request_id = Some(id))
    }

    /// How dangerous the call is.
    #[must_use]
    pub fn risk(self, risk: Risk) -> Self {
        self.set(|draft| draft.risk = risk.as_str().to_owned())
    }

    /// The answers that the agent can honour; `deny` always is.
    #[must_use]
    pub fn allow(self, verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let verdicts = verdicts.into_iter().collect();
        self.set(|draft| draft.allowed = verdicts)
    }

    /// An answer to choose, for a question.
    #[must_use]
    pub fn option(self, key: impl Into<String>, label: impl Into<String>) -> Self {
        let option = QuestionOption {
            key: Some(key.into()),
            label: Some(label.into()),
            description: None,
        };
        self.set(|draft| {
            if let Some(question) = &mut draft.question {
                question.options.get_or_insert_default().push(option);
                question.allow_freeform = Some(false);
            }
        })
    }

    /// Whether a question takes an answer in own words, beside its options.
    #[must_use]
    pub fn allow_freeform(self, allow: bool) -> Self {
        self.set(|draft| {
            if let Some(question) = &mut draft.question {
                question.allow_freeform = Some(allow);
            }
        })
    }

    words! {
        /// Why, in the agent's words.
        explain => reason,
        /// What it will look like, in the agent's words.
        preview => preview,
        /// A heading, in the agent's words.
        title => title,
        /// The agent's own id of its run.
        run_id => run_id,
        /// The agent's own id of its conversation.
        thread_id => thread_id,
        /// The agent's own id of the call.
        call_id => call_id,
        /// The model's own text of the arguments, where it differs in bytes.
        args_raw => args_raw,
        /// What kind of agent asks, where it is another than the gate's.
        agent_type => agent_type,
        /// The W3C trace context of the span that wants to make the call.
        traceparent => traceparent,
    }

    parts! {
        /// How many distinct operators must agree, 1 to 5.
        approvals_required: u8,
        /// What the framework changes after the gate.
        effective: Effective,
        /// The framework's own digest.
        native_digest: NativeDigest,
        /// A confirmation that a setup key can give.
        confirm: Confirm,
        /// What led here.
        history: Vec<HistoryItem>,
        /// The skill in use.
        skill: Skill,
        /// The chain of calls that this one belongs to.
        chain: Chain,
        /// Calls raised together.
        group: Group,
        /// Anything else, kept, never interpreted.
        metadata: Map<String, Value>,
        /// What the framework itself calls things.
        native: Map<String, Value>,
    }

    /// The id under which it will be asked; one is made up if there is none.
    pub(crate) fn fix_id(&mut self) -> Option<RequestId> {
        match &mut self.what {
            What::Raw(request) => Some(request.request_id.clone()),
            What::Draft(draft) => {
                if draft.request_id.is_none() {
                    draft.request_id = uuid::Uuid::now_v7().to_string().parse().ok();
                }
                draft.request_id.clone()
            }
        }
    }
}

impl From<ApprovalRequest> for Ask {
    fn from(request: ApprovalRequest) -> Self {
        Self::raw(request)
    }
}
