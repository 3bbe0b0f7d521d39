//! Every verdict, on requests that allow it.

use serde_json::json;

use crate::desk::{Agent, Console, Desk, digest_of};

struct Round {
    desk: Desk,
    agent: Agent,
    _console: Console,
}

async fn round() -> Round {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    Round {
        desk,
        agent,
        _console: console,
    }
}

#[tokio::test]
async fn each_verdict_reaches_the_agent_as_it_was_given() {
    let Round {
        desk,
        agent,
        _console,
    } = round().await;
    let all = json!([
        "approve",
        "modify",
        "deny",
        "skip",
        "respond",
        "escalate",
        "terminate"
    ]);
    for (arguments, verdict) in [
        (&["approve"][..], "approve"),
        (&["deny", "--message", "no"], "deny"),
        (&["deny", "--message", "stop", "--terminate"], "terminate"),
        (&["skip"], "skip"),
        (&["respond", "--content", "42"], "respond"),
        (&["escalate"], "escalate"),
    ] {
        let id = format!("r-{verdict}");
        agent
            .ask(&agent.request(&id).set("allowed_verdicts", all.clone()))
            .await;
        desk.show_in_state(&id, "pending");
        let (word, flags) = arguments.split_first().unwrap();
        let command = [&[*word, id.as_str()], flags, &["--json"]].concat();
        let line = desk.json(&command);
        assert_eq!(
            (&line["verdict"], &line["state"]),
            (&json!(verdict), &json!("decided")),
            "{line}"
        );
        let decision = agent.decision(&id).await.unwrap();
        assert_eq!(decision["verdict"], verdict);
        assert_eq!(decision["decided_by"]["name"], "Test Operator");
        assert_eq!(
            line["stream_seq"],
            desk.json(&["show", &id, "--json"])["stream_seq"]
        );
    }
    assert_eq!(
        agent.decision("r-respond").await.unwrap()["response"]["content"],
        "42"
    );
}

#[tokio::test]
async fn terminate_falls_back_to_deny_and_says_so() {
    let Round {
        desk,
        agent,
        _console,
    } = round().await;
    for id in ["r1", "r2"] {
        agent.ask(&agent.request(id)).await;
        desk.show_in_state(id, "pending");
    }
    let ended = desk
        .run(&["deny", "r1", "--message", "stop", "--terminate"])
        .success();
    assert!(ended.err.contains("deny was sent instead"), "{ended:?}");
    let line = desk.json(&["deny", "r2", "--message", "stop", "--terminate", "--json"]);
    assert_eq!(line["verdict"], "deny");
    assert!(
        line["note"]
            .as_str()
            .unwrap()
            .contains("deny was sent instead")
    );
    assert_eq!(agent.decision("r1").await.unwrap()["verdict"], "deny");
}

#[tokio::test]
async fn edited_arguments_come_from_a_file_or_the_flag_and_carry_their_own_digest() {
    let Round {
        desk,
        agent,
        _console,
    } = round().await;
    let text = "{\"to\": \"b\", \"copies\": 1}";
    let file = desk.path().join("edited.json");
    std::fs::write(&file, text).unwrap();
    let edited = json!({"to": "b", "copies": 1});
    for (id, args) in [("r1", file.to_str().unwrap()), ("r2", text)] {
        agent.ask(&agent.request(id)).await;
        desk.show_in_state(id, "pending");
        let message = "one is enough";
        desk.run(&["approve", id, "--args", args, "--message", message])
            .success();
        let decision = agent.decision(id).await.unwrap();
        assert_eq!(decision["edited_args"], edited, "{id}");
        assert_eq!(decision["args_digest"], digest_of(&edited));
        assert_eq!(decision["message"], message);
    }
}

