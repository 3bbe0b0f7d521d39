//! The proxy before the servers of an MCP configuration: `mcpServers`, or VS Code's `servers`.

use jsonc_parser::cst::{CstObject, CstRootNode};
use serde_json::{Map, Value, json};

use super::cst::{input, root};
use super::edit;

/// The variable in which the proxy finds the headers of an entry with an address: they may be secret, and others read a
/// command line.
pub const HEADERS: &str = "COUNTERSIGN_MCP_HEADERS";
/// The variable in which it finds an address that may hold a secret.
pub const URL: &str = "COUNTERSIGN_MCP_URL";
/// The entry's own words for an address, which other clients name otherwise.
const KEPT: &str = "COUNTERSIGN_MCP_ENTRY";
/// An address, as different clients name it.
const ADDRESSES: [&str; 3] = ["url", "serverUrl", "httpUrl"];
/// The option that names one.
const ADDRESS: &str = "--url";

/// A configuration with the proxy in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gated {
    /// The file.
    pub text: String,
    /// The servers behind the proxy.
    pub servers: Vec<String>,
    /// Those that are as they were, and why.
    pub left_alone: Vec<(String, String)>,
}

/// Puts the proxy before these servers, all where none is named. `program` is the path of ours, `flags` its options.
/// The environment stays with the entry. Errors: what cannot be read, a server that is not there.
pub fn connect_mcp(
    text: &str,
    servers: &[String],
    program: &str,
    flags: &[String],
) -> Result<Gated, String> {
    let mut gated = Gated::default();
    gated.text = each(text, servers, |text, path, entry| match behind(entry) {
        Ok(behind) => {
            gated.servers.push(path[1].to_owned());
            gate(text, path, entry, behind, (program, flags))
        }
        Err(why) => {
            gated.left_alone.push((path[1].to_owned(), why.to_owned()));
            Ok(text)
        }
    })?;
    Ok(gated)
}

fn gate(
    mut text: String,
    path: &[&str],
    entry: &Value,
    behind: Vec<String>,
    (program, flags): (&str, &[String]),
) -> Result<String, String> {
    let mut args = vec!["mcp-proxy".to_owned(), format!("--name={}", path[1])];
    args.extend_from_slice(flags);
    let variables = entry["env"].as_object();
    for name in variables.into_iter().flat_map(Map::keys) {
        if ![HEADERS, URL, KEPT].contains(&name.as_str()) {
            args.extend(["--env".to_owned(), name.clone()]);
        }
    }
    let mut ours = Map::new();
    match behind.as_slice() {
        [flag, url] if flag == ADDRESS => {
            if let Some(key) = ADDRESSES.into_iter().find(|key| entry.get(key).is_some()) {
                let kept =
                    json!({"address": key, "type": entry["type"], "transport": entry["transport"]});
                let usual = transports(entry).all(|name| entry[name] == "http");
                if !usual || key != ADDRESSES[0] {
                    ours.insert(KEPT.to_owned(), json!(kept.to_string()));
                }
                text = rename(&text, path, key, "command")?;
            }
            match may_hold_secret(url) {
                true => _ = ours.insert(URL.to_owned(), json!(url)),
                false => args.extend(behind),
            }
            if entry["headers"].is_object() {
                ours.insert(HEADERS.to_owned(), json!(entry["headers"].to_string()));
            }
            // The clients that want it named there.
            for name in transports(entry) {
                text = put(text, path, name, json!("stdio"))?;
            }
        }
        _ => args.extend(["--".to_owned()].into_iter().chain(behind)),
    }
    text = put(text, path, "command", json!(program))?;
    text = put(text, path, "args", json!(args))?;
    if !ours.is_empty() && variables.is_none() {
        return put(text, path, "env", Value::Object(ours));
    }
    let place = [path, &["env"]].concat();
    ours.into_iter()
        .try_fold(text, |text, (name, value)| put(text, &place, &name, value))
}

