//! From what was asked to the bytes of a request.
//!
//! What a console would reject is not sent: the bytes are read back with the console's own reader before they leave.

use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{
    AgentInfo, AgentKey, ApprovalRequest, Chain, Confirm, Effective, Group, HistoryItem, KeptJson,
    MAX_LIFETIME, NativeDigest, Question, RequestId, RequestKind, Risk, Skill, Timestamp, Tool,
    Verdict, args_digest, tool_slug,
};
use serde_json::{Map, Value};

use crate::GateError;
use crate::judge::{Asked, FirstSent};

#[derive(Clone)]
pub(crate) enum What {
    Draft(Box<Draft>),
    Raw(Box<ApprovalRequest>),
}

#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) kind: RequestKind,
    pub(crate) request_id: Option<RequestId>,
    pub(crate) tool: Option<Tool>,
    pub(crate) args: Option<Value>,
    pub(crate) question: Option<Question>,
    pub(crate) response_schema: Option<Value>,
    pub(crate) risk: String,
    pub(crate) allowed: Vec<Verdict>,
    pub(crate) run_id: Option<String>,
    pub(crate) thread_id: Option<String>,
    pub(crate) call_id: Option<String>,
    pub(crate) args_raw: Option<String>,
    pub(crate) effective: Option<Effective>,
    pub(crate) native_digest: Option<NativeDigest>,
    pub(crate) confirm: Option<Confirm>,
    pub(crate) reason: Option<String>,
    pub(crate) preview: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) history: Option<Vec<HistoryItem>>,
    pub(crate) skill: Option<Skill>,
    pub(crate) chain: Option<Chain>,
    pub(crate) approvals_required: Option<u8>,
    pub(crate) group: Option<Group>,
    pub(crate) traceparent: Option<String>,
    pub(crate) metadata: Option<Map<String, Value>>,
    pub(crate) native: Option<Map<String, Value>>,
    pub(crate) agent_type: Option<String>,
    pub(crate) framework: Option<(String, String)>,
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
        let (first_sent, request) = match self {
            Self::Raw(request) => (FirstSent::Unknown, *request),
            Self::Draft(draft) => (FirstSent::Now, draft.build(agent, info, now, lifetime)?),
        };
        let mut key = request.key();
        (key.workspace, key.agent) = (agent.workspace.clone(), agent.agent.clone());
        let payload = Bytes::from(serde_json::to_vec(&request).map_err(not_written)?);
        Asked::read(key, payload, first_sent)
    }
}

impl Draft {
    pub(crate) fn new(kind: RequestKind, risk: Risk) -> Self {
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
            agent_type: None,
            framework: None,
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
        let (mut tool, mut native) = (self.tool, self.native);
        if let Some(tool) = &mut tool {
            let slug = tool_slug(&tool.name).into_owned();
            let original = std::mem::replace(&mut tool.name, slug);
            if original != tool.name {
                let native = native.get_or_insert_default();
                native.entry("tool_name").or_insert(original.into());
            }
        }
        let request_id = self.request_id.ok_or_else(|| not_written("no id"))?;
        let lifetime = time::Duration::try_from(lifetime).unwrap_or(MAX_LIFETIME);
        let expires_at = (lifetime < MAX_LIFETIME).then(|| Timestamp::new(now.get() + lifetime));
        let mut info = info.clone();
        info.agent_type = self.agent_type.or(info.agent_type);
        if let Some((name, version)) = self.framework {
            (info.framework, info.framework_version) = (Some(name), Some(version));
        }
        Ok(ApprovalRequest {
            v: 1,
            kind: self.kind,
            request_id,
            workspace: agent.workspace.clone(),
            agent: info,
            run_id: self.run_id,
            thread_id: self.thread_id,
            call_id: self.call_id,
            tool,
            args: self.args,
            args_digest,
            args_raw: self.args_raw,
            effective: self.effective,
            native_digest: self.native_digest,
            verifies: Some(vec!["webauthn".to_owned()]),
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
            native: kept(native)?,
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
