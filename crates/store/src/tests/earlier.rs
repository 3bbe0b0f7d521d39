//! Earlier calls of a tool.

use super::*;

#[tokio::test]
async fn a_tool_s_record_reads_an_agent_s_newest_calls_before_a_row_and_no_older_ones_than_asked() {
    let (_folder, mut writer, reader) = temporary().await;
    let ids = filled(&mut writer, 40);
    let found = async |before: i64, since: i64, limit: i64| {
        let earlier = tool_record::of_tool(&reader, bot(before), Timestamp(since), limit).await;
        let tool_record::Earlier { outcomes, cut } = earlier.unwrap();
        let stored = outcomes.into_iter().map(|call| call.stored_at.0);
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
    others(&mut writer, "tool-0", 41..=60);
    assert_eq!(found(i64::MAX, 1_030, 20).await.0.len(), 6);
    let found = found(i64::MAX, 0, 10).await;
    assert_eq!(found, (vec![1_040, 1_038, 1_036, 1_034, 1_032], true));
}