/// Takes the proxy away again.
pub fn disconnect_mcp(text: &str, servers: &[String]) -> Result<String, String> {
    each(text, servers, |mut text, path, entry| {
        let behind = undone(entry).unwrap_or_default();
        match behind.as_slice() {
            [flag, url] if flag == ADDRESS => {
                let kept = entry["env"][KEPT].as_str().unwrap_or("{}");
                let kept: Value = serde_json::from_str(kept).unwrap_or_default();
                for name in transports(entry) {
                    text = put(
                        text,
                        path,
                        name,
                        json!(kept[name].as_str().unwrap_or("http")),
                    )?;
                }
                let place = [path, &["env"]].concat();
                // As they were put in, backwards: every other byte is as it was.
                for name in [HEADERS, URL, KEPT] {
                    text = take(text, &place, name)?;
                }
                if object(&text, &place).is_ok_and(|(_, env)| env.properties().is_empty()) {
                    text = take(text, path, "env")?;
                }
                text = take(text, path, "args")?;
                text = put(text, path, "command", json!(url))?;
                let key = kept["address"].as_str().unwrap_or(ADDRESSES[0]);
                rename(&text, path, "command", key)
            }
            [command, args @ ..] => {
                text = put(text, path, "command", json!(command))?;
                match args.is_empty() {
                    true => take(text, path, "args"),
                    false => put(text, path, "args", json!(args)),
                }
            }
            [] => Ok(text),
        }
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
    each(text, servers, |text, path, entry| {
        let texts = |of: &Value| {
            let pairs = of.as_object().into_iter().flatten();
            let texts =
                pairs.filter_map(|(name, of)| Some((name.clone(), of.as_str()?.to_owned())));
            texts.collect()
        };
        let command = entry["command"].as_str();
        let command = command.map(|command| words(command, &entry["args"]));
        let url = ADDRESSES
            .iter()
            .find_map(|key| entry[key].as_str().map(str::to_owned));
        found.push(McpServer {
            name: path[1].to_owned(),
            environment: texts(&entry["env"]),
            url: url.filter(|_| command.is_none()),
            headers: texts(&entry["headers"]),
            command: command.unwrap_or_default(),
        });
        Ok(text)
    })?;
    Ok(found)
}

/// Changes each of these servers in turn, all where none is named; `change` gets the text so far, the entry's place and
/// what it held at first.
fn each(
    text: &str,
    servers: &[String],
    mut change: impl FnMut(String, &[&str], &Value) -> Result<String, String>,
) -> Result<String, String> {
    let (_, settings) = root(text, true)?;
    let (list, found) = ["mcpServers", "servers"]
        .iter()
        .find_map(|name| Some((*name, settings.object_value(name)?)))
        .ok_or("it has neither mcpServers nor servers")?;
    if let Some(missing) = servers.iter().find(|&name| found.get(name).is_none()) {
        return Err(format!("there is no server {missing}"));
    }
    let found = found.to_serde_value().unwrap_or_default();
    let found = found.as_object().into_iter().flatten();
    let mut wanted = found.filter(|(name, _)| servers.is_empty() || servers.contains(name));
    wanted.try_fold(text.to_owned(), |text, (name, entry)| {
        change(text, &[list, name], entry)
    })
}

/// What a client starts or calls. Errors: why nobody can know.
fn behind(entry: &Value) -> Result<Vec<String>, &'static str> {
    let addresses = ADDRESSES.iter().filter_map(|key| entry.get(key));
    let addresses: Vec<_> = addresses.collect();
    let args = entry.get("args").map(|args| args.as_array());
    let texts = args.is_none_or(|args| args.is_some_and(|args| args.iter().all(Value::is_string)));
    match (entry.get("command"), addresses.as_slice(), undone(entry)) {
        (Some(_), [], Some(behind)) => Ok(behind),
        (Some(Value::String(command)), [], None) if texts => Ok(words(command, &entry["args"])),
        (None, [Value::String(url)], _) => over_http(url, entry),
        (None, [], _) => Err("it has neither a command nor an address"),
        (Some(_), [], _) => Err("its command or its args are not texts"),
        _ => {
            Err("it has more than one of command, url, serverUrl and httpUrl, or one is not a text")
        }
    }
}

fn over_http(url: &str, entry: &Value) -> Result<Vec<String>, &'static str> {
    let word = transports(entry).map(|name| entry[name].as_str().unwrap_or_default());
    let words: Vec<_> = word
        .map(|word| word.to_lowercase().replace(['-', '_'], ""))
        .collect();
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let ends_so = words.is_empty() && path.trim_end_matches('/').ends_with("/sse");
    if ends_so || words.iter().any(|word| word == "sse") {
        return Err("the proxy does not relay SSE; use the server's address for streamable HTTP");
    }
    let begin = url.to_lowercase();
    let known = ["http://", "https://", "${"]
        .iter()
        .any(|start| begin.starts_with(start));
    match known
        && words
            .iter()
            .all(|word| word == "http" || word == "streamablehttp")
    {
        true => Ok(vec![ADDRESS.to_owned(), url.to_owned()]),
        false => Err("its address or its transport is not one of streamable HTTP"),
    }
}

