//! How far two texts are from each other, in letters.

use unicode_security::skeleton;

/// A name has fewer letters.
const LONGEST: usize = 255;

/// Letters that were changed, added, left out or swapped; none where it is more than `most`.
pub(crate) fn distance(one: &str, other: &str, most: usize) -> Option<usize> {
    if one.is_ascii() && other.is_ascii() {
        // A change brings one letter at most that was not there, and takes one away.
        let (of_one, of_other) = (letters(one), letters(other));
        let strange = |here: u128, there: u128| (here & !there).count_ones() as usize;
        if strange(of_one, of_other).max(strange(of_other, of_one)) > most {
            return None;
        }
        return between(one.as_bytes(), other.as_bytes(), most);
    }
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    between(&one, &other, most)
}

/// Which letters a text of ASCII has, a bit each.
pub(crate) fn letters(text: &str) -> u128 {
    text.bytes()
        .fold(0, |found, letter| found | 1 << (letter & 127))
}

/// Only what lies within `most` of the diagonal is counted: a new name is compared with every known one.
fn between<L: PartialEq>(one: &[L], other: &[L], most: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > most || one.len().max(other.len()) > LONGEST {
        return None;
    }
    let start = alike(one.iter(), other.iter());
    let (one, other) = (&one[start..], &other[start..]);
    let end = alike(one.iter().rev(), other.iter().rev());
    let (one, other) = (&one[..one.len() - end], &other[..other.len() - end]);
    let far = u8::try_from(most).map_or(u8::MAX, |most| most.saturating_add(1));
    let near = |letters: usize| u8::try_from(letters).unwrap_or(far).min(far);
    let mut rows = [[0_u8; LONGEST + 2]; 3];
    for (column, cell) in rows[0].iter_mut().enumerate() {
        *cell = near(column);
    }
    for row in 1..=one.len() {
        let first = row.saturating_sub(most).max(1);
        let last = (row + most).min(other.len());
        let (next, above, before) = (row % 3, (row + 2) % 3, (row + 1) % 3);
        rows[next][first - 1] = if first == 1 { near(row) } else { far };
        let mut least = rows[next][first - 1];
        for column in first..=last {
            let change = rows[above][column - 1] + u8::from(one[row - 1] != other[column - 1]);
            let shift = rows[above][column].min(rows[next][column - 1]) + 1;
            let swapped = row > 1
                && column > 1
                && one[row - 2] == other[column - 1]
                && one[row - 1] == other[column - 2];
            let swap = if swapped {
                rows[before][column - 2] + 1
            } else {
                far
            };
            rows[next][column] = change.min(shift).min(swap).min(far);
            least = least.min(rows[next][column]);
        }
        rows[next][last + 1] = far;
        if least == far {
            return None;
        }
    }
    Some(rows[one.len() % 3][other.len()].into()).filter(|letters| *letters <= most)
}

/// How many letters are the same from the beginning.
fn alike<L: PartialEq>(one: impl Iterator<Item = L>, other: impl Iterator<Item = L>) -> usize {
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
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

    /// Every cell of the whole table.
    fn whole(one: &[u8], other: &[u8]) -> usize {
        let mut cells = vec![vec![0; other.len() + 1]; one.len() + 1];
        for row in 0..=one.len() {
            for column in 0..=other.len() {
                if row == 0 || column == 0 {
                    cells[row][column] = row + column;
                    continue;
                }
                let changed = usize::from(one[row - 1] != other[column - 1]);
                let mut least = (cells[row - 1][column - 1] + changed)
                    .min(cells[row - 1][column] + 1)
                    .min(cells[row][column - 1] + 1);
                if row > 1
                    && column > 1
                    && one[row - 2] == other[column - 1]
                    && one[row - 1] == other[column - 2]
                {
                    least = least.min(cells[row - 2][column - 2] + 1);
                }
                cells[row][column] = least;
            }
        }
        cells[one.len()][other.len()]
    }

    #[test]
    fn what_is_counted_near_the_diagonal_is_what_the_whole_table_says() {
        let texts: Vec<Vec<u8>> = (0..=5_u32)
            .flat_map(|length| (0..3_u32.pow(length)).map(move |number| (length, number)))
            .map(|(length, number)| {
                let letter = |at: u32| b"abc"[(number / 3_u32.pow(at) % 3) as usize];
                (0..length).map(letter).collect()
            })
            .collect();
        for one in &texts {
            for other in &texts {
                let far = whole(one, other);
                for most in 0..=2 {
                    let counted = between(one, other, most);
                    assert_eq!(
                        counted,
                        Some(far).filter(|far| *far <= most),
                        "{one:?} {other:?}"
                    );
                }
            }
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
