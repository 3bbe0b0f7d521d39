#![allow(clippy::unwrap_used, clippy::panic)]

mod fake;

use std::fs;

use super::*;
use fake::{Console, Model, ON};

#[tokio::test(start_paused = true)]
async fn so_many_are_read_at_a_time_and_the_nearest_deadline_first() {
    let (console, model) = (Console::new(), Model::new(0));
    console.set(&format!("{ON}at_once = 2\n"));
    console.waits([5, 3, 9, 1]);
    let run = console.start(&model);
    console.until(|_| model.reading() == 2).await;
    sleep(10 * LOOK).await;
    assert_eq!(model.rows(), [1, 3]);
    for (answered, asked) in [(1, 3), (2, 4), (3, 4), (4, 4)] {
        model.may_answer(1);
        console
            .until(|console| console.of(Reading::Answered).len() == answered)
            .await;
        console.until(|_| model.rows().len() == asked).await;
        assert!(model.reading() <= 2);
    }
    assert_eq!(model.rows(), [1, 3, 5, 9]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_one_with_the_farthest_deadline_falls_out_of_a_full_line() {
    let (console, model) = (Console::new(), Model::new(0));
    console.set(&format!("{ON}at_once = 1\n"));
    console.waits(1..=103);
    let run = console.start(&model);
    console.until(|_| model.reading() == 1).await;
    console
        .until(|console| console.of(Reading::Skipped) == (101..=103).collect())
        .await;
    // Nearer ones take the places of the last.
    console.waits([0, -1]);
    console
        .until(|console| console.of(Reading::Skipped) == (100..=103).collect())
        .await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_that_wait_for_a_slow_reader_cost_a_few_writes() {
    let (console, model) = (Console::new(), Model::new(0));
    console.set(ON);
    console.waits(1..=10_000);
    let run = console.start(&model);
    console
        .until(|console| console.of(Reading::Skipped).len() == 9_900)
        .await;
    sleep(Duration::from_secs(19)).await;
    assert_eq!((model.rows(), model.reading()), (vec![1, 2], 2));
    assert!(console.with(|table| table.largest_note) <= AT_ONCE);
    // What waits is never looked at again.
    let workspaces = vec!["acme".parse().unwrap()];
    let config = Config {
        workspaces,
        ..Config::default()
    };
    let left = console.waiting(&config).await;
    assert_eq!(left.map(|left| left.len()), Some(98));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_rule_may_answer_is_not_asked_and_takes_nobody_s_place() {
    let (console, model) = (Console::new(), Model::new(0));
    console.set(&format!("{ON}at_once = 1\n"));
    console.waits([1]);
    let early = (1_000..1_200).map(|row| (row, (-row, false)));
    console.with(|table| table.waiting.extend(early));
    let run = console.start(&model);
    console.until(|_| model.reading() == 1).await;
    sleep(10 * LOOK).await;
    assert_eq!(model.rows(), [1]);
    assert!(console.of(Reading::Skipped).is_empty());
    // Answered meanwhile: out of the line.
    console.with(|table| table.waiting.remove(&1_000));
    console
        .until(|console| console.of(Reading::Skipped) == [1_000].into())
        .await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_workspace_that_is_taken_out_ends_what_is_read_and_nothing_is_asked_twice() {
    for (settings, ended) in [
        ("", vec!["reader_answered 1", "reader_off"]),
        (
            "[reader]\nworkspaces = []\n",
            vec!["reader_answered 1", "reader_off"],
        ),
        (
            "[reader]\nworkspace = 1\n",
            vec!["reader_answered 1", "reader_off"],
        ),
        (
            &ON.replace("acme", "lab"),
            vec!["reader_answered 1", "reader_on"],
        ),
    ] {
        let (console, model) = (Console::new(), Model::new(0));
        console.set(&format!("{ON}at_once = 1\n"));
        console.waits([1]);
        let run = console.start(&model);
        console.until(|_| model.reading() == 1).await;
        let begun = Instant::now();
        console.set(settings);
        console.until(|_| model.reading() == 0).await;
        assert!(begun.elapsed() <= Duration::from_secs(2), "{settings}");
        console
            .until(|console| console.of(Reading::Failed) == [1].into())
            .await;
        console
            .until(|console| console.with(|table| table.log.len() == 4))
            .await;
        let log = console.with(|table| table.log.clone());
        assert_eq!(log[..2], ["reader_on", "reader_asked 1"], "{settings}");
        assert_eq!(log[2..], ended, "{settings}");
        // What waits is asked once it is on again; what was asked is not.
        model.may_answer(9);
        console.waits([2]);
        console.set(ON);
        console
            .until(|console| console.of(Reading::Answered) == [2].into())
            .await;
        assert_eq!(model.rows(), [1, 2], "{settings}");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_leaves_once_the_consent_has_ended_or_the_call_is_decided() {
    let (console, model) = (Console::new(), Model::new(9));
    console.set(ON);
    // Decided, and the settings changed, as the call is written: nobody has noticed yet.
    console.with(|table| {
        table.as_asked = Some(|table, row, folder| match row {
            1 => drop(table.rows.insert(1, Reading::Skipped)),
            2 => fs::write(folder.join("config.toml"), "").unwrap(),
            _ => {}
        });
    });
    console.waits([1, 2, 3]);
    let run = console.start(&model);
    console
        .until(|console| console.of(Reading::Failed) == [2].into())
        .await;
    sleep(10 * LOOK).await;
    assert_eq!(model.rows(), [0_i64; 0]);
    assert_eq!(console.of(Reading::Skipped), [1].into());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_it_and_a_start_ends_what_a_crash_left() {
    let (console, model) = (Console::new(), Model::new(0));
    console.set(ON);
    console.waits([1]);
    let run = console.start(&model);
    console.until(|_| model.reading() == 1).await;
    run.stop().await;
    assert_eq!(
        (model.reading(), console.of(Reading::Failed)),
        (0, [1].into())
    );
    // As a crash leaves it.
    console.waits([2]);
    console.with(|table| table.rows.insert(2, Reading::Asked));
    let run = console.start(&model);
    console
        .until(|console| console.of(Reading::Failed) == [1, 2].into())
        .await;
    assert_eq!(
        console
            .with(|table| table.state.last_error.clone())
            .as_deref(),
        Some("stopped")
    );
    run.stop().await;
    assert_eq!(model.rows(), [1]);
}

#[tokio::test(start_paused = true)]
async fn five_failures_rest_it_while_calls_stay_in_line_and_one_is_tried_alone() {
    let (console, model) = (Console::new(), Model::new(5));
    console.set(&format!("{ON}at_once = 3\n"));
    model.says(Err(ReaderFault::Http));
    console.waits(1..=5);
    let run = console.start(&model);
    console
        .until(|console| console.of(Reading::Failed).len() == 5)
        .await;
    let rests = |console: &Console| console.with(|table| table.state.resting_until);
    let until = rests(&console).unwrap();
    console.waits(6..=9);
    sleep(Duration::from_secs(50)).await;
    assert_eq!(model.rows().len(), 5);
    console.until(|_| model.reading() == 1).await;
    assert!(console.now() >= until);
    sleep(5 * LOOK).await;
    assert_eq!(model.rows().len(), 6, "one is tried alone");
    model.says(Ok((fake::NOTHING.to_owned(), None)));
    model.may_answer(9);
    console
        .until(|console| console.of(Reading::Answered) == (6..=9).collect())
        .await;
    console.until(|console| rests(console).is_none()).await;
    let error = console.with(|table| table.state.last_error.clone());
    assert_eq!(error, None);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn past_the_calls_of_an_hour_they_are_skipped_at_once() {
    let (console, model) = (Console::new(), Model::new(99));
    console.set(&format!("{ON}per_hour = 2\n"));
    console.waits(1..=5);
    let run = console.start(&model);
    console
        .until(|console| console.of(Reading::Skipped) == [3, 4, 5].into())
        .await;
    run.stop().await;
    // Neither a start nor other settings begin a new hour.
    console.set(&format!("{ON}per_hour = 2\nearlier = 1\n"));
    let run = console.start(&model);
    console.waits([6]);
    console
        .until(|console| console.of(Reading::Skipped).contains(&6))
        .await;
    sleep(Duration::from_secs(3_600)).await;
    console.waits([7]);
    console
        .until(|console| console.of(Reading::Answered) == [1, 2, 7].into())
        .await;
    run.stop().await;
}
