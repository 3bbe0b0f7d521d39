//! Earlier calls of a tool.

use super::*;

#[tokio::test]
async fn a_tool_s_record_reads_an_agent_s_newest_calls_before_a_row_and_no_older_ones_than_asked() {
    let (_folder, mut writer, reader) = temporary().await;
    let ids = filled(&mut writer, 40).await;
    let found = async |before: i64, since: i64, limit: i64| {
        let earlier = tool_record::of_tool(&reader, bot(before), Timestamp(since), limit).await;
        let tool_record::Earlier { fates, cut } = earlier.unwrap();
        let stored = fates.into_iter().map(|call| call.stored_at.0);
        (stored.collect::<Vec<_>>(), cut)
    };
    // The calls with even sequences are of this tool.
    assert_eq!(found(ids[9], 0, 3).await, (vec![1_008, 1_006, 1_004], true));
    assert_eq!(found(ids[9], 1_006, 3).await, (vec![1_008, 1_006], false));
    assert_eq!(found(ids[0], 0, 10).await, (Vec::new(), false));
    let (all, cut) = found(i64::MAX, 0, 100).await;
    assert_eq!((all.len(), cut), (20, false));
    assert!(all.is_sorted_by(|newer, older| newer > older));
    // Calls of its tool by another agent neither count nor hide them.
    others(&mut writer, "tool-0", 41..=60).await;
    assert_eq!(found(i64::MAX, 1_030, 20).await.0.len(), 6);
    let found = found(i64::MAX, 0, 10).await;
    assert_eq!(found, (vec![1_040, 1_038, 1_036, 1_034, 1_032], true));
}

#[tokio::test]
async fn approved_calls_alone_are_compared_the_agent_s_own_first_and_then_a_person_s() {
    let (_folder, mut writer, reader) = temporary().await;
    filled(&mut writer, 10).await;
    others(&mut writer, "tool-0", 11..=14).await;
    let found = async |limit: i64| {
        let calls = lines::approved_before(&reader, bot(i64::MAX), limit).await;
        let args = calls
            .unwrap()
            .into_iter()
            .map(|(_, args)| args["n"].as_i64());
        args.map(Option::unwrap).collect::<Vec<_>>()
    };
    assert_eq!(found(10).await, [0; 0], "nothing is decided");
    for (seq, verdict, origin, compared) in [
        (14, "deny", "operator", vec![]),
        (12, "approve", "rule", vec![12]),
        (13, "approve", "rule", vec![13, 12]),
        (11, "approve", "operator", vec![11]),
        (2, "skip", "operator", vec![11]),
        (6, "approve", "rule", vec![6]),
        (8, "approve", "setup_key", vec![8, 6]),
        (4, "modify", "operator", vec![40]),
        (10, "respond", "operator", vec![40]),
        // Of another tool.
        (9, "approve", "operator", vec![40]),
    ] {
        let decided = "UPDATE requests SET state = 'decided', verdict = ?1, origin = ?2,
            raw = CAST('{\"args\":{\"n\":' || ?3 || '}}' AS BLOB) WHERE stream_seq = ?3";
        let decided = sqlx::query(decided).bind(verdict).bind(origin).bind(seq);
        decided.execute(&mut *writer.connection).await.unwrap();
        if verdict == "modify" {
            sqlx::query(
                "INSERT INTO decisions(request, ws, agent, request_id, payload, stream_epoch, stream_seq, stored_at)
                 SELECT id, ws, agent, request_id, CAST('{\"edited_args\":{\"n\":40}}' AS BLOB), 'e', 1, 0
                 FROM requests WHERE stream_seq = ?",
            )
            .bind(seq)
            .execute(&mut *writer.connection)
            .await
            .unwrap();
        }
        assert_eq!(found(10).await, compared, "{seq} {verdict}");
    }
    // Its own approved ones are behind what is looked at.
    assert_eq!(found(2).await, [13]);
}
