"""One meaning, one digest: the vectors of RFC 8785 and properties over any JSON value."""

from __future__ import annotations

import json
import struct

import pytest
from countersign import Enrolment, InvalidRequestError, ToolCall, args_digest
from countersign.clock import now
from countersign.digest import canonical_json
from countersign.signature import decode_public_key, verify
from countersign.wire import build_request, uuid7
from hypothesis import given
from hypothesis import strategies as st

from console import Key, crc16

# RFC 8785, appendix B.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}

# RFC 8785, sections 3.2.2 and 3.2.3.
TEXTS = {
    r"""{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
    "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}""": (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        r'"string":"€$\u000f\nA' + "'" + r'B\"\\\\\"/"}'
    ),
    r"""{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}""": (
        '{"\\r":2,"1":4,"\x80":6,"ö":7,"€":1,"\U0001f600":5,"\ufb33":3}'
    ),
}

keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=10)

KEY = Key()
ENROLMENT = Enrolment("nats://x", "acme", "bot", None, "_INBOX", "realm", ())


@pytest.mark.parametrize("bits", NUMBERS)
def test_numbers_read_as_rfc_8785_says(bits):
    [number] = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(number) == NUMBERS[bits].encode()


@pytest.mark.parametrize("text", TEXTS)
def test_texts_read_as_rfc_8785_says(text):
    assert canonical_json(json.loads(text)) == TEXTS[text].encode()


def test_the_digest_of_the_protocols_example():
    digest = "sha256:30e64fe16d9c35d7dea1689837b3dd7e4c4a95c90b71eefec776582e94f00d95"
    assert args_digest({"invoice_id": "INV-42"}) == digest


@given(values)
def test_the_digest_survives_the_wire(value):
    request = build_request(ToolCall(name="t", args=value), ENROLMENT, {}, None, now())
    body = json.loads(request.payload)
    assert args_digest(body["args"]) == args_digest(value) == body["args_digest"] == request.args_digest


@given(st.dictionaries(keys, scalars | st.lists(scalars, max_size=3), min_size=2, max_size=6))
def test_the_order_of_keys_is_no_part_of_the_digest(value):
    assert args_digest(dict(reversed(value.items()))) == args_digest(value)


@given(values, values)
def test_different_values_have_different_digests(one, other):
    assert (args_digest(one) == args_digest(other)) is (canonical_json(one) == canonical_json(other))


@given(st.integers(min_value=2**53) | st.integers(max_value=-(2**53)))
def test_an_integer_that_a_double_cannot_hold_is_refused(number):
    with pytest.raises(InvalidRequestError) as refusal:
        args_digest({"deep": [number]})
    assert refusal.value.code == "integer_out_of_range"


@pytest.mark.parametrize("where", ["args", "metadata"])
def test_sixty_four_levels_are_allowed_the_root_being_one(where):
    def request(levels: int):
        value: object = "a leaf is not a level"
        for _ in range(levels - 1):
            value = [value]
        about = {where: {"x": value}}
        return build_request(ToolCall(name="t", **about), ENROLMENT, {}, None, now())

    assert request(63).payload
    with pytest.raises(InvalidRequestError) as refusal:
        request(64)
    assert refusal.value.code == "too_deep"


def test_metadata_may_hold_any_integer_and_no_object():
    call = ToolCall(name="t", metadata={"n": 2**64})
    assert json.loads(build_request(call, ENROLMENT, {}, None, now()).payload)["metadata"] == {"n": 2**64}
    with pytest.raises(InvalidRequestError):
        build_request(ToolCall(name="t", metadata={"n": object()}), ENROLMENT, {}, None, now())


def test_ids_of_requests_sort_by_time_and_are_of_version_7():
    ids = [uuid7() for _ in range(50)]
    assert all(one[14] == "7" and one[19] in "89ab" for one in ids)
    assert len(set(ids)) == 50
    assert [one[:13] for one in ids] == sorted(one[:13] for one in ids)


def test_a_public_key_is_read_only_with_its_checksum():
    assert decode_public_key(KEY.public) == KEY.private.public_key().public_bytes_raw()
    for place in range(56):
        wrong = KEY.public[:place] + ("A" if KEY.public[place] != "A" else "B") + KEY.public[place + 1 :]
        with pytest.raises(ValueError, match="key"):
            decode_public_key(wrong)


def test_a_key_of_another_kind_is_refused():
    import base64

    body = bytes([0]) + KEY.private.public_key().public_bytes_raw()
    account = base64.b32encode(body + crc16(body).to_bytes(2, "little")).decode()
    with pytest.raises(ValueError, match="user key"):
        decode_public_key(account)


@given(st.binary(max_size=40), st.sampled_from(["decision", "vote", "policy"]))
def test_a_signature_holds_for_one_context_realm_subject_and_payload(payload, context):
    sig = KEY.sign(context, "r", "s", payload)
    assert verify(KEY.public, sig, context, "r", "s", payload)
    assert not verify(KEY.public, sig, "audit", "r", "s", payload)
    assert not verify(KEY.public, sig, context, "q", "s", payload)
    assert not verify(KEY.public, sig, context, "r", "t", payload)
    assert not verify(KEY.public, sig, context, "r", "s", payload + b"x")
    assert not verify(KEY.public, sig + "=", context, "r", "s", payload)
    other_spelling = sig[:-1] + chr(ord(sig[-1]) + 1)  # the unused bits of the last character
    assert not verify(KEY.public, other_spelling, context, "r", "s", payload)
    assert not verify(KEY.public, sig[:40], context, "r", "s", payload)
    assert not verify(Key().public, sig, context, "r", "s", payload)
