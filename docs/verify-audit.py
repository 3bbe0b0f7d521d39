#!/usr/bin/env python3
"""Checks a bundle of `countersign audit export` with nothing of Countersign.

    verify-audit.py BUNDLE [--head HASH] [--root DIGEST]

Needs Python 3.11 and PyNaCl (ed25519), and `signed_json.py` and `realm_fold.py` beside it; for signatures of devices
also the package `cryptography`. Exit 0: all is as it was written. Exit 1: the first thing that is not, named.
That holds up to the last anchor in the bundle. Whoever made the bundle can have left anchors out and rewritten what
they covered: read CS_AUDIT on the bus yourself, or have a head.
--head: a head that was noted earlier; the chain must contain it. --root: the digest of the realm log's first entry,
as in an agent's agent.json. Without it the first entry is taken on trust.

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
    def __init__(self, root=None):
        self.root = root
        self.realm = self.console = None
        self.rows, self.prev, self.hashes = 0, bytes(32), {}
        self.named = {}  # ("request" | "decision" | "policy", subject) -> digests that audit rows name, in order
        self.effective = {}  # subject -> how its decision reads by the last audit row
        self.attested = set()  # subjects of decisions that a recovered bus has anew
        self.logs = []  # the realm log; another one for each time that it parted
        self.places = {}  # epoch -> [(sequence, digest)] of its entries
        self.changes = set()  # (number, digest, signer) of the entries that audit rows name
        self.requests, self.seen = {}, set()
        self.counts: Counter[str] = Counter()
        self.anchored, self.restored, self.lost = 0, 0, []
        self.strangers = {}  # anchors that are not of this chain: (stream_seq, digest of the payload) -> row
        self.removed = set()  # requests whose bytes retention removed

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
        need(self.root in (None, line["root"]), f"the realm log begins with {line['root']}")
        self.root = line["root"]

    def entry(self, line):
        message, name = unbase64(line["message"]), f"entry in slot {line['slot']}"
        body = signed_json.strict(unbase64(signed_json.strict(message)["payload"]))
        value = digest(unbase64(signed_json.strict(message)["payload"]))
        places = self.places.setdefault(line["epoch"], [])
        need(not places or places[-1][0] < line["sequence"], f"{name}: not in the order of the stream")
        places.append((line["sequence"], value))
        if any(value in log.chain for log in self.logs):
            return
        if not any(self.links(log, message, value) for log in self.logs):
            begun = [log.messages[: body["n"] - 1] for log in self.logs if body["prev"] in log.chain]
            log = realm_fold.Fold(self.realm, self.root)
            for before in begun[0] if begun else ():
                log.link(before)
            need(self.links(log, message, value), f"{name}: it is not the next entry of the realm log")
            self.logs.append(log)

    @staticmethod
    def links(log, message, value):
        log.link(message)
        return log.chain[-1:] == [value]

    def at(self, entry):
        """The log that has this entry, and the entry's number."""
        for log in self.logs:
            if entry in log.chain:
                return log, log.chain.index(entry) + 1
        raise Bad(f"the realm log has no entry {entry}")

    def policy(self, line):
        payload = unbase64(line["payload"])
        subject = f"$KV.CS_POLICY.{line['name']}"
        self.seen.add(("policy", line["name"], digest(payload)))
        if not payload:
            return  # its key was removed from the bucket, which nobody signs
        terms = (term for log in self.logs for term in log.terms.get(line["key"], ()))
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
        elif action == "operators":
            self.changes.add((int(subject), detail["digest"], line["actor"]))
        elif action == "retention" and subject == "requests":
            self.removed |= set(detail["removed"])
        elif action == "restore":
            self.restored = detail["audit_seq"]
        elif action == "anchors_lost" and detail["last"]:  # anchors of rows that a restored backup does not have
            self.lost.append((self.restored, detail))
        if action in ("decision", "judged", "judged_again") and "effective" in detail:
            self.effective[subject] = detail["effective"]
        if action == "decision" and detail.get("attested"):
            self.attested.add(subject)

    def anchor(self, line):
        payload = unbase64(line["payload"])
        terms = [term for log in self.logs for all_of in log.terms.values() for term in all_of]
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
        log, n = self.place(line, subject)
        term = log.term(line["key"], n)
        path = subject.replace("/", ".")
        self.signed(line["key"], "decision", f"countersign.v1.decision.{path}", payload, line["sig"], term)
        body, at = parsed(payload), moment(line["stored_at"])
        need(body["decided_by"]["key"] == line["key"], f"{name}: another key than its signer's")
        facts = (asked or {}).get("facts")
        fault = realm_fold.fault(term, (body["verdict"], body["origin"]), facts, line["stored_at"])
        need(fault is None, f"{name}: {fault} of {line['key']} behind entry {n}")
        if asked is None:
            return
        need(body["request_digest"] == asked["digest"], f"{name}: it answers another request")
        if line["effective"] not in ("approve", "modify"):
            return
        need(at < asked["deadline"], f"{name}: it was stored after the deadline")
        args = digest(canonical(body["edited_args"]).encode()) if line["effective"] == "modify" else asked.get("args")
        need(args is None or body.get("args_digest") == args, f"{name}: args_digest is not that of what may run")
        if asked.get("approvals", 1) > 1:
            where = path, log, n, facts, line["stored_at"]
            voters = {self.voter(vote, body, where) for vote in body.get("votes") or []} - {None}
            need(len(voters) >= asked["approvals"], f"{name}: {len(voters)} of {asked['approvals']} votes")

    def place(self, line, subject):
        """The log and the entry by which a decision is judged. On a recovered bus its place is attested."""
        log, n = self.at(line["entry"])
        places = self.places.get(line["epoch"])
        if places and subject not in self.attested:
            before = [value for sequence, value in places if sequence < line["stream_seq"]]
            there = before[-1:] == [line["entry"]]
            need(there, f"decision {subject}: {line['entry']} is not the last entry before it")
        return log, n

    def voter(self, vote, decision, where):
        """The operator whose vote it is; None for one that does not count, whatever is wrong with it."""
        path, log, n, facts, stored_at = where
        try:
            payload = unbase64(vote["payload"])
            subject, term = f"countersign.v1.vote.{path}.{vote['key']}", log.term(vote["key"], n)
            if vote["subject"] != subject or term is None:
                return None
            body, same = parsed(payload), ("verdict", "request_digest", "args_digest")
            alike = body["decided_by"]["key"] == vote["key"] and all(body.get(f) == decision.get(f) for f in same)
            fault = realm_fold.fault(term, (body["verdict"], "operator"), facts, stored_at)
            held = self.holds(vote["key"], "vote", subject, payload, vote["sig"], term)
            return term[2] if alike and fault is None and held else None
        except (Bad, KeyError, TypeError, ValueError, AttributeError):
            return None

    def end(self, line):
        told = {kind: count for kind, count in line["counts"].items() if count}
        need(told == dict(+self.counts), f"the bundle says {told} lines, there are {self.counts}")
        need(self.head == {"seq": self.rows, "hash": self.prev.hex()}, "the log does not end at the head")
        self.excuse()
        self.entries_are_named()
        for (kind, subject), digests in self.named.items():
            if kind != "policy":
                need((kind, subject) in self.seen, f"{kind} {subject}: the audit log names it and it is not there")
                continue
            for value in digests:
                there = (kind, subject, value) in self.seen
                need(there, f"policy {subject}: a value that the log names is not there")
        for kind, subject, *value in self.seen:
            named = kind != "policy" or value[0] in self.named.get((kind, subject), [])
            need(named, f"policy {subject}: no audit row names it")

    def entries_are_named(self):
        """Each entry with effect has its audit row, and each row its entry."""
        effects = set()
        for log in self.logs:
            for n, (value, word, message) in enumerate(zip(log.chain, log.words, log.messages, strict=True), 1):
                effects |= {(n, value, signed_json.strict(message)["key"])} if word == "ok" else set()
        for n, value, _ in sorted(effects - self.changes):
            raise Bad(f"entry {n} of the realm log: no audit row names {value}")
        for n, value, _ in sorted(self.changes - effects):
            raise Bad(f"entry {n} of the realm log: the audit log names {value} and it is not there")


def check(file, head=None, root=None):
    bundle, last = Bundle(root), None
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
    options.add_argument("--root", metavar="DIGEST")
    given = options.parse_args()
    try:
        with open(given.bundle, encoding="utf-8") as file:
            bundle = check(file, given.head, given.root)
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
