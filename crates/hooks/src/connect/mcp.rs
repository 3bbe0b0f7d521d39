//! The proxy before the servers of an MCP configuration: `mcpServers`, or VS Code's `servers`.

use jsonc_parser::cst::CstObject;
use serde_json::{Value, json};

use super::cst::{input, root};

/// The variable in which the proxy finds the headers of an entry with an address: they may be secret, and others read a
/// command line.
pub const HEADERS: &str = "COUNTERSIGN_MCP_HEADERS";

/// Puts the proxy before these servers, all where none is named. `program` is the path of ours, `flags` its options.
/// The environment stays with the entry. Errors: what cannot be read, a server that is not there.
pub fn connect_mcp(
    text: &str,
    servers: &[String],
    program: &str,
    flags: &[String],
) -> Result<String, String> {
    each(text, servers, |name, entry| {
        let old = entry.to_serde_value().unwrap_or_default();
        let behind = match (undone(&old), old["command"].as_str(), old["url"].as_str()) {
            (Some(behind), ..) => behind,
            (_, Some(command), _) => words(command, &old["args"]),
            (_, _, Some(url)) => vec!["--url".to_owned(), url.to_owned()],
            _ => return Err(format!("server {name} has neither command nor url")),
        };
        let is_url = behind.first().is_some_and(|word| word == "--url");
        let mut all = vec!["mcp-proxy".to_owned(), "--name".to_owned(), name.to_owned()];
        all.extend(flags.iter().cloned());
        if is_url {
            remove(entry, "url");
            // The clients that want it named there.
            if entry.get("type").is_some() {
                set(entry, "type", json!("stdio"));
            }
            if old["headers"].is_object() {
                let headers = json!(old["headers"].to_string());
                set(&entry.object_value_or_set("env"), HEADERS, headers);
            }
        } else {
            all.push("--".to_owned());
        }
        all.extend(behind);
        set(entry, "command", json!(program));
        set(entry, "args", json!(all));
        Ok(())
    })
}

/// Takes the proxy away again.
pub fn disconnect_mcp(text: &str, servers: &[String]) -> Result<String, String> {
    each(text, servers, |_, entry| {
        let old = entry.to_serde_value().unwrap_or_default();
        match undone(&old).as_deref() {
            Some([flag, url, ..]) if flag == "--url" => {
                for gone in ["command", "args"] {
                    remove(entry, gone);
                }
                if entry.get("type").is_some() {
                    set(entry, "type", json!("http"));
                }
                if let Some(environment) = entry.object_value("env") {
                    remove(&environment, HEADERS);
                    if environment.properties().is_empty() {
                        remove(entry, "env");
                    }
                }
                set(entry, "url", json!(url));
            }
            Some([command, args @ ..]) => {
                set(entry, "command", json!(command));
                match args.is_empty() {
                    true => remove(entry, "args"),
                    false => set(entry, "args", json!(args)),
                }
            }
            _ => {}
        }
        Ok(())
    })
}

/// A server of an MCP configuration, as a client would start it.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// Its name there.
    pub name: String,
    /// The program and its arguments; empty where it has an address.
    pub command: Vec<String>,
    /// What its environment has beside the client's.
    pub environment: Vec<(String, String)>,
    /// Its address, where it has no command.
    pub url: Option<String>,
    /// What every request to the address has.
    pub headers: Vec<(String, String)>,
}

/// The servers of a configuration, all where none is named. Errors as of [`connect_mcp`].
pub fn mcp_servers(text: &str, servers: &[String]) -> Result<Vec<McpServer>, String> {
    let mut found = Vec::new();
    each(text, servers, |name, entry| {
        let entry = entry.to_serde_value().unwrap_or_default();
        let texts = |of: &Value| {
            let pairs = of.as_object().into_iter().flatten();
            let texts =
                pairs.filter_map(|(name, of)| Some((name.clone(), of.as_str()?.to_owned())));
            texts.collect()
        };
        let command = entry["command"].as_str();
        let command = command.map(|command| words(command, &entry["args"]));
        let url = entry["url"].as_str().map(str::to_owned);
        found.push(McpServer {
            name: name.to_owned(),
            environment: texts(&entry["env"]),
            url: url.filter(|_| command.is_none()),
            headers: texts(&entry["headers"]),
            command: command.unwrap_or_default(),
        });
        Ok(())
    })?;
    Ok(found)
}

fn each(
    text: &str,
    servers: &[String],
    mut change: impl FnMut(&str, &CstObject) -> Result<(), String>,
) -> Result<String, String> {
    let (root, settings) = root(text, true)?;
    let found = ["mcpServers", "servers"]
        .iter()
        .find_map(|name| settings.object_value(name))
        .ok_or("it has neither mcpServers nor servers")?;
    if let Some(missing) = servers.iter().find(|&name| found.get(name).is_none()) {
        return Err(format!("there is no server {missing}"));
    }
    for property in found.properties() {
        let name = property.decoded_name().unwrap_or_default();
        if servers.is_empty() || servers.contains(&name) {
            let entry = found.object_value(&name);
            change(
                &name,
                &entry.ok_or_else(|| format!("server {name} is not an object"))?,
            )?;
        }
    }
    Ok(root.to_string())
}

/// What is behind a proxy of ours: the command's words, or `--url` and the address.
fn undone(entry: &Value) -> Option<Vec<String>> {
    let words = words("", &entry["args"]);
    let is_ours = entry["command"].as_str()?.rsplit('/').next() == Some("countersign")
        && words.get(1).is_some_and(|word| word == "mcp-proxy");
    let at = words
        .iter()
        .position(|word| word == "--" || word == "--url")?;
    let from = if words[at] == "--" { at + 1 } else { at };
    is_ours.then(|| words[from..].to_vec())
}

fn words(command: &str, args: &Value) -> Vec<String> {
    let args = args.as_array().into_iter().flatten();
    let args = args.filter_map(|word| word.as_str().map(str::to_owned));
    [command.to_owned()].into_iter().chain(args).collect()
}

/// As it is where it is so already: an unchanged file stays byte for byte.
fn set(entry: &CstObject, name: &str, value: Value) {
    match entry.get(name) {
        Some(there)
            if there.value().and_then(|old| old.to_serde_value()) == Some(value.clone()) => {}
        Some(there) => there.set_value(input(value)),
        None => _ = entry.append(name, input(value)),
    }
}

fn remove(entry: &CstObject, name: &str) {
    if let Some(there) = entry.get(name) {
        there.remove();
    }
}