#[tokio::test]
async fn edited_arguments_that_the_tools_own_schema_forbids_exit_6_and_decide_nothing() {
    let Round {
        desk,
        agent,
        _console,
    } = round().await;
    let schema = json!({"type": "object", "properties": {"copies": {"type": "integer"}}});
    let tool = json!({"name": "send_mail", "args_schema": schema});
    agent.ask(&agent.request("r1").set("tool", tool)).await;
    desk.show_in_state("r1", "pending");
    let approve = |edited: &str| {
        let command = ["approve", "r1", "--args", "-", "--json"];
        desk.run_with(edited, &command)
    };
    let (exit, code, message) = approve("{\"to\": \"b\", \"copies\": \"two\"}").error();
    assert_eq!((exit, code.as_str()), (6, "invalid_args"), "{message}");
    assert!(
        message.contains("/copies does not fit the tool's schema"),
        "{message}"
    );
    assert_eq!(desk.json(&["show", "r1", "--json"])["state"], "pending");
    approve("{\"to\": \"b\", \"copies\": 1}").success();
    assert_eq!(agent.decision("r1").await.unwrap()["verdict"], "modify");
    // What is decided is reported as that, whatever the edit is.
    let (exit, code, _) = approve("{\"copies\": \"two\"}").error();
    assert_eq!((exit, code.as_str()), (4, "already_decided"));
}

#[tokio::test]
async fn a_question_and_a_form_are_answered_and_the_answer_is_checked() {
    let Round {
        desk,
        agent,
        _console,
    } = round().await;
    let bare = |id: &str, kind: &str| {
        let request = agent.request(id).set("kind", json!(kind));
        let request = request
            .without("tool")
            .without("args")
            .without("args_digest");
        request.set("allowed_verdicts", json!(["respond", "approve"]))
    };
    let options = json!([{"key": "y", "label": "Yes"}, {"key": "n", "label": "No"}]);
    let question = json!({"text": "Go?", "options": options, "allow_freeform": false});
    for id in ["q1", "q2"] {
        let asked = bare(id, "question").set("question", question.clone());
        agent.ask(&asked).await;
    }
    let without_keys = json!([{"label": "Yes"}, {"label": "No"}]);
    let question = json!({"text": "Go?", "options": without_keys, "allow_freeform": false});
    agent
        .ask(&bare("q3", "question").set("question", question))
        .await;
    let schema =
        json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    agent
        .ask(&bare("f1", "form").set("response_schema", schema))
        .await;
    desk.show_in_state("f1", "pending");
    for id in ["q1", "f1"] {
        let (exit, code, message) = desk.run(&["approve", id, "--json"]).error();
        assert_eq!((exit, code.as_str()), (6, "verdict_not_allowed"));
        assert!(message.contains("countersign respond"), "{message}");
    }
    let refused = desk
        .run(&["respond", "q1", "--content", "perhaps", "--json"])
        .error();
    assert_eq!((refused.0, refused.1.as_str()), (6, "invalid_args"));
    desk.run(&["respond", "q1", "--content", "Yes", "--selected-key", "y"])
        .success();
    assert_eq!(
        agent.decision("q1").await.unwrap()["response"]["selected_key"],
        "y"
    );
    desk.run(&["respond", "q2", "--content", "n"]).success();
    assert_eq!(
        agent.decision("q2").await.unwrap()["response"],
        json!({"content": "n", "selected_key": "n"})
    );
    desk.show_in_state("q3", "pending");
    desk.run(&["respond", "q3", "--content", "No"]).success();
    assert_eq!(
        agent.decision("q3").await.unwrap()["response"],
        json!({"content": "No"})
    );
    let refused = desk
        .run_with(
            "{\"n\":\"1\"}",
            &["respond", "f1", "--json-content", "-", "--json"],
        )
        .error();
    assert_eq!((refused.0, refused.1.as_str()), (6, "invalid_args"));
    desk.run_with("{\"n\":1}", &["respond", "f1", "--json-content", "-"])
        .success();
    assert_eq!(
        agent.decision("f1").await.unwrap()["response"]["content"],
        json!({"n": 1})
    );
}
