//! Names and subjects.

use countersign_wire::{
    AgentKey, AgentName, RequestId, RequestKey, Stream, Subject, WorkspaceName,
};

use crate::support::{key, public};

#[test]
fn names_keep_to_the_grammar() {
    let longest = "a".repeat(63);
    for good in ["a", "0", "a_b-c", "9lives", longest.as_str()] {
        assert!(good.parse::<WorkspaceName>().is_ok(), "{good}");
        assert!(good.parse::<AgentName>().is_ok(), "{good}");
    }
    let too_long = "a".repeat(64);
    for bad in [
        "",
        "A",
        "-a",
        "_a",
        "a.b",
        "a b",
        "a*",
        "a>",
        "é",
        "a\n",
        too_long.as_str(),
    ] {
        assert!(bad.parse::<WorkspaceName>().is_err(), "{bad}");
        assert!(bad.parse::<AgentName>().is_err(), "{bad}");
        assert!(
            serde_json::from_value::<AgentName>(bad.into()).is_err(),
            "{bad}"
        );
    }
}

#[test]
fn request_ids_keep_to_the_grammar() {
    let longest = "Z".repeat(64);
    for good in [
        "a",
        "A",
        "0",
        "019aa000-0000-7000-8000-000000000001",
        "a_B-",
        longest.as_str(),
    ] {
        assert!(good.parse::<RequestId>().is_ok(), "{good}");
    }
    let too_long = "Z".repeat(65);
    for bad in ["", "-a", "_a", "a.b", "a/b", "é", too_long.as_str()] {
        assert!(bad.parse::<RequestId>().is_err(), "{bad}");
    }
}

#[test]
fn keys_are_written_with_slashes_and_read_back() {
    assert_eq!(
        key().to_string(),
        "acme/billing-bot/019aa000-0000-7000-8000-000000000001"
    );
    assert_eq!(
        key().agent_key(),
        "acme/billing-bot".parse::<AgentKey>().unwrap()
    );
    for bad in [
        "acme/billing-bot",
        "acme/billing-bot/x/y",
        "Acme/b/x",
        "",
        "//",
    ] {
        assert!(bad.parse::<RequestKey>().is_err(), "{bad}");
    }
}

#[test]
fn every_subject_reads_back_as_itself_and_goes_to_its_stream() {
    let agent = key().agent_key();
    let rows = [
        (Subject::Request(key()), Some(Stream::Requests)),
        (Subject::Withdraw(key()), Some(Stream::Requests)),
        (Subject::Tighten(key()), Some(Stream::Requests)),
        (Subject::Decision(key()), Some(Stream::Decisions)),
        (
            Subject::Vote(key(), public(1).into()),
            Some(Stream::Decisions),
        ),
        (Subject::Realm(7), Some(Stream::Decisions)),
        (Subject::Decided(key()), None),
        (Subject::Receipt(key()), Some(Stream::Receipts)),
        (Subject::Event(agent.clone()), Some(Stream::Events)),
        (Subject::Hello(agent.clone()), Some(Stream::Agents)),
        (Subject::Heartbeat(agent), None),
        (
            Subject::Audit("019aa000-0000-7000-8000-00000000c0de".parse().unwrap()),
            Some(Stream::Audit),
        ),
    ];
    for (subject, stream) in rows {
        let text = subject.to_string();
        assert_eq!(Subject::parse(&text).as_ref(), Some(&subject), "{text}");
        assert_eq!(subject.stream(), stream, "{text}");
        if let Some(stream) = stream {
            let prefix = |filter: &&str| text.starts_with(filter.trim_end_matches(['>', '*']));
            assert!(stream.subjects().iter().any(prefix), "{text}");
        }
        assert!(
            Subject::parse(&format!("{text}.more")).is_none(),
            "{text}.more"
        );
        assert!(Subject::parse(&format!("{text}.")).is_none(), "{text}.");
        let (shorter, _) = text.rsplit_once('.').unwrap();
        assert!(Subject::parse(shorter).is_none(), "{shorter}");
    }
}

#[test]
fn foreign_subjects_are_not_read() {
    for bad in [
        "",
        "countersign.v1",
        "countersign.v2.request.acme.bot.r1",
        "countersign.v1.requests.acme.bot.r1",
        "countersign.v1.request.acme.*.r1",
        "countersign.v1.request.acme.>",
        "countersign.v1.request..bot.r1",
        "countersign.v1.request.Acme.bot.r1",
        "countersign.v1.request.acme.bot.-r1",
        "countersign.v1.vote.acme.bot.r1.UABC",
        "countersign.v1.audit.a.b",
        "countersign.v1.audit.",
        " countersign.v1.request.acme.bot.r1",
    ] {
        assert_eq!(Subject::parse(bad), None, "{bad}");
    }
}
