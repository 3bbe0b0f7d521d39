mod forms;
mod tasks;

use countersign_wire::Risk;
use serde_json::json;

use super::*;
use crate::tools::Tool;

fn relay(unasked: &[&str]) -> Relay<&'static str> {
    let unasked: Vec<_> = unasked.iter().map(|&glob| glob.to_owned()).collect();
    let which =
        Which::new(&[], &unasked, &[], Risk::Critical).unwrap_or_else(|error| panic!("{error}"));
    let mut relay = Relay::new(which, true);
    // Its own question for the tools is another test's.
    relay.sent_by_client(br#"{"method":"notifications/initialized"}"#);
    relay
}

fn line(message: &Value) -> Vec<u8> {
    message.to_string().into_bytes()
}

fn pay(id: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "pay", "arguments": {"n": 1}}})
}

fn asked(relay: &mut Relay<&'static str>, message: &Value) -> (Call, CancellationToken) {
    let steps = relay.sent_by_client(&line(message));
    assert!(!steps.pass && steps.to_server.is_none() && steps.to_client.is_none());
    match steps.then {
        Then::Ask(call, over) => (*call, over),
        _ => panic!("{message} did not ask"),
    }
}

fn approve(
    relay: &mut Relay<&'static str>,
    call: Call,
    arguments: Value,
    notice: Option<&str>,
) -> Value {
    let running = Running {
        call,
        arguments,
        notice: notice.map(str::to_owned),
        receipt: Some("receipt"),
    };
    let message = relay
        .go(Box::new(running))
        .unwrap_or_else(|_| panic!("nobody waits"));
    serde_json::from_slice(&message).unwrap_or_else(|error| panic!("{error}"))
}

fn reported(steps: Steps<&'static str>) -> Ended {
    match steps.then {
        Then::Report("receipt", ended) => ended,
        _ => panic!("no report"),
    }
}

