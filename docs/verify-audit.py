#!/usr/bin/env python3
"""Checks a bundle of `countersign audit export` with nothing of Countersign.

    verify-audit.py BUNDLE [--head HASH] [--trust KEY ...]

Needs Python 3.11 and PyNaCl (ed25519). Exit 0: all is as it was written. Exit 1: the first thing that is not, named.
That holds up to the last anchor in the bundle. Whoever made the bundle can have left anchors out and rewritten what
they covered: read CS_AUDIT on the bus yourself, or have a head.
--head: a head that was noted earlier; the chain must contain it. --trust: public keys known from elsewhere; one of
them must have founded the realm. Without it the founder is taken on trust.

The rules are those of docs/audit.md and of the protocol, sections 4, 5 and 8.
"""

import argparse
import base64
import hashlib
import json
import math
import sys
from collections import Counter
from datetime import datetime
from decimal import Decimal

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

REALM = "countersign.v1.realm"  # every entry and every consent of a key is signed for it


class Bad(Exception):  # noqa: N818
    pass


def need(holds, what):
    if not holds:
        raise Bad(what)


def unbase64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def parsed(raw):
    """What was sent. `native` and `metadata` may hold whole numbers of more digits than Python reads."""
    return json.loads(raw, parse_int=lambda digits: int(digits) if len(digits) < 400 else float(digits))


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def number(value):
    """A double as RFC 8785 (ECMAScript) writes it."""
    need(math.isfinite(value), "a number that is none")
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    zeros = int(exponent)  # a letter is there only for what is not a number
    text, point = "".join(map(str, digits)), len(digits) + zeros
    if len(digits) <= point <= 21:
        text = text + "0" * zeros
    elif 0 < point <= 21:
        text = text[:point] + "." + text[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + text
    else:
        text = f"{text[0]}{'.' if text[1:] else ''}{text[1:]}e{point - 1:+d}"
    return "-" + text if sign and value else text


def canonical(value):
    """RFC 8785."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def public_key(nkey):
    """An nkey of a user: base 32 of one prefix byte, 32 bytes of the key, two of a checksum."""
    raw = base64.b32decode(nkey + "=" * (-len(nkey) % 8))
    need(len(raw) == 35 and nkey.startswith("U"), f"{nkey} is not a public key")
    return VerifyKey(raw[1:33])


def without(record, *names):
    return canonical({name: value for name, value in record.items() if name not in names})


class Log:
    """The realm log: which key counts where. An entry takes effect for what is stored at a higher sequence."""

    def __init__(self, trust, holds):
        self.trust, self.holds = trust, holds
        self.chain, self.operators, self.owners, self.terms = [], {}, {}, {}
        self.acceptance, self.recovery = False, None

    def term(self, key, seq=None):
        for term in self.terms.get(key, ()):
            since, until = term["since"], term["until"]
            if until is None if seq is None else since < seq and (until is None or seq <= until):
                return term
        return None

    def entry(self, line):
        envelope = parsed(unbase64(line["message"]))
        payload, key, n = unbase64(envelope["payload"]), envelope["key"], len(self.chain) + 1
        body, name = parsed(payload), f"entry {line['n']} of the realm log"
        need(digest(payload) == line["digest"], f"{name}: its digest is not that of its bytes")
        prev = self.chain[-1] if self.chain else None
        need((body["n"], body["prev"], line["n"]) == (n, prev, n), f"{name}: it does not follow the entry before it")
        signed = body["by"] == key and self.holds(key, "realm", REALM, payload, envelope["sig"])
        need(signed, f"{name}: its signature is not valid")
        term = self.term(key)
        own = term["operator"] if term and term["role"] == "human" else None
        need(n > 1 or not self.trust or key in self.trust, f"the realm was founded by {key}")
        need(n == 1 or own or key == self.recovery, f"{name}: {key} may sign no entry")
        self.chain.append(line["digest"])
        if line["word"] != "ok":
            return  # part of the chain, without effect
        everything = own is None or bool(self.operators[own].get("admin"))
        for record in body.get("operators", []):
            self.record(record, (name, n, line["seq"]), (key, own, everything))
        settings = body.get("realm", {})
        need(everything or not settings, f"{name}: its signer may not change the realm")
        self.acceptance = settings.get("acceptance", self.acceptance)
        if "recovery" in settings and settings["recovery"]["key"] != self.recovery:
            need(self.recovery in (None, key), f"{name}: its signer may not replace the recovery key")
            self.recovery = settings["recovery"]["key"]
            self.owners[self.recovery] = None
        need(any(record.get("admin") for record in self.operators.values()), f"{name}: no administrator is left")

    def record(self, record, place, signer):
        (name, n, seq), (key, own, everything), operator = place, signer, record["id"]
        before, after = self.operators.get(operator), record["keys"]
        if before is None and operator in self.owners:
            return need(not after, f"{name}: {operator} has ended")
        had = {of["key"]: of for of in before["keys"]} if before else {}
        new = [of for of in after if had.get(of["key"]) != of]
        for of in new:
            need(of["key"] in had or of["key"] not in self.owners, f"{name}: {of['key']} was named before")
            consent = f"{operator}\n{of['role']}".encode()
            asked = of["role"] in ("human", "auto")
            need(not asked or self.holds(of["key"], "key", REALM, consent, of["proof"]), f"{name}: no consent")
        fewer = any(of not in {key["key"] for key in after} for of in had)
        titled = bool(after) and before is not None and without(record, "id", "keys") != without(before, "id", "keys")
        founder = n == 1 and any(of["key"] == key for of in after)
        himself = own == operator
        may = (not new or himself) and (not fewer or himself or everything) and (not titled or everything)
        if before is None:
            may = everything and (founder or all(of["key"] == operator for of in after))
        need(may, f"{name}: its signer may not change {operator} so")
        kept = canonical(record.get("limits")) == canonical((before or {}).get("limits"))
        for of in after:
            self.owners[of["key"]] = operator
        self.owners[operator] = operator
        for of in list(had.values()):
            if of not in after or not kept:
                self.terms[of["key"]][-1]["until"] = seq
        for of in after:
            if of["key"] not in had or of in new or not kept:
                term = {"operator": operator, "role": of["role"], "since": seq, "until": None}
                self.terms.setdefault(of["key"], []).append(term | {"device": of.get("device")})
        if after:
            self.operators[operator] = record
        else:
            self.operators.pop(operator, None)
        return None


class Bundle:
    def __init__(self, trust):
        self.log = Log(set(trust), self.holds)
        self.realm = self.console = None
        self.rows, self.prev, self.hashes = 0, bytes(32), {}
        self.named = {}  # ("requests" | "decisions" | "policy", subject) -> digests that audit rows name, in order
        self.effective = {}  # subject -> how its decision reads by the last audit row
        self.places = {}  # subject -> sequence at which its decision was read first
        self.requests, self.seen = {}, set()
        self.counts: Counter[str] = Counter()
        self.anchored, self.restored, self.lost = 0, 0, []
        self.strangers = {}  # anchors that are not of this chain: (stream_seq, digest of the payload) -> row
        self.removed, self.recovered = set(), False  # requests whose bytes retention removed; the bus was put back

    def holds(self, key, context, subject, payload, sig):
        what = f"countersign-v1\n{context}\n{self.realm}\n{subject}\n{hashlib.sha256(payload).hexdigest()}"
        try:
            public_key(key).verify(what.encode(), unbase64(sig))
        except (Bad, BadSignatureError, ValueError, TypeError, AttributeError):
            return False
        return True

    def signed(self, key, context, subject, payload, sig):
        need(self.holds(key, context, subject, payload, sig), f"the signature of {key} on {subject} is not valid")

    def term(self, key, seq, moved=False):
        """Of a decision that is on a stream that was made anew, behind the whole log, any term of its key counts."""
        term = self.log.term(key, seq) or (moved and self.log.terms.get(key, [None])[0])
        need(term, f"{key} was not in force at sequence {seq}")
        return term

    def header(self, line):
        kind = (line["format"], line["v"])
        need(kind == ("countersign-audit-bundle", 1), "this is not an audit bundle of version 1")
        self.realm, self.console, self.head = line["realm"], line["console"], line["head"]
        self.from_bus = line["anchors_from_bus"]

    def policy(self, line):
        payload = unbase64(line["payload"])
        subject = f"$KV.CS_POLICY.{line['name']}"
        self.seen.add(("policy", line["name"], digest(payload)))
        if not payload:
            return  # its key was removed from the bucket, which nobody signs
        self.signed(line["key"], "policy", subject, payload, line["sig"])

    def entry(self, line):
        self.log.entry(line)
        if line["word"] == "ok":
            self.seen.add(("operators", str(line["n"]), line["digest"]))

    def audit(self, line):
        self.rows += 1
        name = f"audit row {line['seq']}"
        need(line["seq"] == self.rows, f"{name}: a row before it is missing")
        need(line["prev"] == self.prev.hex(), f"{name}: it does not follow the row before it")
        detail = json.loads(line["detail"])
        need(canonical(detail) == line["detail"], f"{name}: its detail is not canonical")
        fields = {name: line[name] for name in ("action", "actor", "at", "seq", "subject")} | {"detail": detail}
        self.prev = hashlib.sha256(b"countersign-audit-v1\n" + self.prev + canonical(fields).encode()).digest()
        need(line["hash"] == self.prev.hex(), f"{name}: its hash is not that of its fields")
        self.hashes[line["seq"]] = line["hash"]
        action, subject = line["action"], line["subject"]
        if action in ("request", "rejected"):
            self.named.setdefault(("request", subject), []).append(detail["request_digest"])
        elif action in ("decision", "policy"):
            self.named.setdefault((action, subject), []).append(detail["payload_digest"])
            self.places.setdefault(subject, detail.get("stream_seq"))
        elif action == "operators":
            self.named.setdefault((action, subject), []).append(detail["digest"])
        elif action == "retention" and subject == "requests":
            self.removed |= set(detail["removed"])
        elif action == "bus_recover":
            self.recovered = True
        elif action == "restore":
            self.restored = detail["audit_seq"]
        elif action == "anchors_lost" and detail["last"]:  # anchors of rows that a restored backup does not have
            self.lost.append((self.restored, detail))
        if action in ("decision", "judged", "judged_again") and "effective" in detail:
            self.effective[subject] = detail["effective"]

    def anchor(self, line):
        payload = unbase64(line["payload"])
        terms = [(key, term) for key, terms in self.log.terms.items() for term in terms]
        keys = {key for key, term in terms if term["role"] == "auto" and term["device"] in (None, self.console)}
        subject = f"countersign.v1.audit.{self.console}"
        held = any(self.holds(key, "audit", subject, payload, line["sig"]) for key in keys)
        need(held, f"anchor CS_AUDIT/{line['stream_seq']}: no key of this console has signed it")
        head = json.loads(payload)
        if self.hashes.get(head["seq"]) == head["hash"]:
            self.anchored = max(self.anchored, head["seq"])
            return
        self.strangers[line["stream_seq"], digest(payload)] = head["seq"]

    def excuse(self):
        """Takes the anchors away that a restore lost: exactly those whose payloads the log names, none more."""
        for restored, detail in self.lost:
            last = detail["last"]["stream_seq"]
            lost = sorted(at for at, row in self.strangers.items() if row > restored and at[0] <= last)
            text = "".join(f"{stream_seq} {payload}\n" for stream_seq, payload in lost)
            if len(lost) == detail["count"] and digest(text.encode()) == detail["digest"]:
                for at in lost:
                    del self.strangers[at]
        for row in self.strangers.values():
            raise Bad(f"audit row {row}: it is not the row that was anchored")

    def known(self, kind, line, data):
        """The subject of a request or decision, whose bytes must be those that an audit row names."""
        place = f"{line['workspace']}/{line['agent']}/" if line["workspace"] else ""
        subject = place + line["request_id"]
        need((kind, subject) not in self.seen, f"{kind} {subject}: it appears twice")
        self.seen.add((kind, subject))
        names = self.named.get((kind, subject), [])
        need(names, f"{kind} {subject}: no audit row names it")
        need(data in names, f"{kind} {subject}: its bytes are not those that the audit log names")
        return subject

    def request(self, line):
        # Retention removes bytes and leaves their digest.
        raw = None if line["raw"] is None else unbase64(line["raw"])
        subject = self.known("request", line, line["digest"] if raw is None else digest(raw))
        need(raw is not None or subject in self.removed, f"request {subject}: its bytes are gone and no row says why")
        asked = {"digest": line["digest"], "deadline": moment(line["deadline_at"])}
        body = parsed(raw) if raw is not None and line["state"] != "rejected" else {}
        if "args_digest" in body:  # a question or a form may have arguments without it
            asked["args"] = digest(canonical(body["args"]).encode())
            need(asked["args"] == body["args_digest"], f"request {subject}: args_digest is not that of its arguments")
        asked["approvals"] = body.get("approvals_required") or 1
        self.requests[subject] = asked

    def decision(self, line):
        payload = unbase64(line["payload"])
        subject = self.known("decision", line, digest(payload))
        name, asked = f"decision {subject}", self.requests.get(subject)
        need(line["effective"] == self.effective.get(subject), f"{name}: the log says otherwise")
        if line["effective"] in ("void", None):
            return  # it counts for nothing, or its request is not here, and the log says so
        path = subject.replace("/", ".")
        self.signed(line["key"], "decision", f"countersign.v1.decision.{path}", payload, line["sig"])
        body, at = parsed(payload), moment(line["stored_at"])
        need(body["decided_by"]["key"] == line["key"], f"{name}: another key than its signer's")
        moved = self.recovered and self.places.get(subject) != line["stream_seq"]
        role = self.term(line["key"], line["stream_seq"], moved)["role"]
        need((role != "auto") == (body["origin"] == "operator"), f"{name}: its origin is not for a key of {role}")
        if asked is None:
            return
        need(body["request_digest"] == asked["digest"], f"{name}: it answers another request")
        if line["effective"] not in ("approve", "modify"):
            return
        need(at < asked["deadline"], f"{name}: it was stored after the deadline")
        args = digest(canonical(body["edited_args"]).encode()) if line["effective"] == "modify" else asked.get("args")
        need(args is None or body.get("args_digest") == args, f"{name}: args_digest is not that of what may run")
        if asked.get("approvals", 1) > 1:
            place = (line["stream_seq"], moved)
            votes = (vote["key"] for vote in body.get("votes") or [] if self.counts_vote(vote, path, body, place))
            voters = {self.term(key, *place)["operator"] for key in votes}
            need(len(voters) >= asked["approvals"], f"{name}: {len(voters)} of {asked['approvals']} votes")

    def counts_vote(self, vote, path, decision, place):
        """Whether it does: one that does not, whatever is wrong with it, does no harm."""
        try:
            payload = unbase64(vote["payload"])
            subject = f"countersign.v1.vote.{path}.{vote['key']}"
            if vote["subject"] != subject or not self.holds(vote["key"], "vote", subject, payload, vote["sig"]):
                return False
            body, same = parsed(payload), ("verdict", "request_digest", "args_digest")
            alike = body["decided_by"]["key"] == vote["key"] and all(body.get(f) == decision.get(f) for f in same)
            return alike and self.term(vote["key"], *place)["role"] != "auto"
        except (Bad, KeyError, TypeError, ValueError, AttributeError):
            return False

    def end(self, line):
        told = {kind: count for kind, count in line["counts"].items() if count}
        need(told == dict(+self.counts), f"the bundle says {told} lines, there are {self.counts}")
        need(self.head == {"seq": self.rows, "hash": self.prev.hex()}, "the log does not end at the head")
        self.excuse()
        for (kind, subject), digests in self.named.items():
            if kind not in ("policy", "operators"):
                need((kind, subject) in self.seen, f"{kind} {subject}: the audit log names it and it is not there")
                continue
            for value in digests:
                there = (kind, subject, value) in self.seen
                need(there, f"{kind} {subject}: what the log names is not there")
        for kind, subject, *value in self.seen:
            named = kind not in ("policy", "operators") or value[0] in self.named.get((kind, subject), [])
            need(named, f"{kind} {subject}: no audit row names it")


def check(file, head=None, trust=()):
    bundle, last = Bundle(trust), None
    for at, text in enumerate(file, 1):
        try:
            line = json.loads(text)
            last = line["type"]
            kinds = ("entry", "audit", "policy", "anchor", "request", "decision", "end") if at > 1 else ("header",)
            need(last in kinds, f"line {at} is {last!r} instead of one of {kinds}")
            bundle.counts[last] += last not in ("header", "end")
            getattr(bundle, last)(line)
        except (KeyError, TypeError, ValueError) as error:
            raise Bad(f"line {at} cannot be read: {error!r}") from error
    need(last == "end", "the bundle is not whole: its last line is missing")
    need(head is None or head in bundle.hashes.values(), f"the head {head} is not in the chain")
    return bundle


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("bundle")
    options.add_argument("--head", type=lambda text: text.lower().removeprefix("sha256:"))
    options.add_argument("--trust", nargs="+", default=[], metavar="KEY")
    given = options.parse_args()
    try:
        with open(given.bundle, encoding="utf-8") as file:
            bundle = check(file, given.head, given.trust)
    except (Bad, OSError, UnicodeDecodeError) as error:
        sys.exit(f"not as it was written: {error}")
    print(f"all as it was written: {dict(+bundle.counts)}; anchored up to row {bundle.anchored} of {bundle.rows}")
    if not (bundle.from_bus and bundle.anchored):
        place = "no anchor is in it" if bundle.from_bus else "its anchors were not read from the bus"
        print(f"{place}: whoever can write the console's file can have cut or rewritten it unseen", file=sys.stderr)
    if bundle.anchored < bundle.rows:
        print(f"what lies after row {bundle.anchored} is not anchored", file=sys.stderr)


if __name__ == "__main__":
    main()
