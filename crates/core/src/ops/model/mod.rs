//! A model test: two consoles live through whatever the streams permit and die between any two steps,
//! and what they know in the end is compared with what the stored messages alone say.
//!
//! The store, the writer's operations and the life cycle are the real ones; the bus is a list with the
//! write-once rule, the clock is turned by the script.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bus;
mod console;
mod expected;
mod realm;
mod rejected;
mod script;
mod standing;
mod unsent;
mod world;

use countersign_wire::{Stream, Verdict};
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};

use console::Death;
use script::Step;
use world::World;

/// So many lives fit into a minute of the tests; `PROPTEST_CASES` asks for more.
const CASES: u32 = 48;

fn config() -> Config {
    let asked = Config::default();
    let more = std::env::var_os("PROPTEST_CASES").map(|_| asked.cases);
    Config {
        cases: more.unwrap_or(CASES),
        max_shrink_iters: 200,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/proptest-regressions/model.txt"
        )))),
        ..asked
    }
}

/// Lives through the steps and judges what the consoles know in the end.
fn live(steps: Vec<Step>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut world = World::new().await;
        for step in steps {
            world.take(step).await;
        }
        world.settle().await;
        world.judge().await;
    });
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_console_ends_with_what_the_streams_say(steps in script::steps()) {
        live(steps);
    }
}

const ASK: Step = Step::Ask {
    request: 1,
    lifetime_ms: 1_000,
};
const READ: Step = Step::CatchUp {
    console: 0,
    first: Stream::Decisions,
};
const WITHDRAW: Step = Step::Withdraw {
    request: 1,
    at_once: false,
};
const WITHDRAW_AT_ONCE: Step = Step::Withdraw {
    request: 1,
    at_once: true,
};
const PASS: Step = Step::Wait { ms: 4_448 };
const TICK: Step = Step::Tick {
    console: 0,
    death: Death::No,
};
const APPROVE: Step = Step::Decide {
    console: 0,
    request: 1,
    verdict: Verdict::Approve,
    hold: false,
    death: Death::No,
};
const SEND: Step = Step::Publish {
    console: 0,
    which: 0,
    lost: false,
};
const TIGHTEN: Step = Step::Tighten {
    request: 1,
    to_ms: 100,
    at_once: false,
};

#[test]
fn the_first_that_was_stored_wins_for_a_console_that_was_away_too() {
    for steps in [
        // It sees the deadline before the withdrawal, and answers `expired`.
        vec![ASK, READ, WITHDRAW, PASS, TICK, SEND],
        // It approves before it sees the withdrawal.
        vec![ASK, READ, APPROVE, WITHDRAW, SEND],
        vec![ASK, READ, APPROVE, SEND, WITHDRAW, READ],
        // The same after the deadline.
        vec![ASK, READ, PASS, WITHDRAW, TICK, SEND],
        vec![ASK, READ, PASS, TICK, SEND, WITHDRAW, READ],
        // In one millisecond the withdrawal counts, whichever of the two is read first.
        vec![ASK, READ, APPROVE, SEND, WITHDRAW_AT_ONCE, READ],
        // A tighten that it did not see makes its approval late.
        vec![ASK, READ, APPROVE, TIGHTEN, Step::Wait { ms: 200 }, SEND],
        vec![ASK, READ, APPROVE, SEND, Step::Wait { ms: 200 }, TIGHTEN],
        vec![
            ASK,
            READ,
            APPROVE,
            TIGHTEN,
            WITHDRAW,
            Step::Wait { ms: 200 },
            SEND,
        ],
    ] {
        live(steps);
    }
}
