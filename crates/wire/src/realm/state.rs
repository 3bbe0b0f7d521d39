//! The state of the log: the chain, who is in force, and since when.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use uuid::Uuid;

use super::{
    entry::{Entry, PolicyMark},
    record::{Limits, Record, Role, SigningKey},
    rights::{Does, Plan, Word, plan},
};
use crate::{PublicKey, Sha256Digest};

/// An entry of the chain, and where it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    /// Its number, from 1.
    pub n: u64,
    /// Its digest.
    pub digest: Sha256Digest,
    /// Its slot.
    pub slot: u64,
    /// The sequence of its message.
    pub sequence: u64,
    /// Who signed it.
    pub by: PublicKey,
    /// What became of it.
    pub word: Word,
    /// What it changed.
    pub does: Vec<Does>,
}

/// An entry that began or ended a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Its number.
    pub n: u64,
    /// The sequence of its message.
    pub sequence: u64,
    /// What its signer's console had read of `CS_POLICY`.
    pub policy: Option<PolicyMark>,
}

/// A stretch in which the limits of a key's operator and the key's own fields stay the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The operator's id.
    pub operator: String,
    /// The operator's limits.
    pub limits: Option<Limits>,
    /// The key.
    pub key: SigningKey,
    /// The entry that began it.
    pub began: Mark,
    /// The entry that ended it.
    pub ended: Option<Mark>,
}

impl Term {
    /// Of a device whose operator has no limits, from the first sequence on.
    pub(super) fn of_device(key: SigningKey) -> Self {
        let began = Mark {
            n: 1,
            sequence: 0,
            policy: None,
        };
        Self {
            operator: String::new(),
            limits: None,
            key,
            began,
            ended: None,
        }
    }

    /// Whether it counts for what is stored at this sequence; `None` is the head.
    pub fn is_at(&self, sequence: Option<u64>) -> bool {
        let Some(sequence) = sequence else {
            return self.ended.is_none();
        };
        let open = self
            .ended
            .as_ref()
            .is_none_or(|ended| sequence <= ended.sequence);
        self.began.sequence < sequence && open
    }

    /// Whether it counts for a value of `CS_POLICY` at this epoch and revision.
    fn is_at_revision(&self, epoch: &str, revision: u64) -> bool {
        let same = |mark: &PolicyMark| mark.epoch == epoch;
        let begun = |mark: &PolicyMark| !same(mark) || mark.seq < revision;
        let open = |mark: &PolicyMark| same(mark) && mark.seq >= revision;
        let ended = self.ended.as_ref().map(|ended| ended.policy.as_ref());
        self.began.policy.as_ref().is_none_or(begun)
            && ended.is_none_or(|mark| mark.is_some_and(open))
    }
}

/// Who may sign, by the log of one realm.
#[derive(Debug, Clone)]
pub struct Realm {
    /// Every entry of the chain, in its order.
    pub chain: Vec<Linked>,
    /// Whether newcomers wait for a person.
    pub acceptance: bool,
    /// The key on paper.
    pub recovery: Option<PublicKey>,
    /// Who is in force, by id.
    pub operators: BTreeMap<String, Arc<Record>>,
    /// The slot that is read next.
    pub next_slot: u64,
    /// Newcomers that were refused, and the numbers of the entries.
    pub turned_away: BTreeMap<String, u64>,
    /// The last name of every operator, by id.
    names: HashMap<String, String>,
    /// Every key that an entry with effect has named, and whose it is. Nobody's is a recovery key.
    pub(super) owners: HashMap<String, Option<String>>,
    terms: HashMap<String, Vec<Term>>,
    /// Slots that were taken while a lower one was free.
    early: BTreeSet<u64>,
    /// The highest sequence that was read.
    sequence: u64,
    realm: Uuid,
    root: Sha256Digest,
}

