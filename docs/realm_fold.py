"""Folds the realm log (docs/protocol/v1.md, section 8), with nothing of Countersign. `verify-audit.py` uses it.

Pure: reads no clock and no bus.
"""

import re

from signed_json import MOMENT, SUBJECT, canonical, digest, holds, need, public_key, strict, unbase64

RISKS = ("safe", "low", "medium", "high", "critical")
BOUND = ("approve", "modify", "skip", "respond", "escalate")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def text(value, most, least=1):
    return isinstance(value, str) and least <= len(value.encode()) <= most


def whole(value, least):
    return type(value) is int and value >= least


def meaning(limits):
    """(workspaces, highest risk), each None where there is no limit."""
    limits = limits or {}
    if not limits.keys() <= {"workspaces", "max_risk"}:
        return frozenset(), "safe"
    names, risk = limits.get("workspaces"), limits.get("max_risk")
    return None if names is None else frozenset(names), risk if risk is None or risk in RISKS else "safe"


def allows(limits, workspace, risk):
    names, most = limits
    return (names is None or workspace in names) and (most is None or RISKS.index(risk) <= RISKS.index(most))


def check_limits(limits):
    need(limits is None or isinstance(limits, dict))
    names, risk = (limits or {}).get("workspaces"), (limits or {}).get("max_risk")
    need(names is None or (isinstance(names, list) and all(NAME.fullmatch(name) for name in names)))
    need(risk is None or isinstance(risk, str))


def check_key(key):
    name, role, limits = key["key"], key["role"], key.get("limits")
    need(isinstance(role, str) and text(key["proof"], 4096, 0) and text(key.get("device", "-"), 256))
    check_limits(limits)
    if role in ("human", "auto"):
        public_key(name)
        need(role == "auto" or meaning(limits) == (None, None))
    elif role == "device":
        need(re.fullmatch("W[A-Z2-7]{52}", name) and isinstance(limits["max_risk"], str))
    else:
        need(text(name, 256) and name[0] not in "UW")


def check_record(record):
    public_key(record["id"])
    need(isinstance(record["keys"], list) and len(record["keys"]) <= 16)
    if record["keys"]:
        for key in record["keys"]:
            check_key(key)
        check_limits(record.get("limits"))
        need(any(key["role"] == "human" for key in record["keys"]) and text(record["name"], 256))
        admin = record.get("admin", False)
        need(isinstance(admin, bool) and not (admin and meaning(record.get("limits")) != (None, None)))


def same(one, other, *without):
    """Whether two records, or two keys, are the same but for these fields."""
    one, other = ({name: value for name, value in fields.items() if name not in without} for fields in (one, other))
    return canonical(one) == canonical(other)


