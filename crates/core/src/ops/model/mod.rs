//! A model test: two consoles live through whatever the streams permit and die between any two steps,
//! and what they know in the end is compared with what the stored messages alone say.
//!
//! The store, the writer's operations and the life cycle are the real ones; the bus is a list with the
//! write-once rule, the clock is turned by the script.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bus;
mod console;
mod expected;
mod script;
mod world;

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};

use world::World;

fn config() -> Config {
    Config {
        cases: 48,
        max_shrink_iters: 200,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/proptest-regressions/model.txt"
        )))),
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_console_ends_with_what_the_streams_say(steps in script::steps()) {
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
}
