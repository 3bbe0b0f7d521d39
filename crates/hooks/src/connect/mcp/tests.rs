use super::*;

const PROGRAM: &str = "/opt/countersign";

fn connected(text: &str) -> Gated {
    connect_mcp(text, &[], PROGRAM, &[]).unwrap_or_else(|why| panic!("{why}: {text}"))
}

fn servers(text: &str) -> Value {
    let (_, object) = root(text, true).unwrap_or_else(|why| panic!("{why}: {text}"));
    object.to_serde_value().unwrap_or_default()["mcpServers"].take()
}

/// One server with this entry.
fn file(entry: &str) -> String {
    format!("{{\n  // mine\n  \"mcpServers\": {{\n    \"a\": {entry}\n  }}\n}}\n")
}

#[test]
fn the_proxy_goes_before_a_server_and_away_again() {
    let text = "{\n  // mine\n  \"mcpServers\": {\n    \"git\": { \"command\": \"uvx\", \"args\": [\"git\"], \"env\": { \"TOKEN\": \"s3cret\" } },\n    \"web\": { \"url\": \"https://x.example/mcp\" },\n    \"login\": { \"type\": \"http\", \"url\": \"https://x.example/mcp\", \"headers\": { \"A\": \"s3cret\" } }\n  }\n}\n";
    let first = connected(text).text;
    let entries = servers(&first);
    assert_eq!(
        entries["git"]["args"],
        json!([
            "mcp-proxy",
            "--name=git",
            "--env",
            "TOKEN",
            "--",
            "uvx",
            "git"
        ])
    );
    assert_eq!(entries["git"]["env"], json!({ "TOKEN": "s3cret" }));
    assert_eq!(
        entries["web"],
        json!({ "command": PROGRAM, "args": ["mcp-proxy", "--name=web", "--url", "https://x.example/mcp"] })
    );
    let login = &entries["login"];
    assert_eq!(login["type"], "stdio");
    assert_eq!(login["env"], json!({ HEADERS: "{\"A\":\"s3cret\"}" }));
    assert!(!login["args"].to_string().contains("s3cret"));
    assert!(first.contains("// mine"));
    assert!(connect_mcp(text, &["none".to_owned()], "x", &[]).is_err());
    assert_eq!(connected(&first).text, first);
    assert_eq!(disconnect_mcp(&first, &[]).as_deref(), Ok(text));
}

#[test]
fn a_secret_of_an_address_is_on_no_command_line() {
    for url in [
        "https://mcp.example.org/mcp?api_key=EXAMPLE",
        "https://user:EXAMPLE@mcp.example.org/mcp",
        "https://EXAMPLE@mcp.example.org/mcp",
        "https://mcp.example.org/mcp#EXAMPLE",
        "HTTPS://mcp.example.org/EXAMPLE/?",
        "https://mcp.example.org/${input:EXAMPLE}/mcp",
        "${env:EXAMPLE}",
    ] {
        let text = file(&format!(r#"{{"url": "{url}"}}"#));
        let first = connected(&text).text;
        let entry = &servers(&first)["a"];
        assert_eq!(entry["env"], json!({ URL: url }));
        assert_eq!(entry["args"], json!(["mcp-proxy", "--name=a"]));
        assert_eq!(connected(&first).text, first);
        assert_eq!(disconnect_mcp(&first, &[]).as_deref(), Ok(text.as_str()));
    }
}

#[test]
fn entries_of_other_programs_are_read_and_what_is_not_understood_stays_and_is_named() {
    let text = r#"{"mcpServers": {
        "wind": {"serverUrl": "https://mcp.example.org/a"}, "gem": {"httpUrl": "https://mcp.example.org/b"},
        "cline": {"type": "streamableHttp", "url": "https://mcp.example.org/c"},
        "bare": {"command": "server"}, "--x y": {"command": "python3", "args": ["s.py"]},
        "odd": {"transport": "pipe"}, "old": {"type": "sse", "url": "https://mcp.example.org/mcp"},
        "older": {"serverUrl": "https://mcp.example.org/sse/?a=b"}, "named": {"transport": "SSE", "url": "https://x.example/mcp"},
        "socket": {"url": "wss://mcp.example.org/mcp"}, "typed": {"type": "ws", "url": "https://mcp.example.org/mcp"},
        "two": {"command": "a", "url": "https://mcp.example.org/mcp"}, "both": {"url": "https://a.example", "httpUrl": "https://b.example"},
        "list": {"command": ["npx", "-y"]}, "number": {"command": "a", "args": [1]}, "words": {"command": "a", "args": "b"},
        "text": "npx", "null": null, "none": {"url": null}
    }}"#;
    let Gated {
        text: first,
        servers: gated,
        left_alone,
    } = connected(text);
    assert_eq!(gated, ["wind", "gem", "cline", "bare", "--x y"]);
    let (before, after) = (servers(text), servers(&first));
    assert_eq!(left_alone.len(), 14);
    for (name, why) in &left_alone {
        assert_eq!(before[name], after[name], "{why}");
    }
    let why = |name: &str| {
        left_alone
            .iter()
            .find(|(left, _)| left == name)
            .map(|(_, why)| why.as_str())
    };
    for name in ["old", "older", "named"] {
        assert!(why(name).is_some_and(|why| why.contains("SSE")), "{name}");
    }
    let args = &after["--x y"]["args"];
    assert_eq!(
        *args,
        json!(["mcp-proxy", "--name=--x y", "--", "python3", "s.py"])
    );
    assert_eq!(after["wind"]["args"][3], "https://mcp.example.org/a");
    // Nothing of it is left, and it is the same file.
    for name in ["serverUrl", "httpUrl", "url"] {
        assert!(
            gated.iter().all(|server| after[server].get(name).is_none()),
            "{name}"
        );
    }
    assert_eq!(disconnect_mcp(&first, &[]).as_deref(), Ok(text));
    let named = connect_mcp(text, &["odd".to_owned()], PROGRAM, &[]);
    assert_eq!(named.map(|named| named.text).as_deref(), Ok(text));
}