impl Realm {
    /// An empty log; `root` is the digest of its entry 1.
    pub fn new(realm: Uuid, root: Sha256Digest) -> Self {
        Self {
            chain: Vec::new(),
            acceptance: false,
            recovery: None,
            operators: BTreeMap::new(),
            next_slot: 1,
            turned_away: BTreeMap::new(),
            names: HashMap::new(),
            owners: HashMap::new(),
            terms: HashMap::new(),
            early: BTreeSet::new(),
            sequence: 0,
            realm,
            root,
        }
    }

    /// A state in which these keys count everywhere, each for an operator of its own: for an agent that was told to
    /// believe anybody (`insecure`).
    pub fn of_anybody(realm: Uuid, keys: impl IntoIterator<Item = SigningKey>) -> Self {
        let mut state = Self::new(realm, Sha256Digest::of_bytes(b""));
        for key in keys {
            let operator = key.key.clone();
            let term = Term {
                operator: operator.clone(),
                ..Term::of_device(key)
            };
            state.terms.entry(operator).or_default().push(term);
        }
        state
    }

    /// Takes the next message of a slot: in the order of the stream, or in the order of the slots. Both come to the
    /// same state.
    pub fn apply(&mut self, slot: u64, sequence: u64, message: &[u8]) -> Word {
        let early = slot != self.next_slot || sequence <= self.sequence;
        self.sequence = self.sequence.max(sequence);
        if slot == self.next_slot {
            self.next_slot += 1;
            while self.early.remove(&self.next_slot) {
                self.next_slot += 1;
            }
        } else if slot > self.next_slot {
            self.early.insert(slot);
        }
        if early {
            return Word::Gap;
        }
        let Some(entry) = Entry::read(message) else {
            return Word::Unreadable;
        };
        if !entry.is_signed(&self.realm) {
            return Word::BadSignature;
        }
        self.link(entry, slot, sequence)
    }

    /// What would become of a signed entry at the head; nothing changes.
    pub fn judge(&self, entry: &Entry) -> Word {
        self.plan(entry).map_or_else(|word| word, |_| Word::Ok)
    }

    fn plan(&self, entry: &Entry) -> Result<Plan, Word> {
        let head = self.chain.last();
        let next = (
            head.map_or(1, |head| head.n + 1),
            head.map(|head| head.digest),
        );
        if (entry.n, entry.prev) != next || (head.is_none() && entry.digest != self.root) {
            return Err(Word::NotNext);
        }
        let term = self
            .term(entry.by.as_str(), None)
            .filter(|term| term.key.role == Role::Human);
        let own = term.map(|term| term.operator.as_str());
        if head.is_some() && own.is_none() && self.recovery.as_ref() != Some(&entry.by) {
            return Err(Word::UnknownKey);
        }
        plan(self, entry, own)
    }

    fn link(&mut self, entry: Entry, slot: u64, sequence: u64) -> Word {
        let planned = self.plan(&entry);
        let word = planned.as_ref().map_or_else(|word| *word, |_| Word::Ok);
        // Entry 1 has to take effect. Who signs for another place is part of the chain, also where it does nothing.
        if word < Word::BadRecord || (self.chain.is_empty() && word != Word::Ok) {
            return word;
        }
        let does = planned
            .as_ref()
            .map_or_else(|_| Vec::new(), |plan| plan.does.clone());
        self.chain.push(Linked {
            n: entry.n,
            digest: entry.digest,
            slot,
            sequence,
            by: entry.by,
            word,
            does,
        });
        if let Ok(plan) = planned {
            let mark = Mark {
                n: entry.n,
                sequence,
                policy: entry.policy,
            };
            self.take(plan, &mark);
        }
        word
    }

