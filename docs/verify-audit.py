#!/usr/bin/env python3
"""Checks a bundle of `countersign audit export` with nothing of Countersign.

    verify-audit.py BUNDLE [--head HASH] [--trust KEY ...]

Needs Python 3.11 and PyNaCl (ed25519), and `signed_json.py` and `realm_fold.py` beside it; for signatures of devices
also the package `cryptography`. Exit 0: all is as it was written. Exit 1: the first thing that is not, named.
That holds up to the last anchor in the bundle. Whoever made the bundle can have left anchors out and rewritten what
they covered: read CS_AUDIT on the bus yourself, or have a head.
--head: a head that was noted earlier; the chain must contain it. --trust: public keys known from elsewhere; one of
them must have founded the realm. Without it the founder is taken on trust.

The rules are those of docs/audit.md and of the protocol, sections 4, 5 and 8.
"""

import argparse
import hashlib
import json
import sys
from collections import Counter
from datetime import datetime

import realm_fold
import signed_json
from signed_json import canonical, digest, unbase64


class Bad(Exception):  # noqa: N818
    pass


def need(holds, what):
    if not holds:
        raise Bad(what)


def parsed(raw):
    """What was sent. `native` and `metadata` may hold whole numbers of more digits than Python reads."""
    return json.loads(raw, parse_int=lambda digits: int(digits) if len(digits) < 400 else float(digits))


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


