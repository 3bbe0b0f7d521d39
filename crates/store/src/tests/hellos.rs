//! What agents say of themselves, against a real file.

use countersign_wire::{AgentKey, Sha256Digest, ToolDefinition};

use crate::agent_instances::{self, Heard};
use crate::agents::{self, NewHello};
use crate::domain::Timestamp;
use crate::pool::temporary;
use crate::redefined;
use crate::sql;
use crate::tools::{self, Definitions, ToolRow};

fn bot() -> AgentKey {
    "acme/bot".parse().unwrap()
}

fn defined(place: usize, name: &str, text: &str) -> ToolDefinition {
    ToolDefinition {
        place,
        name: name.into(),
        text: text.into(),
        digest: Sha256Digest::of_bytes(text.as_bytes()),
    }
}

fn reported(all: &[ToolDefinition], at: i64) -> Definitions<'_> {
    Definitions {
        all: Some(all),
        at: Timestamp(at),
        now: Timestamp(100),
        missed: false,
        unread: false,
    }
}

fn heard(instance: &str, at: i64) -> Heard {
    Heard {
        agent: bot(),
        instance_id: instance.into(),
        at: Timestamp(at),
    }
}

#[tokio::test]
async fn a_tool_is_dated_from_its_last_change_and_shown_while_it_is_listed_or_a_person_approved_it()
{
    let (_folder, mut writer, reader) = temporary().await;
    let tx = writer.begin().unwrap();
    let first = [
        defined(0, "a", "1"),
        defined(1, "b", "1"),
        defined(2, "c", "1"),
    ];
    tools::replace(&tx, &bot(), &reported(&first, 1)).unwrap();
    tx.execute(
        "UPDATE tools SET approved_digest = def_digest, approved_at = 1 WHERE name IN ('b', 'c')",
        [],
    )
    .unwrap();
    let second = [defined(0, "c", "2"), defined(2, "d", "1")];
    let changed = tools::replace(&tx, &bot(), &reported(&second, 2)).unwrap();
    assert_eq!(changed.len(), 1, "only c was approved and reads otherwise");
    assert_eq!(changed[0].now, Sha256Digest::of_bytes(b"2").to_string());
    let again = tools::replace(&tx, &bot(), &reported(&second, 3)).unwrap();
    assert!(again.is_empty(), "a change is reported once");
    tx.commit().unwrap();
    let rows = tools::all(&reader).await.unwrap();
    let reported = |row: &ToolRow| (row.name.clone(), row.place, row.changed_at);
    let reported: Vec<_> = rows.iter().map(reported).collect();
    assert_eq!(
        reported,
        [
            ("c".into(), Some(0), Some(2)),
            ("d".into(), Some(2), Some(2)),
            ("b".into(), None, Some(1)),
        ]
    );
}

