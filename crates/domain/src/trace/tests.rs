#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn bar(span: &str, parent: Option<&str>, start: i64, end: Option<i64>) -> Bar {
    Bar {
        agent: "acme/bot".into(),
        span_id: Some(span.into()),
        parent: parent.map(Into::into),
        start,
        end,
    }
}

/// Depth and name of each place.
fn drawn(bars: &[Bar]) -> Vec<String> {
    let draw = |place: &TreeRow| {
        let repairs: Vec<&str> = place.repairs.iter().map(|repair| repair.as_str()).collect();
        let name = bars[place.bar].span_id.clone().unwrap_or_default();
        let text = format!("{}{name} {}", "  ".repeat(place.depth), repairs.join(","));
        text.trim_end().to_owned()
    };
    call_tree(bars).iter().map(draw).collect()
}

#[test]
fn children_follow_their_parent_by_start_whatever_order_they_came_in() {
    let bars = [
        bar("late", Some("root"), 30, Some(40)),
        bar("deep", Some("early"), 12, Some(14)),
        bar("early", Some("root"), 10, Some(20)),
        bar("root", None, 0, Some(50)),
    ];
    assert_eq!(drawn(&bars), ["root", "  early", "    deep", "  late"]);
}

#[test]
fn what_agents_made_wrong_is_repaired_and_named() {
    let stranger = Bar {
        agent: "acme/other".into(),
        ..bar("into", Some("root"), 5, Some(6))
    };
    let table: [(&str, Vec<Bar>, Vec<&str>); 6] = [
        (
            "a parent that is not there",
            vec![bar("a", Some("gone"), 0, None)],
            vec!["a parent_missing"],
        ),
        (
            "its own parent",
            vec![bar("a", Some("a"), 0, None)],
            vec!["a loop"],
        ),
        (
            "a loop, cut at its earliest, with a tail into it",
            vec![
                bar("tail", Some("b"), 1, None),
                bar("b", Some("c"), 9, None),
                bar("c", Some("b"), 3, None),
            ],
            vec!["c loop", "  b", "    tail"],
        ),
        (
            "time that runs backwards",
            vec![bar("a", None, 10, Some(5))],
            vec!["a ends_before_start"],
        ),
        (
            "another agent in the trace",
            vec![bar("root", None, 0, None), stranger],
            vec!["root", "  into parent_of_another_agent"],
        ),
        (
            "an empty parent",
            vec![bar("a", Some(""), 0, None)],
            vec!["a"],
        ),
    ];
    for (what, bars, expected) in table {
        assert_eq!(drawn(&bars), expected, "{what}");
    }
}

#[test]
fn the_same_span_id_of_two_agents_is_two_spans_with_their_own_children() {
    let mut bars = vec![
        bar("x", None, 0, None),
        bar("child", Some("x"), 1, None),
        bar("x", None, 0, None),
        bar("child", Some("x"), 1, None),
    ];
    for bar in &mut bars[2..] {
        bar.agent = "acme/other".into();
    }
    let places = call_tree(&bars);
    for place in &places {
        if let Some(parent) = place.parent {
            assert_eq!(
                bars[places[parent].bar].agent, bars[place.bar].agent,
                "{place:?}"
            );
        }
        assert!(place.repairs.is_empty());
    }
}

#[test]
fn a_chain_of_a_hundred_thousand_is_shown_at_a_bounded_depth() {
    let names: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
    let bars: Vec<Bar> = (0..names.len())
        .map(|i| {
            let parent = i.checked_sub(1).map(|parent| names[parent].as_str());
            bar(&names[i], parent, 0, None)
        })
        .collect();
    let places = call_tree(&bars);
    assert_eq!(places.len(), bars.len());
    assert_eq!(places.last().unwrap().depth, DEEPEST);
    assert_eq!(places.last().unwrap().repairs, [Repair::TooDeep]);
    for place in &places {
        if let Some(parent) = place.parent {
            assert_eq!(places[parent].depth + 1, place.depth);
        }
    }
}

#[test]
fn time_that_overlaps_is_counted_once() {
    let table = [
        (vec![], 0),
        (vec![(0, 10), (5, 15)], 15),
        (vec![(20, 30), (0, 10)], 20),
        (vec![(0, 100), (10, 20)], 100),
        (vec![(10, 5)], 0),
        (vec![(i64::MIN, i64::MAX)], i64::MAX),
    ];
    for (intervals, expected) in table {
        assert_eq!(covered_ms(intervals.clone()), expected, "{intervals:?}");
    }
}

proptest! {
    #[test]
    fn every_span_has_exactly_one_place_after_its_parent(
        spans in prop::collection::vec((0_u8..12, prop::option::of(0_u8..14), 0_i64..6, 0_u8..2), 0..40),
    ) {
        let bars: Vec<Bar> = spans
            .iter()
            .map(|(span, parent, start, agent)| Bar {
                agent: format!("acme/{agent}"),
                span_id: Some(span.to_string()),
                parent: parent.map(|parent| parent.to_string()),
                start: *start,
                end: None,
            })
            .collect();
        let places = call_tree(&bars);
        let mut seen: Vec<usize> = places.iter().map(|place| place.bar).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..bars.len()).collect::<Vec<_>>());
        for (number, place) in places.iter().enumerate() {
            match place.parent {
                None => prop_assert_eq!(place.depth, 0),
                Some(parent) => {
                    prop_assert!(parent < number);
                    prop_assert_eq!(places[parent].depth + 1, place.depth);
                    let wanted = bars[place.bar].parent.as_deref();
                    prop_assert_eq!(bars[places[parent].bar].span_id.as_deref(), wanted);
                }
            }
        }
    }
}
