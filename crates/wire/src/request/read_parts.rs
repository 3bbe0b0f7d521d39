//! The objects inside a request, field by field.
//!
//! A field of the wrong type is rejected; unknown ones stay in the raw bytes.

use super::{
    AgentInfo, Chain, Confirm, Effective, Group, HistoryItem, NativeDigest, Question,
    QuestionOption, Skill, Tool,
};
use crate::{AgentName, json::Fields, rejection::WireError};

type Read<T> = Result<T, WireError>;

pub(super) fn each<T>(
    items: Option<Vec<Fields>>,
    read: fn(Fields) -> Read<T>,
) -> Read<Option<Vec<T>>> {
    items
        .map(|items| items.into_iter().map(read).collect())
        .transpose()
}

pub(super) fn agent(mut from: Fields) -> Read<(String, impl FnOnce(AgentName) -> AgentInfo)> {
    let name = from.string("name")?;
    let agent_type = from.opt_string("type")?;
    let instance_id = from.opt_string("instance_id")?;
    let framework = from.opt_string("framework")?;
    let framework_version = from.opt_string("framework_version")?;
    let parent = from.opt_string("parent")?;
    Ok((name, move |name| AgentInfo {
        name,
        agent_type,
        instance_id,
        framework,
        framework_version,
        parent,
    }))
}

pub(super) fn tool(mut from: Fields) -> Read<Tool> {
    Ok(Tool {
        name: from.string("name")?,
        description: from.opt_string("description")?,
        namespace: from.opt_string("namespace")?,
        origin: from.opt_string("origin")?,
        effects: from.opt_string("effects")?,
        args_schema: from.opt_schema("args_schema")?,
    })
}

pub(super) fn effective(mut from: Fields) -> Read<Effective> {
    Ok(Effective {
        fixed: from.optional("fixed"),
        defaults: from.optional("defaults"),
        injected_names: from.opt_strings("injected_names")?,
        dropped_names: from.opt_strings("dropped_names")?,
        coerced: from.optional("coerced"),
    })
}

pub(super) fn native_digest(mut from: Fields) -> Read<NativeDigest> {
    Ok(NativeDigest {
        alg: from.opt_string("alg")?,
        value: from.opt_string("value")?,
    })
}

pub(super) fn confirm(mut from: Fields) -> Read<Confirm> {
    Ok(Confirm {
        setup_key: from.opt_string("setup_key")?,
        command: from.opt_string("command")?,
        explanation: from.opt_string("explanation")?,
    })
}

pub(super) fn question(mut from: Fields) -> Read<Question> {
    Ok(Question {
        text: from.string("text")?,
        context: from.opt_string("context")?,
        options: each(from.opt_objects("options")?, option)?,
        allow_freeform: from.opt_bool("allow_freeform")?,
    })
}

fn option(mut from: Fields) -> Read<QuestionOption> {
    Ok(QuestionOption {
        key: from.opt_string("key")?,
        label: from.opt_string("label")?,
        description: from.opt_string("description")?,
    })
}

pub(super) fn history_item(mut from: Fields) -> Read<HistoryItem> {
    Ok(HistoryItem {
        role: from.opt_string("role")?,
        content: from.optional("content"),
    })
}

pub(super) fn skill(mut from: Fields) -> Read<Skill> {
    Ok(Skill {
        name: from.opt_string("name")?,
        version: from.opt_string("version")?,
        path: from.opt_string("path")?,
        allowed_tools: from.opt_strings("allowed_tools")?,
    })
}

pub(super) fn chain(mut from: Fields) -> Read<Chain> {
    Ok(Chain {
        chain_id: from.opt_string("chain_id")?,
        seq: from.opt_count("seq")?,
        max_calls: from.opt_count("max_calls")?,
    })
}

pub(super) fn group(mut from: Fields) -> Read<Group> {
    Ok(Group {
        id: from.opt_string("id")?,
        index: from.opt_count("index")?,
        size: from.opt_count("size")?,
    })
}
