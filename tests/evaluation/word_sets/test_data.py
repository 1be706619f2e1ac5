"""Concept sets are read with clear errors, and tasks follow their rules."""

from pathlib import Path

import numpy as np
import pytest

from softset.errors import FileError, InputError
from softset.evaluation.data import DataFolder
from softset.evaluation.word_sets import data as word_set_data
from softset.evaluation.word_sets.data import QUERY_SIZE, TASKS, draw_tasks, read_concepts


def test_sets_of_all_splits_are_numbered(folder: Path, concepts) -> None:
    assert len(concepts.words) == 90 and len(concepts.sets) == 18
    assert concepts.splits == {"train": range(6), "val": range(6, 12), "test": range(12, 18)}
    lines = (folder / "lda-1k" / "sets_test.tsv").read_text().splitlines()
    assert "\t".join(concepts.words[index] for index in concepts.sets[13]) == lines[1]
    assert concepts.query(13) == concepts.sets[13][:QUERY_SIZE]


def test_shared_counts_common_words(concepts) -> None:
    for a, b in ((0, 3), (0, 1), (5, 17)):
        assert concepts.shared[a, b] == len(set(concepts.sets[a]) & set(concepts.sets[b]))


def test_windows_line_ends_are_removed(folder: Path, concepts) -> None:
    for path in (folder / "lda-1k").iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_concepts(DataFolder(folder)) == concepts


@pytest.mark.parametrize(
    ("name", "line", "text", "sentence"),
    [
        ("vocab.txt", 2, "", "needs one distinct word per line"),
        ("vocab.txt", 3, None, "needs one distinct word per line"),
        ("sets_val.tsv", 2, "a1\ta2\ta3", "no valid set in line 2: it needs at least 6"),
        ("sets_val.tsv", 4, "a1\ta2\ta3\ta4\ta5\tzzz", "no valid set in line 4"),
        ("sets_test.tsv", 6, "a1\ta2\ta3\ta4\ta5\ta2", "no valid set in line 6"),
    ],
)
def test_invalid_line_is_named(folder: Path, name, line, text, sentence) -> None:
    path = folder / "lda-1k" / name
    lines = path.read_text().splitlines()
    lines[line - 1] = lines[0] if text is None else text
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(FileError, match=sentence) as error:
        read_concepts(DataFolder(folder))
    assert str(path) in str(error.value)


@pytest.mark.parametrize("name", ["vocab.txt", "sets_train.tsv"])
def test_empty_file_is_refused(folder: Path, name) -> None:
    (folder / "lda-1k" / name).write_text("")
    with pytest.raises(FileError, match=rf"{name} (is empty, but needs|needs) one"):
        read_concepts(DataFolder(folder))


def test_missing_file_is_named(folder: Path) -> None:
    (folder / "lda-1k" / "sets_val.tsv").unlink()
    with pytest.raises(FileError, match=r"sets_val.tsv is missing"):
        read_concepts(DataFolder(folder))


def drawn(concepts, split="test", seed=1, known=None, **options):
    known = np.ones(len(concepts.words), dtype=bool) if known is None else known
    return dict(zip(TASKS, draw_tasks(concepts, known, split=split, seed=seed, **options), strict=True))


def test_set_targets_are_the_words_outside_the_query(concepts) -> None:
    task = drawn(concepts)["Set"]
    assert task.left == tuple(concepts.splits["test"]) and task.right == ()
    for index, targets in zip(task.left, task.targets, strict=True):
        assert targets == concepts.sets[index][5:]


def test_union_targets_are_drawn_from_both_sets(monkeypatch, concepts) -> None:
    monkeypatch.setattr(word_set_data, "UNION_TARGETS", 12)
    task = drawn(concepts)["Union"]
    assert len(task) == 15  # all pairs of six test sets
    for query, (a, b) in enumerate(zip(task.left, task.right, strict=True)):
        either = {*concepts.sets[a], *concepts.sets[b]} - {*concepts.query(a), *concepts.query(b)}
        assert len(set(task.targets[query])) == min(12, len(either)) and set(task.targets[query]) <= either


def test_intersection_and_difference_use_sets_with_ten_shared_words(concepts) -> None:
    tasks = drawn(concepts)
    for name in ("Intersect", "Difference"):
        task = tasks[name]
        assert len({frozenset(pair) for pair in zip(task.left, task.right, strict=True)}) == len(task)
        for query, (a, b) in enumerate(zip(task.left, task.right, strict=True)):
            shown = {*concepts.query(a), *concepts.query(b)}
            A, B = set(concepts.sets[a]), set(concepts.sets[b])
            assert len(A & B) >= 10 and task.shown(concepts, query) == tuple(sorted(shown))
            shared = (A & B) - shown
            assert set(task.targets[query]) == (shared if name == "Intersect" else A - B - shown)
            assert not task.leaks or set(task.leaks[query]) == shared
    assert any(a > b for a, b in zip(tasks["Difference"].left, tasks["Difference"].right, strict=True))


def test_tuning_uses_its_own_split_only(concepts) -> None:
    for split in ("train", "val"):
        used = {index for task in drawn(concepts, split).values() for index in (*task.left, *task.right)}
        assert used <= set(concepts.splits[split])
    pool = drawn(concepts)["Intersect"]
    assert {*pool.left, *pool.right} - set(concepts.splits["test"])


def test_seed_determines_the_tasks(concepts) -> None:
    assert drawn(concepts, seed=3) == drawn(concepts, seed=3) != drawn(concepts, seed=4)


def test_limit_keeps_the_first_queries(concepts) -> None:
    whole, few = drawn(concepts), drawn(concepts, limit=4)
    for name, task in few.items():
        assert len(task) == 4 and task.targets == whole[name].targets[:4] and task.left == whole[name].left[:4]


def test_sets_with_few_known_words_are_left_out(concepts) -> None:
    known = np.ones(len(concepts.words), dtype=bool)
    known[list(concepts.query(12)[:3])] = False
    tasks = drawn(concepts, known=known)
    usable = [index for index in range(18) if known[list(concepts.query(index))].sum() >= 3]
    assert 12 not in usable and tasks["Set"].left == tuple(range(12, 18))
    for name in TASKS[1:]:
        assert {*tasks[name].left, *tasks[name].right} <= set(usable)


def test_vectors_with_too_few_words_are_refused(concepts) -> None:
    with pytest.raises(InputError, match="there are no queries for the task Union"):
        drawn(concepts, known=np.zeros(len(concepts.words), dtype=bool))
