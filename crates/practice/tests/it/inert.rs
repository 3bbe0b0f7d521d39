//! A practice card has no wire form, by type: what is asserted here is decided by the compiler.

use countersign_practice::{ApprovedCall, Change, PracticeCard};
use countersign_wire::{ApprovalDecision, ApprovalRequest};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Compiles while the type does not have the trait: otherwise two implementations fit `_`.
macro_rules! lacks {
    ($type:ty: $($bound:tt)+) => {{
        trait Ambiguous<A> {
            fn holds() {}
        }
        impl<T: ?Sized> Ambiguous<()> for T {}
        impl<T: ?Sized + $($bound)+> Ambiguous<u8> for T {}
        <$type as Ambiguous<_>>::holds();
    }};
}

#[test]
fn a_card_is_not_serialised_read_copied_or_turned_into_what_travels() {
    lacks!(PracticeCard: Serialize);
    lacks!(PracticeCard: DeserializeOwned);
    lacks!(PracticeCard: Clone);
    lacks!(PracticeCard: Into<ApprovalRequest>);
    lacks!(PracticeCard: Into<ApprovalDecision>);
    lacks!(PracticeCard: Into<serde_json::Value>);
    lacks!(PracticeCard: Into<Vec<u8>>);
    lacks!(PracticeCard: AsRef<[u8]>);
    lacks!(PracticeCard: ToString);
    lacks!(ApprovedCall: Serialize);
    lacks!(Change: Serialize);
    // Nothing else can be put into a card either.
    lacks!(ApprovedCall: Into<PracticeCard>);
    lacks!(ApprovalRequest: Into<PracticeCard>);
    lacks!(PracticeCard: Default);
}

#[test]
fn the_crate_does_not_know_the_protocol() {
    let manifest = include_str!("../../Cargo.toml");
    let (ships, _) = manifest.split_once("[dev-dependencies]").unwrap();
    for crate_ in ["wire", "store", "bus", "core", "serde."] {
        assert!(!ships.contains(crate_), "{crate_}");
    }
}
