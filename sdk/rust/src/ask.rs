//! What to ask, and how it becomes the bytes of a request.
//!
//! Refuses to send what a console would reject: the bytes are read back with the
//! console's own reader before they leave.

use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{
    AgentInfo, AgentKey, ApprovalRequest, Chain, Confirm, Effective, Effects, Group, HistoryItem,
    KeptJson, MAX_LIFETIME, NativeDigest, Question, QuestionOption, RequestId, RequestKind, Risk,
    Skill, Timestamp, Tool, ToolOrigin, Verdict, args_digest, parse_request, request_subject,
};
use serde_json::{Map, Value};

use crate::GateError;
use crate::judge::Asked;

/// A request to be built: a tool call, a question or a form.
///
/// Without [`timeout`](Self::timeout) the gate's own default counts. Without
/// [`allow`](Self::allow) a tool call may be approved or denied as it is, a question
/// and a form answered or denied.
#[derive(Clone)]
pub struct Ask {
    pub(crate) what: What,
    pub(crate) lifetime: Lifetime,
}

#[derive(Clone)]
pub(crate) enum What {
    Draft(Box<Draft>),
    Raw(Box<ApprovalRequest>),
}

#[derive(Clone, Copy)]
pub(crate) enum Lifetime {
    OfTheGate,
    Longest,
    Within(Duration),
}

#[derive(Clone)]
pub(crate) struct Draft {
    kind: RequestKind,
    request_id: Option<RequestId>,
    tool: Option<Tool>,
    args: Option<Value>,
    question: Option<Question>,
    response_schema: Option<Value>,
    risk: String,
    allowed: Vec<Verdict>,
    run_id: Option<String>,
    thread_id: Option<String>,
    call_id: Option<String>,
    args_raw: Option<String>,
    effective: Option<Effective>,
    native_digest: Option<NativeDigest>,
    confirm: Option<Confirm>,
    reason: Option<String>,
    preview: Option<String>,
    title: Option<String>,
    history: Option<Vec<HistoryItem>>,
    skill: Option<Skill>,
    chain: Option<Chain>,
    approvals_required: Option<u8>,
    group: Option<Group>,
    traceparent: Option<String>,
    metadata: Option<Map<String, Value>>,
    native: Option<Map<String, Value>>,
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
    /// May this tool be called with these arguments? The risk is `high` until told otherwise.
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

    /// A request that the caller built and sent as it is: none of the setters changes it.
    pub fn raw(request: ApprovalRequest) -> Self {
        let lifetime = match request.expires_at {
            Some(_) => Lifetime::Within(request.lifetime().unsigned_abs()),
            None => Lifetime::Longest,
        };
        Self {
            what: What::Raw(Box::new(request)),
            lifetime,
        }
    }

    fn draft(draft: Draft) -> Self {
        Self {
            what: What::Draft(Box::new(draft)),
            lifetime: Lifetime::OfTheGate,
        }
    }

    fn set(mut self, change: impl FnOnce(&mut Draft)) -> Self {
        if let What::Draft(draft) = &mut self.what {
            change(draft);
        }
        self
    }

    fn set_tool(self, change: impl FnOnce(&mut Tool)) -> Self {
        self.set(|draft| draft.tool.iter_mut().for_each(change_once(change)))
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

    /// What the tool does to the world.
    #[must_use]
    pub fn effects(self, effects: Effects) -> Self {
        self.set_tool(|tool| tool.effects = Some(effects.as_str().to_owned()))
    }

    /// Where the tool comes from.
    #[must_use]
    pub fn origin(self, origin: ToolOrigin) -> Self {
        self.set_tool(|tool| tool.origin = Some(origin.as_str().to_owned()))
    }

    /// What the tool does, in the agent's words.
    #[must_use]
    pub fn describe(self, description: impl Into<String>) -> Self {
        let description = description.into();
        self.set_tool(|tool| tool.description = Some(description))
    }

    /// Where the tool's name is unique.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        self.set_tool(|tool| tool.namespace = Some(namespace))
    }

