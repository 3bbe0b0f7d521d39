//! Calls that become tasks.

use super::*;

fn task(relay: &mut Relay<&'static str>, name: &str, notice: Option<&str>) -> Steps<&'static str> {
    let mut message = pay(json!(name));
    message["params"]["task"] = json!({"ttl": 2000});
    let (call, _) = asked(relay, &message);
    approve(relay, call, json!({"n": 2}), notice);
    let began =
        json!({"id": name, "result": {"task": {"taskId": name, "status": "working", "ttl": 1000}}});
    let steps = relay.sent_by_server(&line(&began));
    assert!(steps.pass);
    steps
}

#[test]
fn a_task_is_reported_when_it_ends_and_its_edit_is_told_with_its_result() {
    let ask = |method: &str, name: &str| {
        line(&json!({"id": 7, "method": method, "params": {"taskId": name}}))
    };
    let state = |status: &str| line(&json!({"id": 7, "result": {"taskId": "t", "status": status}}));
    let notice = |status: &str| {
        line(
            &json!({"method": "notifications/tasks/status", "params": {"taskId": "t", "status": status}}),
        )
    };
    for (status, failed) in [
        ("completed", None),
        ("failed", Some("task_failed")),
        ("cancelled", Some("cancelled")),
    ] {
        let mut asks = relay(&[]);
        assert!(
            matches!(task(&mut asks, "t", None).then, Then::Expires(name, ttl) if name == "t" && ttl.as_millis() == 1000)
        );
        assert!(asks.sent_by_client(&ask("tasks/get", "t")).pass);
        assert!(matches!(
            asks.sent_by_server(&state("working")).then,
            Then::Nothing
        ));
        asks.sent_by_client(&ask("tasks/get", "t"));
        let steps = asks.sent_by_server(&state(status));
        assert!(steps.pass);
        let ended = reported(steps);
        assert_eq!(
            (ended.failed.as_deref(), ended.arguments),
            (failed, json!({"n": 2}))
        );
        // Once, and not again when the task is gone.
        assert!(matches!(
            asks.sent_by_server(&notice(status)).then,
            Then::Nothing
        ));
        assert_eq!(asks.task_expired("t"), None);

        let mut hears = relay(&[]);
        task(&mut hears, "t", None);
        assert!(matches!(
            hears.sent_by_server(&notice("input_required")).then,
            Then::Nothing
        ));
        let steps = hears.sent_by_server(&notice(status));
        assert!(steps.pass);
        assert_eq!(reported(steps).failed.as_deref(), failed);
    }
    for (answer, failed) in [
        (json!({"result": {"content": []}}), None),
        (
            json!({"result": {"content": [], "isError": true}}),
            Some("tool_error"),
        ),
        (json!({"error": {"code": -32603}}), Some("-32603")),
    ] {
        let mut relay = relay(&[]);
        task(&mut relay, "t", Some("edited"));
        relay.sent_by_client(&ask("tasks/result", "t"));
        let mut answer = answer;
        answer["id"] = json!(7);
        let steps = relay.sent_by_server(&line(&answer));
        let told = steps
            .to_client
            .as_ref()
            .is_some_and(|told| String::from_utf8_lossy(told).contains("edited"));
        assert_eq!(told, answer.get("result").is_some());
        assert_eq!(reported(steps).failed.as_deref(), failed);
    }
    // Its end was heard before: the result is told of the edit, and nothing is reported twice.
    let mut relay = relay(&[]);
    task(&mut relay, "t", Some("edited"));
    assert_eq!(
        reported(relay.sent_by_server(&notice("completed"))).failed,
        None
    );
    relay.sent_by_client(&ask("tasks/result", "t"));
    let result = line(&json!({"id": 7, "result": {"content": []}}));
    let steps = relay.sent_by_server(&result);
    assert!(steps.to_client.is_some() && matches!(steps.then, Then::Nothing));
    // A question that is taken back says nothing of the task.
    task(&mut relay, "u", None);
    relay.sent_by_client(&ask("tasks/result", "u"));
    let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": 7}});
    let steps = relay.sent_by_client(&line(&cancel));
    assert!(steps.pass);
    assert_eq!(reported(steps).failed.as_deref(), Some(answer::NO_REPORT));
}

#[test]
fn a_task_whose_end_nobody_saw_is_not_reported_as_run() {
    let mut relay = relay(&[]);
    task(&mut relay, "t", None);
    task(&mut relay, "u", None);
    // An error of the question is none of the task; nobody asks about other tasks.
    for name in ["t", "other"] {
        relay.sent_by_client(&line(
            &json!({"id": 7, "method": "tasks/get", "params": {"taskId": name}}),
        ));
        let steps = relay.sent_by_server(&line(&json!({"id": 7, "error": {"code": -32602}})));
        assert!(steps.pass && matches!(steps.then, Then::Nothing));
    }
    let (_, ended) = relay
        .task_expired("t")
        .unwrap_or_else(|| panic!("no report"));
    assert_eq!(ended.failed.as_deref(), Some(answer::NO_REPORT));
    assert_eq!(relay.task_expired("t"), None);
    let ended = relay.server_gone();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].1.failed.as_deref(), Some(answer::NO_REPORT));
}

#[test]
fn a_result_that_only_names_a_task_is_a_result() {
    for result in [
        json!({"content": [], "task": {"status": "working"}}),
        json!({"task": "t"}),
        json!({"task": {"taskId": 1}}),
    ] {
        let mut relay = relay(&[]);
        let (call, _) = asked(&mut relay, &pay(json!(1)));
        approve(&mut relay, call, json!({}), None);
        let steps = relay.sent_by_server(&line(&json!({"id": 1, "result": result})));
        assert_eq!(reported(steps).failed, None, "{result}");
    }
}