class Fold:
    """The state of a log. A key's terms are `[first, end, operator, limits, key]`, by numbers of entries: it counts
    behind entry `first`, up to and with what is stored before entry `end`."""

    def __init__(self, realm, root):
        self.realm, self.root = realm, root
        self.chain, self.words, self.messages = [], [], []
        self.operators, self.owners, self.terms = {}, {}, {}
        self.acceptance, self.recovery = False, None
        self.next_slot, self.sequence, self.early = 1, 0, set()

    def term(self, key, n=None):
        """Of a key that counts behind entry `n`, or at the head."""
        n = len(self.chain) if n is None else n
        found = (t for t in self.terms.get(key, ()) if t[0] <= n and (t[1] is None or n < t[1]))
        return next(
            (term for term in found if term[4]["role"] in ("human", "auto", "device")),
            None,
        )

    def apply(self, slot, sequence, message):
        """What becomes of a message of a slot."""
        early = sequence <= self.sequence or slot != self.next_slot
        self.sequence = max(self.sequence, sequence)
        self.early |= {slot} if slot >= self.next_slot else set()
        while self.next_slot in self.early:
            self.early.remove(self.next_slot)
            self.next_slot += 1
        return "gap" if early else self.link(message)

    def link(self, message):
        try:
            need(len(message) <= 32_768)
            envelope = strict(message)
            key, payload = envelope["key"], unbase64(envelope["payload"])
            public_key(key)
            need(len(unbase64(envelope["sig"])) == 64)
            body = strict(payload)
            prev, policy = body["prev"], body["policy"]
            need(whole(body["v"], 1) and body["v"] == 1 and whole(body["n"], 1) and text(body["at"], 64))
            need(prev is None or DIGEST.fullmatch(prev))
            need(policy is None or (text(policy["epoch"], 64) and whole(policy["seq"], 0)))
            public_key(body["by"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return "unreadable"
        if body["by"] != key or not holds(key, "realm", self.realm, SUBJECT, payload, envelope["sig"]):
            return "bad_signature"
        n, head = len(self.chain) + 1, self.chain[-1] if self.chain else None
        if (body["n"], prev) != (n, head) or (n == 1 and digest(payload) != self.root):
            return "not_next"
        term = self.term(key)
        own = term[2] if term and term[4]["role"] == "human" else None
        if n > 1 and own is None and key != self.recovery:
            return "unknown_key"
        draft = Draft(self, key, own)
        word = draft.judge(body)
        if word == "ok" or n > 1:
            self.chain.append(digest(payload))
            self.words.append(word)
            self.messages.append(message)
        if word == "ok":
            self.take(draft, n)
        return word

    def take(self, draft, n):
        for who in draft.touched:
            after = draft.operators.get(who, {"keys": []})
            keys, limits = (
                {key["key"]: key for key in after["keys"]},
                meaning(after.get("limits")),
            )
            for old in self.operators.get(who, {"keys": []})["keys"]:
                term = self.terms[old["key"]][-1]
                if old["key"] in keys and term[3] == limits and same(keys[old["key"]], term[4]):
                    del keys[old["key"]]
                else:
                    term[1] = n
            for name, key in keys.items():
                self.terms.setdefault(name, []).append([n, None, who, limits, key])
        self.operators, self.owners = draft.operators, draft.owners
        self.acceptance, self.recovery = draft.acceptance, draft.recovery


class Draft:
    """What an entry would make of the state."""

    def __init__(self, fold, by, own):
        self.fold, self.by, self.own = fold, by, own
        self.everything = own is None or fold.operators[own].get("admin", False)
        self.operators, self.owners, self.touched = (
            dict(fold.operators),
            dict(fold.owners),
            [],
        )
        self.acceptance, self.recovery = fold.acceptance, fold.recovery

    def judge(self, body):
        records, settings = body.get("operators", []), body.get("realm", {})
        try:
            need(isinstance(records, list) and len(records) <= 100 and isinstance(settings, dict))
            for record in records:
                check_record(record)
                desks = [key["key"] for key in record["keys"] if key["role"] == "human"]
                need(not record["keys"] or record["id"] in self.owners or record["id"] in desks)
            keys = [key["key"] for record in records for key in record["keys"]]
            need(len(set(keys)) == len(keys) and len({record["id"] for record in records}) == len(records))
            need(isinstance(settings.get("acceptance", False), bool))
            recovery = settings.get("recovery", {"key": self.recovery})
            if "recovery" in settings:
                public_key(recovery["key"])
                need(text(recovery["proof"], 4096, 0))
        except (ValueError, KeyError, TypeError, AttributeError):
            return "bad_record"
        changes = False
        for record in records:
            word = self.record(record)
            if word not in ("ok", "no_change"):
                return word
            changes |= word == "ok"
        acceptance = settings.get("acceptance", self.acceptance)
        if acceptance != self.acceptance:
            if not self.everything:
                return "not_permitted"
            self.acceptance, changes = acceptance, True
        if recovery["key"] != self.recovery:
            key = recovery["key"]
            if key in self.owners:
                return "key_taken"
            if not self.proves(key, recovery["proof"], f"{key}\nrecovery"):
                return "bad_proof"
            if not self.everything or self.recovery not in (None, self.by):
                return "not_permitted"
            self.owners[key], self.recovery, changes = "", key, True
        if not any(record.get("admin", False) for record in self.operators.values()):
            return "last_admin"
        return "ok" if changes else "no_change"

    def proves(self, key, proof, what):
        return holds(key, "key", self.fold.realm, SUBJECT, what.encode(), proof)

    def record(self, record):
        who, keys = record["id"], {key["key"]: key for key in record["keys"]}
        before, owner = self.fold.operators.get(who), self.owners.get(who)
        had = {key["key"]: key for key in before["keys"]} if before else {}
        coming = keys.keys() - had.keys()
        if owner not in (None, who) or coming & self.owners.keys() or (keys and not before and owner is not None):
            return "key_taken"
        changed = [name for name in keys if name in coming or not same(keys[name], had[name])]
        for name in changed:
            role = keys[name]["role"]
            if role in ("human", "auto") and not self.proves(name, keys[name]["proof"], f"{who}\n{role}"):
                return "bad_proof"
        if before is None:
            if owner is not None:
                return "no_change"
            founder = not self.fold.chain and self.by in keys and keys[self.by]["role"] == "human"
            if not self.everything or (keys.keys() - {who} and not founder):
                return "not_permitted"
        else:
            ends, himself = had.keys() - keys.keys(), self.own == who
            renamed = keys and not same(record, before, "id", "keys")
            if not (changed or ends or renamed):
                return "no_change"
            may = (himself or not changed) and (self.everything or not renamed) and (self.everything or himself)
            if not may:
                return "not_permitted"
        self.touched.append(who)
        self.owners |= dict.fromkeys([who, *coming], who)
        self.operators |= {who: record}
        if not keys:
            del self.operators[who]
        return "ok"


def fault(term, verdict, origin, asked, stored_at):
    """Why a key with this term may not decide or vote so; None where it may. `asked`: the request's workspace, risk,
    effects and what its agent verifies; None where its bytes are gone."""
    if term is None:
        return "unknown_key"
    role, limits = term[4]["role"], meaning(term[4].get("limits"))
    if role == "device" and not (MOMENT.fullmatch(term[4].get("until") or "") and stored_at < term[4]["until"]):
        return "unknown_key"
    if (role == "auto") == (origin == "operator"):
        return "wrong_role"
    if asked is None:
        return None
    workspace, risk, effects, verifies = asked
    if role == "device":
        if "webauthn" not in verifies:
            return "device_unsupported"
        harmless = effects in (None, "read", "write", "unknown") and risk != RISKS[-1]
        may = verdict in ("approve", "respond") and harmless and allows(limits, workspace, risk)
        if not may and verdict not in ("deny", "terminate", "skip"):
            return "device_limit"
    binding = (term[3], limits if role == "auto" else (None, None))
    if verdict in BOUND and not all(allows(limit, workspace, risk) for limit in binding):
        return "beyond_limit"
    return None
