use serde_json::json;

use super::*;

fn call(line: &str) -> Call {
    match read(line.as_bytes()) {
        Ok(Sent::Call(call)) => *call,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn what_may_be_read_in_two_ways_is_refused() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"pay","arguments":{}1{}}}}}"#,
        "[".repeat(80),
        "]".repeat(80)
    );
    for (line, code, id) in [
        ("", NOT_JSON, json!(null)),
        ("pay", NOT_JSON, json!(null)),
        ("{\"id\":7", NOT_JSON, json!(null)),
        ("\u{feff}{\"id\":7}", NOT_JSON, json!(null)),
        (r#"{"id":7} {"id":8}"#, NOT_JSON, json!(null)),
        (r#""tools/call""#, INVALID_REQUEST, json!(null)),
        (
            r#"[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"pay"}}]"#,
            INVALID_REQUEST,
            json!(null),
        ),
        (
            r#"{"id":7,"method":"ping","method":"tools/call","params":{"name":"pay"}}"#,
            INVALID_REQUEST,
            json!(7),
        ),
        (
            r#"{"id":7,"method":"ping","m\u0065thod":"tools/call"}"#,
            INVALID_REQUEST,
            json!(7),
        ),
        (
            r#"{"id":"a","method":"tools/call","params":{"name":"pay","arguments":{"n":1,"n":2}}}"#,
            INVALID_REQUEST,
            json!("a"),
        ),
        (
            r#"{"id":7,"method":"x","params":{"n":9007199254740993}}"#,
            INVALID_REQUEST,
            json!(7),
        ),
        (
            r#"{"id":7,"method":"x","params":{"n":1e400}}"#,
            INVALID_REQUEST,
            json!(null),
        ),
        (
            r#"{"id":7,"method":"x","params":["\ud800"]}"#,
            INVALID_REQUEST,
            json!(null),
        ),
        // Servers that look away from case, as Go's reader does.
        (
            r#"{"id":7,"Method":"tools/call","params":{"name":"pay"}}"#,
            INVALID_REQUEST,
            json!(7),
        ),
        (
            r#"{"id":7,"method":"ping","METHOD":"tools/call"}"#,
            INVALID_REQUEST,
            json!(7),
        ),
        (
            r#"{"id":7,"method":"ping","paramſ":{}}"#,
            INVALID_REQUEST,
            json!(7),
        ),
        (
            r#"{"id":7,"method":"tools/call","params":{"name":"a","Name":"pay"}}"#,
            INVALID_PARAMS,
            json!(7),
        ),
        (
            r#"{"id":7,"method":"tools/call","params":{"name":"a","Arguments":{}}}"#,
            INVALID_PARAMS,
            json!(7),
        ),
        // Servers that end a line at a carriage return, as Python's text files do.
        (
            "{\"id\":7,\"method\":\"ping\",\"params\":\r{\"id\":8,\"method\":\"tools/call\"}\r}",
            INVALID_REQUEST,
            json!(7),
        ),
        (r#"{"id":7,"method":7}"#, INVALID_REQUEST, json!(7)),
        (
            r#"{"id":null,"method":"tools/call","params":{"name":"pay"}}"#,
            INVALID_REQUEST,
            json!(null),
        ),
        (
            r#"{"id":1.5,"method":"tools/call","params":{"name":"pay"}}"#,
            INVALID_REQUEST,
            json!(null),
        ),
        (
            r#"{"id":[1],"method":"tools/call","params":{"name":"pay"}}"#,
            INVALID_REQUEST,
            json!(null),
        ),
        (
            r#"{"id":7,"method":"tools/call"}"#,
            INVALID_PARAMS,
            json!(7),
        ),
        (
            r#"{"id":7,"method":"tools/call","params":["pay"]}"#,
            INVALID_PARAMS,
            json!(7),
        ),
        (
            r#"{"id":7,"method":"tools/call","params":{"name":7}}"#,
            INVALID_PARAMS,
            json!(7),
        ),
        (deep.as_str(), INVALID_REQUEST, json!(7)),
    ] {
        let refused = read(line.as_bytes());
        let reported = refused.map_err(|refused| (refused.code, refused.id));
        assert_eq!(reported, Err((code, id)), "{line}");
    }
}

#[test]
fn every_other_message_is_known_for_what_it_is() {
    for (line, sent) in [
        (
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            Sent::Initialized,
        ),
        (
            r#"{"method":"notifications/cancelled","params":{"requestId":"1"}}"#,
            Sent::Cancelled(Id::Text("1".to_owned())),
        ),
        (
            r#"{"method":"notifications/cancelled","params":{"requestId":null}}"#,
            Sent::Other,
        ),
        (
            r#"{"method":"tools/call","params":{"name":"pay"}}"#,
            Sent::CallWithoutId,
        ),
        (r#"{"id":1,"result":{"method":"tools/call"}}"#, Sent::Other),
        (r#"{"id":1.5,"method":"ping"}"#, Sent::Other),
        (
            r#"{"id":1,"method":"tools/calls","params":{"name":"pay"}}"#,
            Sent::Other,
        ),
        (
            r#"{"id":1,"method":"tools/result","params":{"name":"pay"}}"#,
            Sent::Other,
        ),
        (
            r#"{"id":1,"method":"tasks/result","params":{"taskId":"t"}}"#,
            Sent::TaskResult(Id::Number(1), "t".to_owned()),
        ),
        (
            r#"{"id":1,"method":"tasks/get","params":{"taskId":"t"}}"#,
            Sent::Other,
        ),
        ("{}", Sent::Other),
        (
            r#"{"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","a":1}}}"#,
            Sent::Discover(
                Id::Number(1),
                Map::from_iter([(REVISION.to_owned(), json!("2026-07-28"))]),
            ),
        ),
    ] {
        assert_eq!(read(line.as_bytes()), Ok(sent), "{line}");
    }
}

#[test]
fn a_method_that_some_servers_take_for_a_call_is_refused() {
    for method in [
        "TOOLS/CALL",
        "Tools/Call",
        "tools/call ",
        " tools/call",
        "tools / call",
        "tools/call\\t",
        "tools/call\\u0000",
        "tools/call\\u00a0",
        "tools/\\u200bcall",
        "\\ufefftools/call",
        "tool\\u017f/call",
        "toolS/call\\r\\n",
    ] {
        for id in ["\"id\":7,", ""] {
            let line = format!(r#"{{{id}"method":"{method}","params":{{"name":"pay"}}}}"#);
            let refused = read(line.as_bytes()).map_err(|refused| refused.code);
            assert_eq!(refused, Err(INVALID_REQUEST), "{line}");
        }
    }
}

#[test]
fn a_call_without_a_name_is_refused() {
    for name in [r#""""#, r#"" ""#, r#""\t\u00a0""#, "null"] {
        let line = format!(r#"{{"id":7,"method":"tools/call","params":{{"name":{name}}}}}"#);
        let refused = read(line.as_bytes()).map_err(|refused| refused.code);
        assert_eq!(refused, Err(INVALID_PARAMS), "{line}");
    }
}

#[test]
fn a_line_break_of_a_body_is_a_blank_and_inside_a_text_an_error() {
    for (body, line) in [
        (
            "{\"id\":1,\r\n\"method\":\"x\"}\n",
            Ok("{\"id\":1,  \"method\":\"x\"} "),
        ),
        ("{\"a\":\"b\\nc\"}", Ok("{\"a\":\"b\\nc\"}")),
        ("{\"a\":\"b\nc\"}", Err(NOT_JSON)),
        ("{\"a\":\"b\rc\"}", Err(NOT_JSON)),
        ("{\"a\nb\":1}", Err(NOT_JSON)),
        ("{\"a\":\"\\\n\"}", Err(NOT_JSON)),
    ] {
        let read = read_body(body.as_bytes());
        let read = read.map_err(|refused| refused.code);
        assert_eq!(read, line.map(|line| line.as_bytes().to_vec()), "{body}");
    }
}

#[test]
fn a_call_is_built_anew_from_what_was_approved() {
    let call = call(
        r#"{"jsonrpc":"2.0","id":"a","method":"tools\/call","params":{"arguments":{"z":1.50,"a":"\u00e9"},"_meta":{"progressToken":0},"name":"pay","task":{"ttl":1}},"more":1}"#,
    );
    assert_eq!(call.progress_token(), Some(&json!(0)));
    let message = call.message(&call.id, &json!({"z": 2}), &call.others);
    assert_eq!(
        message.to_string(),
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"pay","arguments":{"z":2},"_meta":{"progressToken":0},"task":{"ttl":1}}}"#
    );
}

#[test]
fn a_call_without_arguments_has_none() {
    let call = call(
        r#"{"id":1,"method":"tools/call","params":{"name":"pay","_meta":{"progressToken":1.5}}}"#,
    );
    assert_eq!((&call.arguments, call.progress_token()), (&json!({}), None));
}

proptest::proptest! {
    #[test]
    fn no_bytes_are_read_as_a_call_that_every_reader_does_not_see(bytes in proptest::collection::vec(
        proptest::prop_oneof!["[{}\\[\\]:,\"\\\\ ]", "tools/call|method|params|name|arguments|id|1|null|\\\\u006d"], 0..40
    )) {
        let line = bytes.concat();
        if let Ok(Sent::Call(call)) = read(line.as_bytes()) {
            let plain: Value = serde_json::from_str(&line)?;
            proptest::prop_assert_eq!(&plain["params"]["name"], &Value::from(call.name.as_str()));
            proptest::prop_assert_eq!(&plain["method"], "tools/call");
        }
    }
}
