//! What the console of the data folder keeps of a gate.
//!
//! Nothing where nobody is enrolled: then nothing is connected. Never holds up or fails the command that looked.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use countersign_core::App;
use countersign_hooks::{Configuration, McpServer, Program, Proof, own_hook};
use countersign_wire::{Enrolment, read_json};

use super::super::ask::{AGENT_JSON, enrolment};
use super::super::config::Settings;
use super::super::console::options;
use super::super::failure::Failure;
use super::MCP;

/// Keeps what became of a program's probe.
pub(super) async fn of_program(
    settings: &Settings,
    program: Program,
    configuration: &Configuration,
    proof: &Proof,
) {
    let named = own_hook(program, configuration).and_then(|own| own.agent_json);
    let named = named.or_else(|| env::var_os(AGENT_JSON).map(PathBuf::from));
    let path = named.unwrap_or_else(|| default_of(settings, program.name()));
    of_enrolment(settings, &path, proof).await;
}

/// Keeps what became of a probe in the name of this enrolment: nothing where no console answered, or where it could not
/// be made, or not whole.
pub(super) async fn of_enrolment(settings: &Settings, path: &Path, proof: &Proof) {
    if !proof.unproven && !matches!(proof.verdict, "waits" | "error") {
        let why = proof.why.as_deref().unwrap_or_default();
        note(settings, path, (!proof.holds).then_some(why)).await;
    }
}

/// Keeps that a call ran that should have asked; where only the program's own questions ask, it should not.
pub(in super::super) async fn never_asked(
    settings: &Settings,
    program: Program,
    agent_json: &Path,
    tool: &str,
) {
    let own = super::configuration(settings, program, None).map(|of| own_hook(program, &of));
    if !own.is_ok_and(|own| own.is_some_and(|own| own.at_prompt)) {
        let why = format!("a call of {tool} ran without a request");
        note(settings, agent_json, Some(&why)).await;
    }
}

/// The enrolment that a server's entry asks with; that of `connect mcp` for an entry without a proxy.
pub(super) fn of_server(settings: &Settings, server: &McpServer) -> PathBuf {
    let words = server.command.iter().take_while(|&word| word != "--");
    let named = words.skip_while(|&word| word != "--agent-json").nth(1);
    let mut environment = server.environment.iter();
    let named = named.or_else(|| Some(&environment.find(|(name, _)| name == AGENT_JSON)?.1));
    match (named, server.command.iter().any(|word| word == "mcp-proxy")) {
        (Some(path), _) => path.into(),
        (None, true) => enrolment(settings, None).unwrap_or_default(),
        (None, false) => default_of(settings, MCP),
    }
}

pub(super) fn default_of(settings: &Settings, name: &str) -> PathBuf {
    let agents = settings.data_dir.join("agents").join("default");
    agents.join(name).join("agent.json")
}

async fn note(settings: &Settings, path: &Path, open: Option<&str>) {
    let read = fs::read(path).ok();
    let enrolment = read.and_then(|text| read_json::<Enrolment>(&text).ok());
    let has_console = settings.data_dir.join("countersign.db").is_file();
    let Some(enrolment) = enrolment.filter(|_| has_console) else {
        return;
    };
    let noted = async {
        let app = App::offline(options(settings)?).await?;
        let noted = app.note_gate(&enrolment.agent_key(), open).await;
        app.shutdown().await;
        Ok::<_, Failure>(noted?)
    };
    if let Err(failure) = noted.await {
        let why = failure.text();
        settings
            .out
            .remark(&format!("the console could not record this: {why}"));
    }
}
