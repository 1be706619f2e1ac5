"""Which queries are asked: the rules of the four tasks, held to the sets themselves."""

import numpy as np
import pytest

from softset.errors import InputError
from softset.evaluation.sets import tasks
from softset.evaluation.sets.tasks import TASKS, draw_tasks


def drawn(concepts, split="test", seed=1, known=None, **options):
    known = np.ones(len(concepts.words), dtype=bool) if known is None else known
    return dict(zip(TASKS, draw_tasks(concepts, known, split=split, seed=seed, **options), strict=True))


def test_set_asks_for_all_words_outside_the_query(concepts) -> None:
    task = drawn(concepts)["Set"]
    assert task.left == tuple(concepts.splits["test"]) and task.right == ()
    for at, targets in zip(task.left, task.targets, strict=True):
        assert targets == concepts.sets[at][5:]


def test_union_draws_from_both_sets_outside_both_queries(monkeypatch, concepts) -> None:
    monkeypatch.setattr(tasks, "TARGETS", 12)
    task = drawn(concepts)["Union"]
    assert len(task) == 15  # all pairs of six test sets
    for at, (a, b) in enumerate(zip(task.left, task.right, strict=True)):
        either = {*concepts.sets[a], *concepts.sets[b]} - {*concepts.query(a), *concepts.query(b)}
        assert len(set(task.targets[at])) == min(12, len(either)) and set(task.targets[at]) <= either


def test_intersection_and_difference_share_ten_words(concepts) -> None:
    found = drawn(concepts)
    for name in ("Intersect", "Difference"):
        task = found[name]
        assert len({frozenset(pair) for pair in zip(task.left, task.right, strict=True)}) == len(task)
        for at, (a, b) in enumerate(zip(task.left, task.right, strict=True)):
            shown = {*concepts.query(a), *concepts.query(b)}
            A, B = set(concepts.sets[a]), set(concepts.sets[b])
            assert len(A & B) >= 10 and task.shown(concepts, at) == tuple(sorted(shown))
            both = (A & B) - shown
            assert set(task.targets[at]) == (both if name == "Intersect" else A - B - shown)
            assert not task.leaks or set(task.leaks[at]) == both
    assert any(a > b for a, b in zip(found["Difference"].left, found["Difference"].right, strict=True))


def test_tuning_keeps_to_its_split_and_the_test_uses_the_whole_pool(concepts) -> None:
    for split in ("train", "val"):
        used = {at for task in drawn(concepts, split).values() for at in (*task.left, *task.right)}
        assert used <= set(concepts.splits[split])
    pool = drawn(concepts)["Intersect"]
    assert {*pool.left, *pool.right} - set(concepts.splits["test"])


def test_a_seed_decides(concepts) -> None:
    assert drawn(concepts, seed=3) == drawn(concepts, seed=3) != drawn(concepts, seed=4)


def test_a_limit_keeps_the_first(concepts) -> None:
    whole, few = drawn(concepts), drawn(concepts, limit=4)
    for name, task in few.items():
        assert len(task) == 4 and task.targets == whole[name].targets[:4] and task.left == whole[name].left[:4]


def test_sides_with_few_vectors_are_left_out(concepts) -> None:
    known = np.ones(len(concepts.words), dtype=bool)
    known[list(concepts.query(12)[:3])] = False
    found = drawn(concepts, known=known)
    usable = [at for at in range(18) if known[list(concepts.query(at))].sum() >= 3]
    assert 12 not in usable and found["Set"].left == tuple(range(12, 18))
    for name in TASKS[1:]:
        assert {*found[name].left, *found[name].right} <= set(usable)


def test_vectors_that_know_too_little_are_refused(concepts) -> None:
    with pytest.raises(InputError, match="no two sets make a query of Union"):
        drawn(concepts, known=np.zeros(len(concepts.words), dtype=bool))