/// A query, a login, or a variable of the client.
fn may_hold_secret(url: &str) -> bool {
    url.contains(['?', '#', '@', '$'])
}

fn transports(entry: &Value) -> impl Iterator<Item = &'static str> {
    let all = ["type", "transport"].into_iter();
    all.filter(|name| entry.get(name).is_some())
}

/// What is behind a proxy of ours: the command's words, or `--url` and the address.
fn undone(entry: &Value) -> Option<Vec<String>> {
    let words = words("", &entry["args"]);
    let is_ours = entry["command"].as_str()?.rsplit('/').next() == Some("countersign")
        && words.get(1).is_some_and(|word| word == "mcp-proxy");
    let place = words
        .iter()
        .position(|word| word == "--" || word == ADDRESS);
    let behind = match place {
        Some(at) if words[at] == "--" => words[at + 1..].to_vec(),
        Some(at) => words[at..].to_vec(),
        None => vec![ADDRESS.to_owned(), entry["env"][URL].as_str()?.to_owned()],
    };
    is_ours.then_some(behind)
}

fn words(command: &str, args: &Value) -> Vec<String> {
    let args = args.as_array().into_iter().flatten();
    let args = args.filter_map(|word| word.as_str().map(str::to_owned));
    [command.to_owned()].into_iter().chain(args).collect()
}

fn object(text: &str, path: &[&str]) -> Result<(CstRootNode, CstObject), String> {
    let (root, settings) = root(text, true)?;
    let at = path
        .iter()
        .try_fold(settings, |at, name| at.object_value(name));
    Ok((root, at.ok_or("it is not an object")?))
}

/// As it is where it is so already: an unchanged file stays byte for byte.
fn put(text: String, path: &[&str], name: &str, value: Value) -> Result<String, String> {
    let (root, at) = object(&text, path)?;
    match at.get(name) {
        Some(there) if there.to_serde_value() == Some(value.clone()) => Ok(text),
        Some(there) => {
            there.set_value(input(value));
            Ok(root.to_string())
        }
        None => edit::append(&text, path, Some(name), &value),
    }
}

fn take(text: String, path: &[&str], name: &str) -> Result<String, String> {
    let found = object(&text, path).ok();
    let place = found.and_then(|(_root, at)| Some(at.get(name)?.property_index()));
    match place {
        Some(place) => edit::remove(&text, path, place),
        None => Ok(text),
    }
}

/// Gives a member another name in its place.
fn rename(text: &str, path: &[&str], old: &str, new: &str) -> Result<String, String> {
    let (root, at) = object(text, path)?;
    let name = at.get(old).and_then(|there| there.name()?.as_string_lit());
    name.ok_or("a key is not in quotes")?
        .set_raw_value(json!(new).to_string());
    Ok(root.to_string())
}

#[cfg(test)]
mod tests;
