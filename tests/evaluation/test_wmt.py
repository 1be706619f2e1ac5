"""Metrics on judged translations: taus are those of the scores one gets by hand, whatever the blocks and the parts."""

import sys
from itertools import pairwise

import numpy as np
import pytest

import softset
from softset.errors import InputError, MissingExtraError
from softset.evaluation import wmt_scores
from softset.evaluation.data import Data
from softset.evaluation.methods import Method
from softset.evaluation.wmt import METRICS, WmtRun, with_parts
from softset.evaluation.wmt_data import chosen_pairs, read_pair
from softset.evaluation.wmt_scores import CHRF, segment_blocks, sentence_chrf, translation_scores
from softset.io.checkpoint import checkpoint
from tests.evaluation.wmt_cases import JUDGEMENTS, REFERENCES, TRANSLATIONS, real_data, write_pair

WORDS = softset.load_encoder("words")


def methods(*names: str) -> list[Method]:
    return with_parts(Method.named(name) for name in names)


def evaluated(folder, pairs=("cs-en",), metrics=METRICS, encoder=WORDS, limit=None, chrf=None, **options):
    data = Data(folder)
    given = [read_pair(data, name, limit) for name in chosen_pairs(data, pairs)]
    return WmtRun(encoder, methods(*metrics), chrf=chrf, **options).table(given)


def by_hand(scorer, part: str) -> float:
    """Return tau by a loop over the judgements, each translation scored alone."""
    agree = 0
    for sid, better, worse, *_ in JUDGEMENTS:
        good, bad = (
            getattr(scorer.score([TRANSLATIONS[one][sid - 1]], [REFERENCES[sid - 1]]), part)[0]
            for one in (better, worse)
        )
        agree += 1 if good > bad else -1
    return agree / len(JUDGEMENTS)


@pytest.mark.parametrize(
    "name", ["bertscore", "softset", "subspace", "subspace+chance", "subspace(aperture=2)", "average"]
)
def test_taus_are_those_of_scores_by_hand(tmp_path, name) -> None:
    write_pair(tmp_path)
    table = evaluated(tmp_path, metrics=[name], samples=20)
    scorer = softset.Scorer("words", metric=name.removesuffix("+chance"), rescale="chance" if "+" in name else None)
    assert table.value(name, "cs-en", "kendall") == pytest.approx(by_hand(scorer, "score"))
    if name != "average":
        assert table.value(f"{name} P", "cs-en", "kendall") == pytest.approx(by_hand(scorer, "precision"))
        assert table.value(f"{name} R", "cs-en", "kendall") == pytest.approx(by_hand(scorer, "recall"))


def test_rows_say_what_they_are(tmp_path) -> None:
    write_pair(tmp_path)
    table = evaluated(tmp_path, samples=50)
    assert table.baseline == "bertscore" and [one for one in table.methods if one in METRICS] == list(METRICS)
    assert "average" in table.methods and "average P" not in table.methods  # one number stands for all three
    for row in table.rows:
        assert (row.task, row.dataset, row.metric, row.n) == ("wmt", "cs-en", "kendall", 6)
        assert row.low <= row.value <= row.high and row.seconds >= 0
        assert (row.p is None) == (row.method == "bertscore")
        assert row.default == (row.method == "softset")
    assert table.facts["seed"] == 12345 and table.facts["samples"] == 50
    assert table.facts["encoder"] == WORDS.signature


def test_without_bertscore_nothing_is_tested(tmp_path) -> None:
    write_pair(tmp_path)
    table = evaluated(tmp_path, metrics=["subspace", "subspace(weights=none)"])
    assert table.baseline is None and {row.p for row in table.rows} == {None}
    assert table.methods == ["subspace", "subspace P", "subspace R"]


def test_several_pairs_have_a_mean_and_are_computed_apart(tmp_path) -> None:
    write_pair(tmp_path)
    write_pair(tmp_path, "de-en", JUDGEMENTS[:4])
    table = evaluated(tmp_path, ["all"], metrics=["bertscore"])
    alone = evaluated(tmp_path, ["de-en"], metrics=["bertscore"])
    assert [dataset for dataset, _ in table.columns] == ["cs-en", "de-en", "Avg"]
    assert [(one.value, one.low, one.high) for one in alone.rows] == [
        (one.value, one.low, one.high) for one in table.rows if one.dataset == "de-en"
    ]
    mean = table.row("bertscore P", "Avg", "kendall")
    both = [table.row("bertscore P", one, "kendall") for one in ("cs-en", "de-en")]
    assert mean.value == pytest.approx(sum(one.value for one in both) / 2) and mean.n == 10
    assert mean.seconds == pytest.approx(sum(one.seconds for one in both), abs=1e-3)
    assert min(one.low for one in both) <= mean.low <= mean.value <= mean.high <= 1 and 0 < mean.p <= 1
    assert table.row("bertscore", "Avg", "kendall").p is None


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_blocks_are_whole_segments_and_change_nothing(tmp_path, monkeypatch, size) -> None:
    write_pair(tmp_path)
    pair = read_pair(Data(tmp_path), "cs-en")
    cut = [(one.start, one.stop) for one in segment_blocks(pair.owner, size)]
    assert cut[0][0] == 0 and cut[-1][1] == 8 and all(a[1] == b[0] for a, b in pairwise(cut))
    assert all(pair.owner[stop - 1] < pair.owner[stop] for _, stop in cut[:-1])
    whole = translation_scores(WORDS, methods("subspace"), pair)
    monkeypatch.setattr(wmt_scores, "TEXTS", size)
    seen = []
    parts = translation_scores(WORDS, methods("subspace"), pair, lambda done, total: seen.append((done, total)))
    for name, values in whole.values.items():
        assert np.allclose(parts.values[name], values, atol=1e-6)
    assert seen == [(stop, 8) for _, stop in cut]