#[test]
fn an_approved_call_goes_on_anew_and_its_result_as_it_is() {
    let mut relay = relay(&[]);
    let (call, _) = asked(&mut relay, &pay(json!(1)));
    let sent = approve(&mut relay, call, json!({"n": 1}), None);
    assert_eq!(sent, pay(json!(1)));
    let steps = relay.sent_by_server(br#"{ "id":1, "result" : {"content":[]} }"#);
    assert!(steps.pass);
    assert_eq!(
        reported(steps),
        Ended {
            arguments: json!({"n": 1}),
            failed: None,
            notice_pending: false
        }
    );
    // The id is free again.
    asked(&mut relay, &pay(json!(1)));
}

#[test]
fn ids_of_two_types_are_two_and_one_that_is_not_over_is_refused() {
    let mut relay = relay(&[]);
    asked(&mut relay, &pay(json!(1)));
    asked(&mut relay, &pay(json!("1")));
    let steps = relay.sent_by_client(&line(&pay(json!(1))));
    let announced = String::from_utf8(steps.to_client.unwrap_or_default().to_vec());
    assert!(!steps.pass && announced.is_ok_and(|announced| announced.contains("-32600")));
}

#[test]
fn a_cancelled_call_never_goes_on_and_one_that_runs_is_cancelled_by_the_server() {
    let cancel = line(&json!({"method": "notifications/cancelled", "params": {"requestId": 1}}));
    let mut relay = relay(&[]);
    let (call, over) = asked(&mut relay, &pay(json!(1)));
    let steps = relay.sent_by_client(&cancel);
    assert!(!steps.pass && over.is_cancelled());
    let running = Running {
        call,
        arguments: json!({}),
        notice: None,
        receipt: Some("receipt"),
    };
    assert!(relay.go(Box::new(running)).is_err());

    let (call, _) = asked(&mut relay, &pay(json!(1)));
    approve(&mut relay, call, json!({}), None);
    let steps = relay.sent_by_client(&cancel);
    assert!(steps.pass);
    assert_eq!(reported(steps).failed.as_deref(), Some("cancelled"));
}

#[test]
fn a_cancel_with_the_id_as_the_other_type_takes_a_waiting_call_back() {
    let cancel = |id: Value| {
        line(&json!({"method": "notifications/cancelled", "params": {"requestId": id}}))
    };
    for (id, other) in [
        (json!(9), json!("9")),
        (json!("9"), json!(9)),
        (json!(-1), json!("-1")),
    ] {
        let mut relay = relay(&[]);
        let (call, over) = asked(&mut relay, &pay(id.clone()));
        let steps = relay.sent_by_client(&cancel(other.clone()));
        assert!(!steps.pass && over.is_cancelled(), "{id}");
        // One that runs is the server's to cancel, in its own words.
        let running = |call| {
            Box::new(Running {
                call,
                arguments: json!({}),
                notice: None,
                receipt: Some("receipt"),
            })
        };
        assert!(relay.go(running(call)).is_err());
        let (call, _) = asked(&mut relay, &pay(id.clone()));
        approve(&mut relay, call, json!({}), None);
        let steps = relay.sent_by_client(&cancel(other.clone()));
        assert!(steps.pass && matches!(steps.then, Then::Nothing), "{id}");
        assert_eq!(
            reported(relay.sent_by_server(&line(&json!({"id": id, "result": {}})))).failed,
            None
        );
    }
    // The exact id comes first.
    let mut relay = relay(&[]);
    let (_, number) = asked(&mut relay, &pay(json!(9)));
    let (_, text) = asked(&mut relay, &pay(json!("9")));
    relay.sent_by_client(&cancel(json!("9")));
    assert!(text.is_cancelled() && !number.is_cancelled());
    for unknown in [json!("nine"), json!(8), json!(9.5), json!(null)] {
        assert!(relay.sent_by_client(&cancel(unknown)).pass);
    }
    assert!(!number.is_cancelled());
}

#[test]
fn what_the_server_answers_to_a_call_that_waits_is_dropped() {
    let mut relay = relay(&[]);
    let (call, over) = asked(&mut relay, &pay(json!(5)));
    for early in [
        json!({"jsonrpc": "2.0", "id": 5, "result": {"content": [{"type": "text", "text": "already done"}]}}),
        json!({"id": 5, "error": {"code": -1, "message": "m"}}),
        json!({"id": "5", "result": {}}),
        json!({"id": 5}),
    ] {
        let steps = relay.sent_by_server(&line(&early));
        assert!(!steps.pass && steps.to_client.is_none(), "{early}");
    }
    assert!(!over.is_cancelled());
    // Others, and questions of the server with the same id, are no answers to it.
    for passed in [
        json!({"id": 6, "result": {}}),
        json!({"id": 5, "method": "ping"}),
    ] {
        assert!(relay.sent_by_server(&line(&passed)).pass, "{passed}");
    }
    approve(&mut relay, call, json!({"n": 1}), None);
    let steps = relay.sent_by_server(br#"{"id":5,"result":{"content":[]}}"#);
    assert!(steps.pass && reported(steps).failed.is_none());
}

/// An approved call that the server answered with a task of this name.
#[test]
fn an_edit_is_told_before_the_result_and_every_other_byte_stays() {
    for (result, announced) in [
        (
            r#"{"content": [ {"type":"text"} ],"structuredContent":{"n":1e2}}"#,
            Some(
                r#"{"content": [{"type":"text","text":"edited"}, {"type":"text"} ],"structuredContent":{"n":1e2}}"#,
            ),
        ),
        (
            r#"{"content":[ ] }"#,
            Some(r#"{"content":[{"type":"text","text":"edited"} ] }"#),
        ),
        (r#"{"content":{}}"#, None),
        (r#"{}"#, None),
    ] {
        let mut relay = relay(&[]);
        let (call, _) = asked(&mut relay, &pay(json!(1)));
        approve(&mut relay, call, json!({"n": 2}), Some("edited"));
        let message = format!(r#" {{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let steps = relay.sent_by_server(message.as_bytes());
        let expected = announced.map(|announced| message.replace(result, announced));
        let found = steps.to_client.as_deref().map(String::from_utf8_lossy);
        assert_eq!(found.as_deref(), expected.as_deref());
        assert_eq!(steps.pass, announced.is_none());
        assert_eq!(
            reported(steps).notice_pending,
            announced.is_none(),
            "{result}"
        );
    }
}

#[test]
fn how_a_call_ended_is_reported() {
    for (answer, failed) in [
        (r#"{"id":1,"result":{"isError":true}}"#, Some("tool_error")),
        (
            r#"{"id":1,"error":{"code":-32602,"message":"m"}}"#,
            Some("-32602"),
        ),
        (r#"{"id":1,"error":"odd"}"#, Some("error")),
        (r#"{"id":1,"result":{"isError":false}}"#, None),
        (r#"{"id":1,"result":{"isError":"odd"}}"#, None),
        (r#"{"id":1,"result":7}"#, None),
    ] {
        let mut relay = relay(&[]);
        let (call, _) = asked(&mut relay, &pay(json!(1)));
        approve(&mut relay, call, json!({"n": 1}), None);
        let ended = reported(relay.sent_by_server(answer.as_bytes()));
        assert_eq!(ended.failed.as_deref(), failed, "{answer}");
    }
    let mut relay = relay(&[]);
    let (call, _) = asked(&mut relay, &pay(json!(1)));
    approve(&mut relay, call, json!({}), None);
    let (_, over) = asked(&mut relay, &pay(json!(2)));
    let ended = relay.server_gone();
    assert!(over.is_cancelled());
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].1.failed.as_deref(), Some("connection_closed"));
}

#[test]
fn unasked_calls_pass_as_they_are_but_a_probe_never_does() {
    let mut relay = relay(&["*"]);
    assert!(relay.sent_by_client(&line(&pay(json!(1)))).pass);
    let probe = json!({"id": 2, "method": "tools/call", "params": {"name": PROBE}});
    let (call, _) = asked(&mut relay, &probe);
    let running = Running {
        call,
        arguments: json!({}),
        notice: None,
        receipt: Some("receipt"),
    };
    assert!(relay.go(Box::new(running)).is_err());
    assert_eq!(relay.probes(), 0);
    assert!(relay.over(&Id::Number(2)));
}

#[test]
fn the_tools_are_asked_for_page_by_page_and_the_answers_are_the_proxys_own() {
    let which = Which::new(&[], &[], &[], Risk::Critical).unwrap_or_else(|error| panic!("{error}"));
    let mut relay: Relay<()> = Relay::new(which, true);
    let steps = relay.sent_by_client(br#"{"method":"notifications/initialized"}"#);
    assert!(steps.pass);
    let question = |steps: &Steps<()>| {
        let bytes = steps.to_server.clone().unwrap_or_default();
        serde_json::from_slice::<Value>(&bytes).unwrap_or_else(|error| panic!("{error}"))
    };
    let first = question(&steps);
    assert_eq!(
        (&first["method"], &first["params"]),
        (&json!("tools/list"), &json!({}))
    );
    // A change while it reads: it reads again afterwards.
    let changed = relay.sent_by_server(br#"{"method":"notifications/tools/list_changed"}"#);
    assert!(changed.pass && changed.to_server.is_none());
    let page = json!({"id": first["id"], "result": {"nextCursor": "c", "tools": [{
        "name": "pay", "description": "Pays", "annotations": {"readOnlyHint": true},
        "inputSchema": {"maximum": 18_446_744_073_709_551_615_u64}, "outputSchema": {},
    }]}});
    let steps = relay.sent_by_server(&line(&page));
    assert!(!steps.pass);
    assert_eq!(question(&steps)["params"], json!({"cursor": "c"}));
    let page = json!({"id": first["id"], "result": {"tools": [{"name": "other"}, {"no": "name"}]}});
    let steps = relay.sent_by_server(&line(&page));
    assert!(!steps.pass);
    let again = question(&steps);
    assert_ne!(again["id"], first["id"]);
    let error = json!({"id": again["id"], "error": {"code": -32601}});
    let known = relay.tools.get("pay").cloned();
    let effects = Some(countersign_wire::Effects::Read);
    let schema = Some(json!({"maximum": 18_446_744_073_709_551_615.0_f64}));
    let pays = Some("Pays".to_owned());
    assert_eq!(
        known,
        Some(Tool {
            description: pays,
            args_schema: schema,
            effects,
            typed: true
        })
    );
    assert!(matches!(
        relay.sent_by_server(&line(&error)).then,
        Then::Tools
    ));
}

#[test]
fn a_server_that_is_discovered_is_asked_for_its_tools_in_its_revision() {
    let which = Which::new(&[], &[], &[], Risk::Critical).unwrap_or_else(|error| panic!("{error}"));
    let mut relay: Relay<()> = Relay::new(which, true);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let discover = json!({"id": 1, "method": "server/discover", "params": {"_meta": meta}});
    assert!(relay.sent_by_client(&line(&discover)).pass);
    let steps = relay.sent_by_server(br#"{"id":1,"result":{}}"#);
    let list: Value = serde_json::from_slice(&steps.to_server.unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(steps.pass);
    assert_eq!(list["params"]["_meta"], meta);
}

#[test]
fn an_approval_counts_once_for_a_call_that_comes_back_with_the_servers_state() {
    let wants = |id: u64, state: &str| {
        line(
            &json!({"id": id, "result": {"resultType": "input_required", "requestState": state,
            "inputRequests": {"a": {"method": "sampling/createMessage", "params": {}}}}}),
        )
    };
    let back = |id: u64, state: &str, n: u64| {
        let mut call = pay(json!(id));
        call["params"]["arguments"]["n"] = json!(n);
        call["params"]["requestState"] = json!(state);
        call["params"]["inputResponses"] = json!({"a": {}});
        call
    };
    let mut relay = relay(&[]);
    let (call, _) = asked(&mut relay, &pay(json!(1)));
    approve(&mut relay, call, json!({"n": 1}), None);
    assert!(relay.sent_by_server(&wants(1, "s")).pass);
    // Other arguments, another state: another call.
    asked(&mut relay, &back(2, "s", 2));
    asked(&mut relay, &back(3, "t", 1));
    let steps = relay.sent_by_client(&line(&back(4, "s", 1)));
    let sent: Value = serde_json::from_slice(&steps.to_server.unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        (&sent["id"], &sent["params"]["requestState"]),
        (&json!(4), &json!("s"))
    );
    let ended = reported(relay.sent_by_server(br#"{"id":4,"result":{"content":[]}}"#));
    assert_eq!(ended.failed, None);
    asked(&mut relay, &back(5, "s", 1));
}