    /// The JSON Schema of the arguments; the console offers it when they are edited.
    #[must_use]
    pub fn args_schema(self, schema: Value) -> Self {
        self.set_tool(|tool| tool.args_schema = Some(schema))
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

fn change_once<T>(change: impl FnOnce(&mut T)) -> impl FnMut(&mut T) {
    let mut change = Some(change);
    move |value| {
        if let Some(change) = change.take() {
            change(value);
        }
    }
}

impl From<ApprovalRequest> for Ask {
    fn from(request: ApprovalRequest) -> Self {
        Self::raw(request)
    }
}

impl What {
    /// The bytes to send, checked as the console will check them.
    pub(crate) fn build(
        self,
        agent: &AgentKey,
        info: &AgentInfo,
        now: Timestamp,
        lifetime: Duration,
    ) -> Result<Asked, GateError> {
        let request = match self {
            Self::Raw(request) => *request,
            Self::Draft(draft) => draft.build(agent, info, now, lifetime)?,
        };
        let mut key = request.key();
        (key.workspace, key.agent) = (agent.workspace.clone(), agent.agent.clone());
        let payload = Bytes::from(serde_json::to_vec(&request).map_err(not_written)?);
        let parsed = parse_request(&request_subject(&key), &payload).map_err(|rejection| {
            GateError::InvalidRequest {
                code: rejection.code.as_str(),
                detail: rejection.detail,
            }
        })?;
        Ok(Asked {
            key,
            payload,
            request_digest: parsed.request_digest,
            args: parsed.args,
            args_digest: parsed.args_digest,
            allowed: parsed.request.allowed(),
            approvals_required: parsed.request.approvals_required(),
            requested_at: parsed.request.requested_at,
            lifetime: parsed.request.lifetime().unsigned_abs(),
        })
    }
}

impl Draft {
    fn new(kind: RequestKind, risk: Risk) -> Self {
        Self {
            kind,
            request_id: None,
            tool: None,
            args: None,
            question: None,
            response_schema: None,
            risk: risk.as_str().to_owned(),
            allowed: vec![Verdict::Respond, Verdict::Deny],
            run_id: None,
            thread_id: None,
            call_id: None,
            args_raw: None,
            effective: None,
            native_digest: None,
            confirm: None,
            reason: None,
            preview: None,
            title: None,
            history: None,
            skill: None,
            chain: None,
            approvals_required: None,
            group: None,
            traceparent: None,
            metadata: None,
            native: None,
        }
    }

    fn build(
        self,
        agent: &AgentKey,
        info: &AgentInfo,
        now: Timestamp,
        lifetime: Duration,
    ) -> Result<ApprovalRequest, GateError> {
        let args_digest = match &self.args {
            Some(args) => Some(args_digest(args).map_err(not_written)?),
            None => None,
        };
        let kept = |map: Option<Map<String, Value>>| {
            map.map(|map| KeptJson::of(&map))
                .transpose()
                .map_err(not_written)
        };
        let request_id = self.request_id.ok_or_else(|| not_written("no id"))?;
        let lifetime = time::Duration::try_from(lifetime).unwrap_or(MAX_LIFETIME);
        let expires_at = (lifetime < MAX_LIFETIME).then(|| Timestamp::new(now.get() + lifetime));
        Ok(ApprovalRequest {
            v: 1,
            kind: self.kind,
            request_id,
            workspace: agent.workspace.clone(),
            agent: info.clone(),
            run_id: self.run_id,
            thread_id: self.thread_id,
            call_id: self.call_id,
            tool: self.tool,
            args: self.args,
            args_digest,
            args_raw: self.args_raw,
            effective: self.effective,
            native_digest: self.native_digest,
            risk: self.risk,
            confirm: self.confirm,
            reason: self.reason,
            preview: self.preview,
            title: self.title,
            question: self.question,
            response_schema: self.response_schema,
            history: self.history,
            skill: self.skill,
            chain: self.chain,
            allowed_verdicts: self.allowed.iter().map(ToString::to_string).collect(),
            approvals_required: self.approvals_required,
            group: self.group,
            requested_at: now,
            expires_at,
            traceparent: self.traceparent,
            metadata: kept(self.metadata)?,
            native: kept(self.native)?,
            extra: Map::new(),
        })
    }
}

fn not_written(why: impl ToString) -> GateError {
    GateError::InvalidRequest {
        code: "not_json",
        detail: why.to_string(),
    }
}