    fn take(&mut self, plan: Plan, mark: &Mark) {
        for (id, after) in plan.operators {
            let before = self.operators.remove(&id);
            let limits = after.as_ref().and_then(|record| record.limits.clone());
            let key = |key: &str| after.as_ref().and_then(|record| record.key(key));
            let mut kept = BTreeSet::new();
            for old in before.iter().flat_map(|record| &record.keys) {
                let term = self
                    .terms
                    .get_mut(&old.key)
                    .and_then(|terms| terms.last_mut());
                let Some(term) = term else { continue };
                if key(&old.key) == Some(&term.key) && term.limits == limits {
                    kept.insert(old.key.as_str());
                } else {
                    term.ended = Some(mark.clone());
                }
            }
            for key in after.iter().flat_map(|record| &record.keys) {
                if !kept.contains(key.key.as_str()) {
                    self.terms.entry(key.key.clone()).or_default().push(Term {
                        operator: id.clone(),
                        limits: limits.clone(),
                        key: key.clone(),
                        began: mark.clone(),
                        ended: None,
                    });
                }
            }
            if after.is_none() && before.is_none() {
                self.turned_away.insert(id.clone(), mark.n);
            }
            if let Some(after) = after {
                self.names.insert(id.clone(), after.name.clone());
                self.operators.insert(id, after);
            }
        }
        self.owners.extend(plan.owners);
        self.acceptance = plan.acceptance;
        self.recovery = plan.recovery;
    }

    /// The realm.
    pub fn realm(&self) -> &Uuid {
        &self.realm
    }

    /// The digest of its entry 1.
    pub fn root(&self) -> &Sha256Digest {
        &self.root
    }

    /// The highest sequence that was read.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Whether an entry with effect has named this key, or this id. No key is named twice.
    pub fn was_named(&self, key: &str) -> bool {
        self.owners.contains_key(key)
    }

    /// The operator whose key it is, or was.
    pub fn owner(&self, key: &str) -> Option<&str> {
        self.owners.get(key)?.as_deref()
    }

    /// The last name of the operator whose key it is, or was.
    pub fn name(&self, key: &str) -> Option<&str> {
        self.names.get(self.owner(key)?).map(String::as_str)
    }

    /// The terms of a key, in their order.
    pub fn terms_of(&self, key: &str) -> &[Term] {
        self.terms.get(key).map_or(&[], Vec::as_slice)
    }

    /// The terms of every key of a known role.
    pub fn all_terms(&self) -> impl Iterator<Item = &Term> {
        let terms = self.terms.values().flatten();
        terms.filter(|term| term.key.role != Role::Other)
    }

    /// Whether this is entry `n` of the chain.
    pub fn holds(&self, n: u64, digest: &Sha256Digest) -> bool {
        let at = usize::try_from(n).ok().and_then(|n| n.checked_sub(1));
        at.and_then(|at| self.chain.get(at))
            .is_some_and(|entry| entry.digest == *digest)
    }

    /// The term of a key of a known role that counts for what is stored at this sequence, or at the head.
    pub fn term(&self, key: &str, sequence: Option<u64>) -> Option<&Term> {
        self.known_terms(key).find(|term| term.is_at(sequence))
    }

    /// The term by which a value of `CS_POLICY` counts that this key signed: the last that fits its revision.
    pub fn register_term(&self, key: &str, epoch: &str, revision: u64) -> Option<&Term> {
        self.known_terms(key)
            .rev()
            .find(|term| term.is_at_revision(epoch, revision))
    }

    /// Whether both have the same terms.
    pub(super) fn has_terms_of(&self, other: &Self) -> bool {
        self.terms == other.terms
    }

    fn known_terms(&self, key: &str) -> impl DoubleEndedIterator<Item = &Term> {
        let terms = self.terms.get(key).map_or(&[][..], Vec::as_slice);
        terms.iter().filter(|term| term.key.role != Role::Other)
    }

    /// Keys and ids that were named and count no longer. A recovery key is none of them.
    pub fn ended(&self) -> BTreeSet<&str> {
        let counts = |key: &str| {
            self.terms
                .get(key)
                .is_some_and(|terms| terms.iter().any(|term| term.is_at(None)))
        };
        let named = self
            .owners
            .iter()
            .filter(|(key, owner)| owner.is_some() && !counts(key));
        named.map(|(key, _)| key.as_str()).collect()
    }
}
