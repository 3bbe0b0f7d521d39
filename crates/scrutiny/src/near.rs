//! How far two texts are from each other, in letters.

use unicode_security::skeleton;

/// Letters that were changed, added, left out or swapped; none where it is more than `most`.
pub(crate) fn distance(one: &str, other: &str, most: usize) -> Option<usize> {
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().collect();
    if one.len().abs_diff(other.len()) > most || one.len() > 255 {
        return None;
    }
    let (mut before, mut last): (Vec<usize>, Vec<usize>) =
        (Vec::new(), (0..=other.len()).collect());
    for (row, letter) in one.iter().enumerate() {
        let mut next = Vec::with_capacity(other.len() + 1);
        next.push(row + 1);
        for (column, with) in other.iter().enumerate() {
            let change = last[column] + usize::from(letter != with);
            let mut least = change.min(last[column + 1] + 1).min(next[column] + 1);
            let swapped =
                row > 0 && column > 0 && one[row - 1] == *with && other[column - 1] == *letter;
            if swapped {
                least = least.min(before[column - 1] + 1);
            }
            next.push(least);
        }
        if next.iter().min().is_none_or(|least| *least > most) {
            return None;
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().filter(|letters| *letters <= most)
}

/// What an eye reads: look-alikes of other scripts and pairs of letters that look like one become it.
pub(crate) fn looks(text: &str) -> String {
    let plain: String = skeleton(&text.to_lowercase()).collect();
    let plain = plain.to_lowercase();
    plain
        .replace("rn", "m")
        .replace("vv", "w")
        .replace("cl", "d")
        .replace(['1', '|', 'i'], "l")
        .replace('0', "o")
        .replace('5', "s")
}

/// Whether only digits differ: numbered things are neighbours, not look-alikes.
pub(crate) fn differs_in_digits_only(one: &str, other: &str) -> bool {
    let without = |text: &str| -> String {
        text.chars()
            .filter(|letter| !letter.is_ascii_digit())
            .collect()
    };
    one != other && without(one) == without(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted_and_swaps_are_one() {
        for (one, other, far) in [
            ("nordwind-logistik", "nordwind-logistlk", Some(1)),
            ("nordwind", "nodrwind", Some(1)),
            ("nordwind", "nordwinds", Some(1)),
            ("nordwind", "sudwind", None),
            ("ab", "ab", Some(0)),
            ("", "abc", None),
        ] {
            assert_eq!(distance(one, other, 2), far, "{one} {other}");
        }
    }

    #[test]
    fn what_looks_the_same_reads_the_same() {
        for (one, other) in [
            ("pаypal", "paypal"),
            ("rnodern", "modern"),
            ("goog1e", "google"),
            ("micr0soft", "microsoft"),
        ] {
            assert_eq!(looks(one), looks(other));
        }
        assert_ne!(looks("north"), looks("south"));
        assert!(differs_in_digits_only("node1.x", "node22.x"));
        assert!(!differs_in_digits_only("node1.x", "nodel.x"));
    }
}
