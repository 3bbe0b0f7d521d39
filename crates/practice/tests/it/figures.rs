//! Figures against known values.

use countersign_practice::{ChangeKind, Figures, KindFigures, Outcome, TOO_FEW};

fn figures(caught: u32, changed: u32, false_alarms: u32, unchanged: u32) -> Figures {
    let mut figures = Figures::default();
    let kind = Some(ChangeKind::Production);
    let outcomes = [
        (kind, Outcome::Caught, caught),
        (kind, Outcome::Missed, changed - caught),
        (None, Outcome::FalseAlarm, false_alarms),
        (None, Outcome::Passed, unchanged - false_alarms),
    ];
    for (kind, outcome, times) in outcomes {
        (0..times).for_each(|_| figures.count(kind, outcome));
    }
    figures
}

/// Caught, changed, false alarms, unchanged; d′, low, high. Made with `statistics.NormalDist` of Python 3 (Wichura's
/// AS 241): z = inv_cdf((k + ½) / (n + 1)), variance r(1 − r) / ((n + 1) pdf(z)²), 1.96 standard errors.
const KNOWN: [(u32, u32, u32, u32, f64, f64, f64); 10] = [
    (15, 15, 0, 5, 3.245725995, 1.362100551, 5.129351438),
    (0, 15, 5, 5, -3.245725995, -5.129351438, -1.362100551),
    (12, 15, 1, 5, 1.450911511, 0.162552609, 2.739270414),
    (8, 16, 2, 4, 0.000000000, -1.249711905, 1.249711905),
    (10, 20, 0, 0, 0.000000000, -2.514257316, 2.514257316),
    (30, 40, 2, 12, 1.524847279, 0.638019931, 2.411674626),
    (300, 400, 5, 130, 2.400633801, 1.994921767, 2.806345835),
    (0, 0, 0, 20, 1.980752397, -0.736804440, 4.698309233),
    (20, 20, 0, 20, 3.961504793, 2.317749486, 5.605260101),
    (75, 90, 3, 30, 2.164095424, 1.507513075, 2.820677773),
];

#[test]
fn sensitivity_is_as_in_the_table() {
    for (caught, changed, alarms, unchanged, d_prime, low, high) in KNOWN {
        let found = figures(caught, changed, alarms, unchanged)
            .sensitivity()
            .unwrap();
        for (found, known) in [
            (found.d_prime, d_prime),
            (found.low, low),
            (found.high, high),
        ] {
            assert!(
                (found - known).abs() < 1e-7,
                "{found} is not {known}: {caught} of {changed}, {alarms} of {unchanged}"
            );
        }
    }
}

#[test]
fn too_few_cards_give_no_sensitivity() {
    assert_eq!(figures(14, 15, 0, TOO_FEW - 16).sensitivity(), None);
    assert!(figures(14, 15, 0, TOO_FEW - 15).sensitivity().is_some());
    assert_eq!(Figures::default().sensitivity(), None);
}

#[test]
fn cards_are_counted_once_and_by_kind() {
    let figures = figures(3, 5, 1, 4);
    assert_eq!(
        (
            figures.shown,
            figures.caught,
            figures.missed,
            figures.false_alarms
        ),
        (9, 3, 2, 1)
    );
    let of = KindFigures {
        shown: 5,
        caught: 3,
        missed: 2,
    };
    assert_eq!(
        figures.kinds.into_iter().collect::<Vec<_>>(),
        [(ChangeKind::Production, of)]
    );
}