def test_each_text_is_encoded_once_in_a_block_and_shared_translations_tie(tmp_path) -> None:
    pair = write_pair(tmp_path)
    for system in ("good", "fair"):
        (pair / "hyp" / f"{system}.txt").write_text("A red book.\n" * 4)
    given: list[str] = []

    class Counting:
        signature, dimensions, second_moment = WORDS.signature, WORDS.dimensions, None

        def encode(self, texts, *, progress=None):
            given.extend(texts)
            return WORDS.encode(texts, progress=progress)

    judged = read_pair(Data(tmp_path), "cs-en")
    scored = translation_scores(Counting(), methods("subspace", "average"), judged)
    assert len(given) == len(set(given)) == len({*judged.translations, *judged.references})
    values = scored.values["subspace"]
    assert values[judged.better[0]] == values[judged.worse[0]]


def test_an_empty_translation_scores_nothing_and_is_told(tmp_path) -> None:
    write_pair(tmp_path)
    notes: list[str] = []
    evaluated(tmp_path, metrics=["subspace"], note=notes.append)
    assert notes[0].startswith("cs-en: 6 judgements of 3 segments in ")
    assert notes[0].endswith(" s, 1 of the translations empty")
    pair = read_pair(Data(tmp_path), "cs-en")
    scored = translation_scores(WORDS, methods("subspace", "bertscore", "average"), pair)
    assert {values[pair.translations.index("")] for values in scored.values.values()} == {0}


def test_scores_and_idf_weights_are_those_of_all_references(tmp_path, monkeypatch) -> None:
    write_pair(tmp_path)
    pair = read_pair(Data(tmp_path), "cs-en")
    monkeypatch.setattr(wmt_scores, "TEXTS", 2)
    name = "subspace(weights=idf)"
    scored = translation_scores(WORDS, methods(name), pair)
    idf = softset.Idf.fit(pair.references, model="words")
    references = [pair.references[at] for at in pair.owner]
    expected = softset.score(pair.translations, references, model="words", metric=name, idf=idf)
    found = [scored.values[one] for one in (name, f"{name} P", f"{name} R")]
    assert np.allclose(found, [expected.score, expected.precision, expected.recall], atol=1e-6)


def test_finished_pairs_are_not_computed_again(tmp_path, monkeypatch) -> None:
    for name in ("cs-en", "de-en"):
        write_pair(tmp_path, name)
    data = Data(tmp_path)
    given = [read_pair(data, name) for name in ("cs-en", "de-en")]
    run = WmtRun(WORDS, methods("bertscore", "average"), samples=30)
    whole, made_by = run.table(given), run.made_by({"data": data.checksums})
    real, calls = wmt_scores.translation_scores, []

    def interrupted(encoder, methods, pair, progress=None):
        calls.append(pair.name)
        if calls == ["cs-en", "de-en"]:
            raise KeyboardInterrupt
        return real(encoder, methods, pair, progress)

    monkeypatch.setattr("softset.evaluation.wmt.translation_scores", interrupted)
    path = tmp_path / "wmt.partial"
    with pytest.raises(KeyboardInterrupt), checkpoint(path, made_by) as parts:
        run.table(given, parts=parts)
    for other in (WmtRun(WORDS, methods("bertscore"), samples=30), WmtRun(WORDS, run.methods, samples=31)):
        changed = other.made_by({"data": data.checksums})
        with pytest.raises(InputError, match="was started with another"), checkpoint(path, changed, resume=True):
            pass
    with checkpoint(path, made_by, resume=True) as parts:
        resumed = run.table(given, parts=parts)
    assert calls == ["cs-en", "de-en", "de-en"]
    numbers = [[(row.dataset, row.method, row.value, row.low, row.p) for row in one.rows] for one in (whole, resumed)]
    assert numbers[0] == numbers[1]


def test_what_the_encoder_cannot_serve_is_left_out_and_told(tmp_path, monkeypatch) -> None:
    write_pair(tmp_path)
    notes: list[str] = []
    monkeypatch.setattr(type(WORDS), "second_moment", None)
    table = evaluated(tmp_path, samples=10, note=notes.append)
    assert "subspace+chance" not in table.methods and "subspace" in table.methods
    assert "softset" in table.methods
    assert notes[0] == "softset counts all tokens the same: the model's second moment is not known"
    assert notes[1] == "left out: subspace+chance, for which the model's chance level is not known"


def test_chrf_is_a_row_of_its_own(tmp_path, monkeypatch) -> None:
    write_pair(tmp_path)
    table = evaluated(tmp_path, metrics=["bertscore"], chrf=lambda text, reference: -len(text) + len(reference))
    assert table.methods == ["bertscore", "bertscore P", "bertscore R", CHRF]
    assert table.value(CHRF, "cs-en", "kendall") == pytest.approx(-2 / 3)  # the shorter is better in 1 of 6
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(MissingExtraError, match=r"^chrF needs sacrebleu: pip install sacrebleu$"):
        sentence_chrf()


def test_sacrebleus_chrf_has_its_known_tau_on_the_real_data() -> None:
    pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")
    table = evaluated(real_data(), metrics=["average"], chrf=sentence_chrf(), samples=20)
    assert table.value(CHRF, "cs-en", "kendall") == pytest.approx(0.290, abs=0.001)
    assert table.rows[0].n == 5110


def test_on_the_real_data_metrics_agree_with_people() -> None:
    table = evaluated(real_data(), encoder=softset.load_encoder("minilm", layer=2), limit=40, samples=100)
    assert all(table.value(name, "cs-en", "kendall") > 0.1 for name in ("bertscore", "subspace", "subspace+chance"))