class Bundle:
    def __init__(self, trust=()):
        self.trust = set(trust)
        self.realm = self.console = None
        self.rows, self.prev, self.hashes = 0, bytes(32), {}
        self.named = {}  # ("request" | "decision" | "policy", subject) -> digests that audit rows name, in order
        self.effective = {}  # subject -> how its decision reads by the last audit row
        self.log = None  # the realm log
        self.sequences = []  # of its entries
        self.places = {}  # subject -> sequence at which its decision was read first; None where its place is attested
        self.requests, self.seen = {}, set()
        self.counts: Counter[str] = Counter()
        self.anchored, self.restored, self.lost = 0, 0, []
        self.strangers = {}  # anchors that are not of this chain: (stream_seq, digest of the payload) -> row
        self.removed, self.recovered = set(), False  # requests whose bytes retention removed; the bus was put back

    def holds(self, key, context, subject, payload, sig, term=None):
        if term is not None and term[4]["role"] == "device":
            return signed_json.device_holds(term[4], term[2], context, self.realm, subject, payload, sig)
        return signed_json.holds(key, context, self.realm, subject, payload, sig)

    def signed(self, key, context, subject, payload, sig, term=None):
        held = self.holds(key, context, subject, payload, sig, term)
        need(held, f"the signature of {key} on {subject} is not valid")

    def header(self, line):
        need(
            line["format"] == "countersign-audit-bundle" and line["v"] == 1,
            "this is not an audit bundle of version 1",
        )
        self.realm, self.console, self.head = line["realm"], line["console"], line["head"]
        self.from_bus = line["anchors_from_bus"]

    def entry(self, line):
        name, message = f"entry {line['n']} of the realm log", unbase64(line["message"])
        if self.log is None:
            founder = signed_json.strict(message)["key"]
            need(not self.trust or founder in self.trust, f"the realm was founded by {founder}")
            self.log = realm_fold.Fold(self.realm, line["digest"])
        word = self.log.link(message)
        linked = (len(self.log.chain), self.log.chain[-1:]) == (line["n"], [line["digest"]])
        need(linked and word == line["word"], f"{name}: {line['digest']} reads as {word}")
        need(self.sequences[-1:] < [line["seq"]], f"{name}: it is not in the order of the stream")
        self.sequences.append(line["seq"])
        if word == "ok":
            self.seen.add(("operators", str(line["n"]), line["digest"]))

    def terms(self, key, subject, sequence):
        """The terms by which a key may count for a decision. One that was put back on a new stream, behind the whole
        log, has no place among the entries of this one: there it is any term of the key."""
        if self.log is None:
            return []
        place = self.places.get(subject)
        if place is None or (self.recovered and place != sequence):
            return self.log.terms.get(key, [])
        return [self.log.term(key, sum(seq < sequence for seq in self.sequences))]

    def policy(self, line):
        payload = unbase64(line["payload"])
        subject = f"$KV.CS_POLICY.{line['name']}"
        self.seen.add(("policy", line["name"], digest(payload)))
        if not payload:
            return  # its key was removed from the bucket, which nobody signs
        terms = self.log.terms.get(line["key"], []) if self.log else []
        device = next((term for term in terms if term[4]["role"] == "device"), None)
        self.signed(line["key"], "policy", subject, payload, line["sig"], device)

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
            if action == "decision":
                self.places.setdefault(subject, None if detail.get("attested") else detail["stream_seq"])
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
        terms = [term for terms in (self.log.terms if self.log else {}).values() for term in terms]
        autos = [term[4] for term in terms if term[4]["role"] == "auto"]
        keys = {key["key"] for key in autos if key.get("device", self.console) == self.console}
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
        if body:
            risk = body["risk"] if body["risk"] in realm_fold.RISKS else "critical"
            effects = (body.get("tool") or {}).get("effects")
            asked["facts"] = line["workspace"], risk, effects, body.get("verifies") or ()
        self.requests[subject] = asked

    def decision(self, line):
        payload = unbase64(line["payload"])
        subject = self.known("decision", line, digest(payload))
        name, asked = f"decision {subject}", self.requests.get(subject)
        need(line["effective"] == self.effective.get(subject), f"{name}: the log says otherwise")
        if line["effective"] in ("void", None):
            return  # it counts for nothing, or its request is not here, and the log says so
        terms = self.terms(line["key"], subject, line["stream_seq"])
        path = subject.replace("/", ".")
        self.signed(line["key"], "decision", f"countersign.v1.decision.{path}", payload, line["sig"], *terms[:1])
        body, at = parsed(payload), moment(line["stored_at"])
        need(body["decided_by"]["key"] == line["key"], f"{name}: another key than its signer's")
        facts = (asked or {}).get("facts")
        faults = [realm_fold.fault(term, body["verdict"], body["origin"], facts, line["stored_at"]) for term in terms]
        need(None in faults, f"{name}: {(faults or ['unknown_key'])[0]} of {line['key']}")
        if asked is None:
            return
        need(body["request_digest"] == asked["digest"], f"{name}: it answers another request")
        if line["effective"] not in ("approve", "modify"):
            return
        need(at < asked["deadline"], f"{name}: it was stored after the deadline")
        args = digest(canonical(body["edited_args"]).encode()) if line["effective"] == "modify" else asked.get("args")
        need(args is None or body.get("args_digest") == args, f"{name}: args_digest is not that of what may run")
        if asked.get("approvals", 1) > 1:
            where = subject, line["stream_seq"], facts, line["stored_at"]
            voters = {self.voter(vote, body, where) for vote in body.get("votes") or []} - {None}
            need(len(voters) >= asked["approvals"], f"{name}: {len(voters)} of {asked['approvals']} votes")

    def voter(self, vote, decision, where):
        """The operator whose vote it is; None for one that does not count, whatever is wrong with it."""
        name, sequence, facts, stored_at = where
        try:
            payload = unbase64(vote["payload"])
            subject = f"countersign.v1.vote.{name.replace('/', '.')}.{vote['key']}"
            body, same = parsed(payload), ("verdict", "request_digest", "args_digest")
            alike = body["decided_by"]["key"] == vote["key"] and all(body.get(f) == decision.get(f) for f in same)
            if vote["subject"] != subject or not alike:
                return None
            for term in self.terms(vote["key"], name, sequence):
                held = term is not None and self.holds(vote["key"], "vote", subject, payload, vote["sig"], term)
                if held and realm_fold.fault(term, body["verdict"], "operator", facts, stored_at) is None:
                    return term[2]
            return None
        except (Bad, KeyError, TypeError, ValueError, AttributeError):
            return None

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
            kinds = ("entry", "policy", "audit", "anchor", "request", "decision", "end") if at > 1 else ("header",)
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
