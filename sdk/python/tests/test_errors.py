"""What is raised or answered in one process is read in another."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from countersign import CountersignError, Decision, NotAllowedError, VoidDecisionError, errors
from countersign.bus import NotSentError
from countersign.log import Stored

DENIED = Decision.unanswered("r", "deny", "operator")
STORED = Stored("s", b"{}", {"CS-Key": "k"}, dt.datetime(2026, 11, 21, tzinfo=dt.UTC), 7)
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, CountersignError)]
REFUSED = NotAllowedError("was not run", verdict="deny", decision=DENIED)
WITH_MORE: dict[type, CountersignError] = {
    NotAllowedError: REFUSED,
    VoidDecisionError: VoidDecisionError("refused", code="bad_signature", stored=STORED),
}
ERRORS = [WITH_MORE.get(kind) or kind("why", code="narrower") for kind in [*KINDS, NotSentError]]
WAYS = {"pickled": lambda it: pickle.loads(pickle.dumps(it)), "copied": copy.copy, "copied deeply": copy.deepcopy}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_that_was_pickled_or_copied_says_the_same(error, way):
    again = WAYS[way](error)
    assert (type(again), str(again), again.code) == (type(error), str(error), error.code)
    assert vars(again) == vars(error)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", [DENIED, STORED], ids=["answer", "stored"])
def test_an_answer_that_was_pickled_or_copied_says_the_same(value, way):
    assert WAYS[way](value) == value


def deny() -> None:
    raise REFUSED


def test_a_denied_call_in_a_process_of_a_pool_is_one_error_and_the_pool_goes_on():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        reported = pool.submit(deny).exception()
        assert isinstance(reported, NotAllowedError)
        assert (reported.verdict, reported.code, reported.decision) == ("deny", "deny", DENIED)
        assert pool.submit(str, 1).result() == "1"