#[test]
fn an_entry_with_an_address_comes_back_byte_for_byte() {
    for entry in [
        "{\"url\":\"https://a.example/mcp\"}",
        "{ \"url\" : \"https://a.example/mcp?k=v\" }",
        "{\n      \"type\": \"http\",\n      \"url\": \"https://a.example/mcp\", // theirs\n      \"headers\": {\"A\": \"b\"}\n    }",
        "{\n\t\"serverUrl\": \"https://a.example/mcp\",\n\t\"disabled\": false\n}",
        "{\"env\": {\"A\": \"b\"}, \"httpUrl\": \"https://a.example/mcp?k=v\", \"timeout\": 5}",
        "{\"transport\": \"streamable-http\", \"url\": \"https://a.example/mcp\", \"headers\": {},}",
        "{\"type\": \"streamable_http\", \"env\": {\n        \"A\": \"b\"\n      }, \"url\": \"https://a.example/mcp\"}",
    ] {
        let text = file(entry);
        let first = connected(&text);
        assert_eq!(first.servers, ["a"], "{entry}");
        assert_eq!(
            servers(&first.text)["a"]["command"],
            PROGRAM,
            "{}",
            first.text
        );
        assert_eq!(connected(&first.text).text, first.text);
        assert_eq!(
            disconnect_mcp(&first.text, &[]).as_deref(),
            Ok(text.as_str())
        );
    }
}

#[test]
fn what_a_person_changed_meanwhile_stays() {
    let text = file(r#"{"url": "https://a.example/mcp?k=v"}"#);
    let first = connected(&text).text.replace("?k=v", "?k=w");
    let first = first.replace(
        "\"env\": {",
        "\"disabled\": true, \"env\": {\"MINE\": \"x\", ",
    );
    let entry = &servers(&connected(&first).text)["a"];
    assert_eq!(
        entry["args"],
        json!(["mcp-proxy", "--name=a", "--env", "MINE"])
    );
    let back = servers(&disconnect_mcp(&first, &[]).unwrap_or_default());
    assert_eq!(
        back["a"],
        json!({"url": "https://a.example/mcp?k=w", "disabled": true, "env": {"MINE": "x"}})
    );
    // An address beside our command: nobody knows which of them a client takes.
    let first = connected(&file(r#"{"command": "a"}"#)).text;
    let two = first.replace("\"command\"", "\"url\": \"https://a.example\", \"command\"");
    assert_eq!(connected(&two).left_alone.len(), 1);
}