#[tokio::test]
async fn a_tool_that_a_hello_leaves_out_keeps_its_past() {
    let (_folder, mut writer, _reader) = temporary().await;
    let tx = writer.begin().unwrap();
    for (definitions, at, since) in [
        (vec![defined(0, "a", "1")], 1, (1, None)),
        (vec![], 2, (1, None)),
        (vec![defined(0, "a", "1")], 3, (1, None)),
        (vec![], 4, (1, None)),
        (vec![defined(0, "a", "2")], 5, (5, Some(5))),
    ] {
        tools::replace(&tx, &bot(), &reported(&definitions, at)).unwrap();
        let known = tx.query_row(
            "SELECT changed_at, redefined_at FROM tools WHERE name = 'a'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        );
        let known: (i64, Option<i64>) = known.unwrap();
        assert_eq!(known, since, "after the hello of {at}");
    }
}

#[tokio::test]
async fn a_hello_that_names_no_tools_leaves_those_of_the_one_before_and_an_empty_list_does_not() {
    let (_folder, mut writer, reader) = temporary().await;
    let one = [defined(0, "a", "1")];
    let silent = |at| Definitions {
        all: None,
        ..reported(&[], at)
    };
    for (definitions, listed) in [
        (reported(&one, 1), vec![Some(0)]),
        (silent(2), vec![Some(0)]),
        (reported(&[], 3), vec![]),
        (silent(4), vec![]),
    ] {
        let tx = writer.begin().unwrap();
        tools::replace(&tx, &bot(), &definitions).unwrap();
        tx.commit().unwrap();
        let rows = tools::all(&reader).await.unwrap();
        let places: Vec<_> = rows.iter().map(|row| row.place).collect();
        assert_eq!(places, listed, "after the hello of {}", definitions.at.0);
    }
}

#[tokio::test]
async fn tools_that_hellos_leave_out_do_not_grow_without_end() {
    let (_folder, mut writer, _reader) = temporary().await;
    let tx = writer.begin().unwrap();
    for round in 0..3 {
        let many: Vec<_> = (0..900)
            .map(|n| defined(n, &format!("t{round}-{n}"), "1"))
            .collect();
        tools::replace(&tx, &bot(), &reported(&many, round)).unwrap();
    }
    let kept: i64 = sql::value(&tx, "SELECT count(*) FROM tools", []).unwrap();
    assert_eq!(kept, 1_900, "the listed and the last 1,000 of the others");
}

#[tokio::test]
async fn copies_of_an_agent_are_kept_apart_and_do_not_grow_without_end() {
    let (_folder, mut writer, reader) = temporary().await;
    let tx = writer.begin().unwrap();
    let signs = [heard("a", 10), heard("b", 20), heard("", 30)];
    assert!(agent_instances::note(&tx, &signs).unwrap());
    let again = [heard("a", 40), heard("b", 15)];
    assert!(!agent_instances::note(&tx, &again).unwrap());
    tx.commit().unwrap();
    let known = agent_instances::all(&reader).await.unwrap();
    let seen: Vec<_> = known
        .iter()
        .map(|row| (row.instance_id.as_str(), row.first_seen, row.last_seen))
        .collect();
    assert_eq!(seen, [("a", 10, 40), ("", 30, 30), ("b", 20, 20)]);
    let tx = writer.begin().unwrap();
    let flood: Vec<Heard> = (0..500).map(|n| heard(&format!("f{n}"), 100 + n)).collect();
    agent_instances::note(&tx, &flood).unwrap();
    tx.commit().unwrap();
    let known = agent_instances::all(&reader).await.unwrap();
    assert_eq!(known.len(), 64);
    assert_eq!(known[0].instance_id, "f499");
}

#[tokio::test]
async fn a_setup_schema_is_read_as_it_was_written_and_an_unreadable_hello_loses_nothing() {
    let (_folder, mut writer, reader) = temporary().await;
    let tx = writer.begin().unwrap();
    assert_eq!(agents::setup_schema(&tx, &bot()).unwrap(), None);
    let hello = NewHello {
        framework: Some("flexus"),
        raw: b"{}",
        setup_schema: Some(r#"[{"bs_name":"z","bs_type":"bool"},{"bs_name":"a"}]"#.into()),
        credentials: None,
        at: Timestamp(5),
    };
    agents::note_hello(&tx, &bot(), &hello).unwrap();
    agents::note_unreadable(&tx, &bot(), "not_json", Timestamp(7)).unwrap();
    tx.commit().unwrap();
    let schema = agents::setup_schema_of(&reader, &bot())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(schema[0]["bs_name"], "z");
    let known = agents::all(&reader).await.unwrap();
    assert_eq!(known[0].hello_fault.as_deref(), Some("not_json"));
    assert_eq!((known[0].hello_at, known[0].last_seen), (Some(5), Some(7)));
    let tx = writer.begin().unwrap();
    agents::note_hello(&tx, &bot(), &hello).unwrap();
    tx.commit().unwrap();
    assert_eq!(agents::all(&reader).await.unwrap()[0].hello_fault, None);
}

#[tokio::test]
async fn a_definition_that_came_before_the_console_may_have_replaced_another_one() {
    let (_folder, mut writer, reader) = temporary().await;
    let tx = writer.begin().unwrap();
    let (a, b) = ([defined(0, "a", "1")], [defined(0, "b", "1")]);
    let before = Definitions {
        missed: true,
        ..reported(&a, 5)
    };
    tools::replace(&tx, &bot(), &before).unwrap();
    tools::replace(&tx, &bot(), &reported(&b, 7)).unwrap();
    let again = Definitions {
        missed: true,
        ..reported(&b, 9)
    };
    tools::replace(&tx, &bot(), &again).unwrap();
    tx.commit().unwrap();
    let redefined = redefined::of_workspace(&reader, "acme").await.unwrap();
    let expected = [("a", 5), ("b", 7)].map(|(tool, at)| ("bot".to_owned(), tool.to_owned(), at));
    assert_eq!(redefined, expected);
}

/// When rules ceased to cover the tool, after each of these hellos of its agent.
#[tokio::test]
async fn whatever_may_have_defined_a_tool_otherwise_is_the_moment_that_counts() {
    let one = || vec![defined(0, "x", "1")];
    let other = || vec![defined(0, "y", "1")];
    for (what, hellos) in [
        ("the same again", vec![(one(), "", None), (one(), "", None)]),
        (
            "left out",
            vec![(one(), "", None), (vec![], "", None), (one(), "", None)],
        ),
        (
            "defined for the first time",
            vec![(other(), "", None), (one(), "", None)],
        ),
        (
            "another",
            vec![(one(), "", None), (vec![defined(0, "x", "2")], "", Some(2))],
        ),
        (
            "listed in one that was not read whole",
            vec![
                (one(), "", None),
                (one(), "unread", Some(2)),
                (one(), "", Some(2)),
            ],
        ),
        (
            "maybe in one that was not read whole",
            vec![
                (other(), "", None),
                (other(), "unread", Some(2)),
                (one(), "", Some(3)),
            ],
        ),
        (
            "found when the console joined",
            vec![(one(), "missed", Some(1)), (one(), "", Some(1))],
        ),
        (
            "came back after the console joined",
            vec![
                (vec![], "missed", Some(1)),
                (vec![], "", Some(1)),
                (one(), "", Some(3)),
            ],
        ),
        (
            "known before hellos were missed",
            vec![
                (one(), "", None),
                (one(), "missed", None),
                (one(), "", None),
            ],
        ),
        (
            "maybe in one that was missed before one that names no tools",
            vec![(one(), "", None), (one(), "missed, silent", Some(2))],
        ),
        (
            "defined in one that a stream which went back has lost",
            vec![
                (one(), "", None),
                (one(), "", None),
                (one(), "older", Some(100)),
                (one(), "", Some(100)),
            ],
        ),
        (
            "maybe defined in such a one",
            vec![
                (other(), "", None),
                (other(), "older", Some(100)),
                (one(), "", Some(3)),
            ],
        ),
        (
            "maybe in one that was missed",
            vec![
                (other(), "", None),
                (other(), "missed", Some(0)),
                (one(), "", Some(3)),
            ],
        ),
    ] {
        let (_folder, mut writer, _reader) = temporary().await;
        let tx = writer.begin().unwrap();
        for (place, (all, how, expected)) in hellos.iter().enumerate() {
            let at = match *how {
                "older" => 0,
                _ => i64::try_from(place).unwrap() + 1,
            };
            let definitions = Definitions {
                all: (!how.ends_with("silent")).then_some(all),
                missed: how.starts_with("missed"),
                unread: *how == "unread",
                ..reported(all, at)
            };
            tools::replace(&tx, &bot(), &definitions).unwrap();
            let hello = NewHello {
                framework: None,
                raw: b"{}",
                setup_schema: None,
                credentials: None,
                at: Timestamp(at),
            };
            agents::note_hello(&tx, &bot(), &hello).unwrap();
            let found: Option<i64> = sql::value(
                &tx,
                "SELECT iif(t.def_digest IS NULL, a.tools_unknown_at, t.redefined_at) FROM agents a
                 LEFT JOIN tools t ON t.ws = a.ws AND t.agent = a.name AND t.name = 'x'",
                [],
            )
            .unwrap();
            assert_eq!(found, *expected, "{what}, hello {at}");
        }
    }
}
