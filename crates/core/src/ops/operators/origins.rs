//! The signer who entered a term of the list, and when its console was last heard.

use std::collections::BTreeMap;

use countersign_wire::{
    OperatorEntry, OperatorList, PolicyKey, PublicKey, Timestamp as Stamp, read_json,
};

use super::edit::Listed;
use crate::Fault;
use crate::domain::Timestamp;
use crate::runtime::App;
use crate::store::policy_history;

/// Lists that are read at once.
const PAGE: i64 = 20;
/// What is read of them at most: a list of a thousand keys is large.
const BYTES_MAX: usize = 8 << 20;

/// A line of the list with what is known of it beside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The line.
    pub line: Listed,
    /// Who signed the list that entered it; none where this console came later, or nobody entered it yet.
    pub by: Option<PublicKey>,
    /// When its console was last heard; none where it never was.
    pub last_seen: Option<Timestamp>,
}

impl App {
    /// The list of operators, each line with who entered it and when its console was last heard.
    pub async fn operator_origins(&self) -> Result<Vec<Origin>, Fault> {
        let signers = self.term_signers().await?;
        let (listed, _) = self.operators();
        let consoles = self.inner.shared.consoles.read();
        let with_origin = |line: Listed| Origin {
            by: signers.get(&(line.key.clone(), line.from)).cloned(),
            last_seen: consoles.last_heard(line.console.as_deref(), &line.key),
            line,
        };
        Ok(listed.into_iter().map(with_origin).collect())
    }

    /// Who signed the first list that has a term, by its key and beginning.
    async fn term_signers(&self) -> Result<BTreeMap<(PublicKey, Timestamp), PublicKey>, Fault> {
        let key = PolicyKey::Operators.to_string();
        let (mut before_row, mut bytes) = (i64::MAX, 0_usize);
        let mut lists = Vec::new();
        while bytes <= BYTES_MAX {
            let page = policy_history::of_key(self.reader(), &key, before_row, PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            before_row = *last;
            bytes += page.iter().map(|(_, row)| row.payload.len()).sum::<usize>();
            lists.extend(page.into_iter().filter_map(|(_, row)| {
                let list: OperatorList = read_json(&row.payload).ok()?;
                Some((list.operators, row.signer.parse().ok()?))
            }));
        }
        lists.reverse();
        Ok(first_signers(&lists))
    }
}

type Term = (PublicKey, Timestamp);

/// `lists` in the order in which they were accepted, each with its signer. What the first of them has was entered
/// before, but for the keys that its signer entered of their own console.
fn first_signers(lists: &[(Vec<OperatorEntry>, PublicKey)]) -> BTreeMap<Term, PublicKey> {
    let from = |at: Stamp| Timestamp::from(at.get());
    let mut signers: BTreeMap<Term, Option<&PublicKey>> = BTreeMap::new();
    for (place, (terms, signer)) in lists.iter().enumerate() {
        let of_signer = terms.iter().find(|term| term.key == *signer);
        let console = of_signer.and_then(|term| term.console.as_ref());
        for term in terms {
            let own =
                term.key == *signer || (console.is_some() && term.console.as_ref() == console);
            let known = (place > 0 || own).then_some(signer);
            let name = (term.key.clone(), from(term.from));
            signers.entry(name).or_insert(known);
        }
    }
    let known = signers
        .into_iter()
        .filter_map(|(term, signer)| Some((term, signer?.clone())));
    known.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use countersign_wire::KeyRole;
    use nkeys::KeyPair;

    use super::*;

    #[test]
    fn a_term_is_by_who_signed_the_first_list_that_has_it_where_that_was_seen() {
        let key = || PublicKey::of(&KeyPair::new_user()).unwrap();
        let [ada, auto, bea, lena] = [key(), key(), key(), key()];
        let term = |key: &PublicKey, console: &str, from: i64| OperatorEntry {
            console: Some(console.to_owned()),
            ..OperatorEntry::new(
                key.clone(),
                "n".into(),
                KeyRole::Human,
                Stamp::new(Timestamp(from).into()),
            )
        };
        let first = vec![term(&ada, "a", 1), term(&auto, "a", 1), term(&bea, "b", 1)];
        let mut second = first.clone();
        second.push(term(&lena, "l", 5));
        let mut third = second.clone();
        third.push(term(&bea, "b", 9));
        let lists = [
            (first, ada.clone()),
            (second.clone(), lena.clone()),
            (third, ada.clone()),
        ];
        let signers = first_signers(&lists);
        let by = |key: &PublicKey, from| signers.get(&(key.clone(), Timestamp(from)));
        assert_eq!(
            (by(&ada, 1), by(&auto, 1)),
            (Some(&ada), Some(&ada)),
            "the founder's own"
        );
        assert_eq!(by(&bea, 1), None, "there before");
        assert_eq!(by(&lena, 5), Some(&lena), "entered of one's own");
        assert_eq!(by(&bea, 9), Some(&ada), "a later term");
    }
}
