//! Which of several live consoles gives an answer that needs no person (protocol, section 8, "Who
//! runs a rule").
//!
//! Nobody waits for a silent console: a rank is a turn in time, never a right.

use countersign_wire::{ConsoleId, RequestKey, Sha256Digest};

/// A console of rank n looks again after n times as long.
pub const TURN_MS: i64 = 400;

/// Further back nobody waits longer: who answers second is harmless, what nobody answers is not.
const LAST: u32 = 10;

/// The rank of `me` among the live consoles, 0 for the one that answers at once.
///
/// Consoles are in the order of SHA-256(console id + request key), lowest first; the request key is written
/// `workspace/agent/request id`. `me` counts as live whether or not it is among `live`.
#[must_use]
pub fn rank<'a>(
    me: &ConsoleId,
    live: impl IntoIterator<Item = &'a ConsoleId>,
    request: &RequestKey,
) -> u32 {
    let request = request.to_string();
    let place = |console: &ConsoleId| {
        let text = format!("{console}{request}");
        (Sha256Digest::of_bytes(text.as_bytes()), console.clone())
    };
    let mine = place(me);
    let before = live.into_iter().filter(|other| *other != me);
    let before = before.filter(|other| place(other) < mine).count();
    u32::try_from(before).unwrap_or(u32::MAX)
}

/// How long a console of this rank leaves the answer to those before it, ms.
#[must_use]
pub fn turn_ms(rank: u32) -> i64 {
    i64::from(rank.min(LAST)) * TURN_MS
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn consoles(count: usize) -> impl Strategy<Value = Vec<ConsoleId>> {
        let id = "[a-f0-9]{8}-[a-f0-9]{4}".prop_map(|id| id.parse::<ConsoleId>().unwrap());
        prop::collection::btree_set(id, 1..=count).prop_map(|set| set.into_iter().collect())
    }

    fn request() -> impl Strategy<Value = RequestKey> {
        "[a-z]{1,8}/[a-z]{1,8}/[a-zA-Z0-9]{1,16}".prop_map(|key| key.parse().unwrap())
    }

    proptest! {
        #[test]
        fn all_consoles_agree_on_one_order_whatever_order_they_heard_of_each_other_in(
            live in consoles(8), request in request(), turned in 0_usize..8,
        ) {
            let mut other_order = live.clone();
            other_order.rotate_left(turned % live.len());
            other_order.reverse();
            let mut ranks: Vec<u32> = live.iter().map(|me| rank(me, &live, &request)).collect();
            let again: Vec<u32> = live.iter().map(|me| rank(me, &other_order, &request)).collect();
            prop_assert_eq!(&ranks, &again);
            ranks.sort_unstable();
            let every: Vec<u32> = (0..u32::try_from(live.len()).unwrap()).collect();
            prop_assert_eq!(ranks, every, "each rank is held once, rank 0 too");
        }

        #[test]
        fn a_console_that_is_not_heard_by_itself_counts_all_the_same(
            live in consoles(5), request in request(),
        ) {
            let me = &live[0];
            let others: Vec<ConsoleId> = live[1..].to_vec();
            prop_assert_eq!(rank(me, &others, &request), rank(me, &live, &request));
        }

        #[test]
        fn a_console_that_goes_moves_nobody_back(live in consoles(6), request in request()) {
            let fewer = &live[..live.len() - 1];
            for me in fewer {
                prop_assert!(rank(me, fewer, &request) <= rank(me, &live, &request));
            }
        }
    }

    #[test]
    fn ranks_are_spread_evenly() {
        let live: Vec<ConsoleId> = ["desk-1", "desk-2", "desk-3"]
            .map(|id| id.parse().unwrap())
            .into();
        let mut first = [0_u32; 3];
        for number in 0..3_000 {
            let request: RequestKey = format!("acme/bot/r{number}").parse().unwrap();
            let winner = live.iter().position(|me| rank(me, &live, &request) == 0);
            first[winner.unwrap()] += 1;
        }
        // Five standard deviations of a fair draw of 3,000 among three are 129.
        assert!(
            first.iter().all(|count| count.abs_diff(1_000) < 130),
            "{first:?}"
        );
    }

    #[test]
    fn the_order_is_that_of_the_digests() {
        let [a, b]: [ConsoleId; 2] = ["a", "b"].map(|id| id.parse().unwrap());
        let request: RequestKey = "acme/bot/r1".parse().unwrap();
        let digest = |id: &str| Sha256Digest::of_bytes(format!("{id}acme/bot/r1").as_bytes());
        let a_first = digest("a") < digest("b");
        assert_eq!(rank(&a, [&b], &request) == 0, a_first);
        assert_eq!(rank(&b, [&a], &request) == 0, !a_first);
        assert_eq!(
            [0, 1, 3, 10, 300].map(turn_ms),
            [0, 400, 1_200, 4_000, 4_000]
        );
    }
}
