//! Everything that can happen, in any order.

use countersign_wire::{Stream, Verdict};
use proptest::collection::vec;
use proptest::prelude::*;

use super::console::Death;

/// One thing that happens. Requests and consoles are named by number.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Ask {
        request: usize,
        lifetime_ms: i64,
    },
    /// `at_once`: in the millisecond of what was stored before it.
    Withdraw {
        request: usize,
        at_once: bool,
    },
    Tighten {
        request: usize,
        to_ms: i64,
        at_once: bool,
    },
    Report {
        request: usize,
        stage: &'static str,
        invented: bool,
        other_digest: bool,
    },
    /// Somebody stores what no console signed.
    Forge {
        request: usize,
    },
    Deliver {
        console: usize,
        stream: Stream,
        count: usize,
        death: Death,
    },
    CatchUp {
        console: usize,
        first: Stream,
    },
    Decide {
        console: usize,
        request: usize,
        verdict: Verdict,
        hold: bool,
        death: Death,
    },
    Undo {
        console: usize,
        request: usize,
    },
    /// A decision goes out; `lost` is the acknowledgement.
    Publish {
        console: usize,
        which: usize,
        lost: bool,
    },
    /// A decision that nothing is stored of is not to go out; `arrives` afterwards all the same: it had left
    /// before, and the network held it back.
    TakeBack {
        console: usize,
        which: usize,
        arrives: bool,
        death: Death,
    },
    Tick {
        console: usize,
        death: Death,
    },
    Wait {
        ms: i64,
    },
    Die {
        console: usize,
    },
}

pub(super) const REQUESTS: usize = 4;

fn death() -> impl Strategy<Value = Death> {
    prop_oneof![
        12 => Just(Death::No),
        1 => Just(Death::Before),
        1 => Just(Death::After),
    ]
}

fn stream() -> impl Strategy<Value = Stream> {
    prop_oneof![
        Just(Stream::Requests),
        Just(Stream::Decisions),
        Just(Stream::Receipts),
    ]
}

fn first() -> impl Strategy<Value = Stream> {
    prop_oneof![Just(Stream::Requests), Just(Stream::Decisions)]
}

fn step() -> impl Strategy<Value = Step> {
    let request = || 0..REQUESTS;
    let console = || 0_usize..2;
    let verdict = prop_oneof![
        3 => Just(Verdict::Approve),
        1 => Just(Verdict::Deny),
        1 => Just(Verdict::Terminate),
        1 => Just(Verdict::Skip),
    ];
    let stage = prop_oneof![Just("received"), Just("executed"), Just("failed")];
    prop_oneof![
        4 => (request(), 1_000_i64..20_000)
            .prop_map(|(request, lifetime_ms)| Step::Ask { request, lifetime_ms }),
        1 => (request(), any::<bool>())
            .prop_map(|(request, at_once)| Step::Withdraw { request, at_once }),
        1 => (request(), -2_000_i64..20_000, any::<bool>())
            .prop_map(|(request, to_ms, at_once)| Step::Tighten { request, to_ms, at_once }),
        3 => (request(), stage, prop::bool::weighted(0.2), prop::bool::weighted(0.2))
            .prop_map(|(request, stage, invented, other_digest)| Step::Report {
                request, stage, invented, other_digest,
            }),
        1 => request().prop_map(|request| Step::Forge { request }),
        6 => (console(), stream(), 1_usize..4, death())
            .prop_map(|(console, stream, count, death)| Step::Deliver {
                console, stream, count, death,
            }),
        3 => (console(), first()).prop_map(|(console, first)| Step::CatchUp { console, first }),
        6 => (console(), request(), verdict, any::<bool>(), death())
            .prop_map(|(console, request, verdict, hold, death)| Step::Decide {
                console, request, verdict, hold, death,
            }),
        1 => (console(), request()).prop_map(|(console, request)| Step::Undo { console, request }),
        5 => (console(), any::<usize>(), prop::bool::weighted(0.2))
            .prop_map(|(console, which, lost)| Step::Publish { console, which, lost }),
        2 => (console(), any::<usize>(), prop::bool::weighted(0.3), death())
            .prop_map(|(console, which, arrives, death)| Step::TakeBack {
                console, which, arrives, death,
            }),
        3 => (console(), death()).prop_map(|(console, death)| Step::Tick { console, death }),
        4 => (1_i64..6_000).prop_map(|ms| Step::Wait { ms }),
        1 => console().prop_map(|console| Step::Die { console }),
    ]
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 10..70)
}
