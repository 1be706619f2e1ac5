"""The metrics agree with other programs: POT, SciPy, gensim, scikit-learn, bert_score and the published DynaMax."""

import numpy as np
import pytest
from scipy.spatial import distance as spatial_distance

from softset import Idf, Scorer, load_encoder, load_words, metric
from softset.similarity.metrics import transport
from softset.similarity.metrics.bertscore import BertScore, SubspaceBertScore
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.transport import Wmd, Wrd
from tests.similarity.cases import ToyEncoder, rows_of, separate, sets_of

rng = np.random.default_rng(9)
LEFT = [rng.standard_normal((int(k), 6)) for k in rng.integers(1, 7, 12)]
RIGHT = [rng.standard_normal((int(k), 6)) for k in rng.integers(1, 7, 12)]
PAIRS = Pairs.of(sets_of(*LEFT), sets_of(*RIGHT))


def test_wmd_matches_pot() -> None:
    ot = pytest.importorskip("ot")
    result, rms = Wmd().distances(PAIRS), Wmd(distance="rms").distances(PAIRS)
    for index, (A, B) in enumerate(zip(LEFT, RIGHT, strict=True)):
        expected = ot.emd2(np.full(len(A), 1 / len(A)), np.full(len(B), 1 / len(B)), ot.dist(A, B, metric="euclidean"))
        assert result[index] == pytest.approx(expected, abs=1e-9)
        assert rms[index] == pytest.approx(expected / np.sqrt(6), abs=1e-9)
    assert np.abs(Wmd().compute(PAIRS).score - 1 / (1 + result)).max() < 1e-12


def test_distances_of_nearly_equal_rows() -> None:
    """Their squares drown in those of the rows: 1e6 + 1e-7 and 1e6 are at a distance, and equal rows are at none."""
    A = np.array([[1e6, 0.0], [3.0, 4.0]])
    B = np.array([[1e6 + 1e-7, 0.0], [3.0, 4.0], [3.0, 4.0 + 1e-9], [-3.0, 4.0]])
    expected = spatial_distance.cdist(A, B)
    assert transport._distances(A, B) == pytest.approx(expected, rel=1e-9)
    assert transport._distances(A, B)[1, 1] == 0


def test_wrd_matches_pot() -> None:
    ot = pytest.importorskip("ot")
    result = Wrd().distances(PAIRS)
    for index, (A, B) in enumerate(zip(LEFT, RIGHT, strict=True)):
        a, b = np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1)
        expected = ot.emd2(a / a.sum(), b / b.sum(), ot.dist(A, B, metric="cosine"))
        assert result[index] == pytest.approx(expected, abs=1e-9)
    assert np.abs(Wrd().compute(PAIRS).score - (1 - result)).max() < 1e-12


def test_wmd_matches_gensim() -> None:
    pytest.importorskip("ot")
    models = pytest.importorskip("gensim.models")
    left = ["the king walks in the park", "a red book", "the president greets the press in chicago"]
    right = ["a queen runs in the square", "a red book", "obama speaks to the media in illinois"]
    encoder = load_encoder("words")
    A, B = encoder.encode(left), encoder.encode(right)
    words = sorted({*A.tokens, *B.tokens})
    vectors = load_words()
    keyed = models.KeyedVectors(vector_size=encoder.dimensions)
    keyed.add_vectors(words, np.array([vectors[word] for word in words], dtype=np.float32))
    result = Wmd().distances(Pairs.of(A, B))
    for index in range(3):
        expected = keyed.wmdistance(A.tokens_of(index), B.tokens_of(index), norm=False)
        assert result[index] == pytest.approx(expected, abs=1e-4)
    assert result[1] == pytest.approx(0, abs=1e-9) and result[0] > 0.5


def published_dynamax(x: np.ndarray, y: np.ndarray, index: str) -> float:
    """The authors' own lines (github.com/Babylonpartners/fuzzymax), for the universe of both sentences."""
    u = np.vstack((x, y))
    m_x, m_y = (np.maximum(np.max(np.dot(s, u.T), axis=0), 0) for s in (x, y))
    m_inter = np.sum(np.minimum(m_x, m_y))
    match index:
        case "jaccard":
            return m_inter / np.sum(np.maximum(m_x, m_y))
        case "otsuka":
            return m_inter / np.sqrt(np.sum(m_x) * np.sum(m_y))
    return 2 * m_inter / (np.sum(m_x) + np.sum(m_y))


@pytest.mark.parametrize("index", ["jaccard", "otsuka", "dice"])
def test_dynamax_matches_the_published_code(index: str) -> None:
    result = metric(f"dynamax(index={index})").compute(PAIRS).score
    expected = [published_dynamax(A, B, index) for A, B in zip(LEFT, RIGHT, strict=True)]
    assert np.abs(result - expected).max() < 1e-12


@pytest.mark.parametrize("kind", ["apart", "one", "combined", "near"])
def test_membership_matches_scipy_subspace_angles(kind: str) -> None:
    from scipy.linalg import subspace_angles

    A, B = rows_of(kind, np.random.default_rng(3), 8), separate(np.random.default_rng(4), 3, 8)
    result = SubspaceBertScore().memberships(Pairs.of(sets_of(A), sets_of(B)))
    in_B = [np.cos(subspace_angles(a[:, None], B.T)[0]) for a in A]
    in_A = [np.cos(subspace_angles(b[:, None], A.T).min()) for b in B]
    assert np.abs(result - np.array(in_B + in_A)).max() < 1e-7


def test_grassmann_matches_scipy() -> None:
    from scipy.linalg import subspace_angles

    result = metric("grassmann").compute(PAIRS).score
    for index, (A, B) in enumerate(zip(LEFT, RIGHT, strict=True)):
        t = np.concatenate([subspace_angles(A.T, B.T), np.full(abs(len(A) - len(B)), np.pi / 2)])
        assert result[index] == pytest.approx(1 - np.sqrt((t**2).sum()) / (np.sqrt(len(t)) * np.pi / 2), abs=1e-9)


def test_tfidf_matches_scikit_learn() -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    references = ["the red book of the king", "a king walks in the park", "the queen", "red red red book"]
    candidates = ["king of the red park", "the the the a", "book queen", "walks"]
    theirs = text.TfidfVectorizer(analyzer=str.split, smooth_idf=True, norm="l2").fit(references)
    expected = (theirs.transform(candidates) @ theirs.transform(references).T).toarray()
    encoder = ToyEncoder()
    A, B = encoder.encode(candidates), encoder.encode(references)
    assert np.abs(metric("tfidf").compute_matrix(A, B, Idf.fit(B)).score - expected).max() < 1e-9
    scores = Scorer(encoder, metric="tfidf").score(candidates, references)
    assert np.abs(scores.score - np.diag(expected)).max() < 1e-9


@pytest.mark.torch
@pytest.mark.parametrize("weights", ["none", "idf"])
def test_bertscore_matches_bert_score(weights: str) -> None:
    torch = pytest.importorskip("torch")
    utils = pytest.importorskip("bert_score.utils")
    encoder = ToyEncoder()
    texts = (  # of 1 or 3 and more words: bert_score takes 2 for the two marks of an empty text
        ["the red book of a king", "queen", "walks in the park and in the book"],
        ["red", "king queen a", "in a red park"],
    )
    A, B = (encoder.encode(side) for side in texts)
    idf = Idf.fit(B)

    def one(sets, index):  # alone: in a batch its pads are zeros, which win over negative cosines
        weight = idf.weights(sets.tokens_of(index)) if weights == "idf" else np.ones(len(sets[index]))
        X = torch.from_numpy(sets[index].copy())[None]
        return X, torch.ones(X.shape[:2]), torch.from_numpy(weight)[None].float()

    result = BertScore(weights=weights).compute(Pairs.of(A, B, idf=idf))
    for index in range(3):
        theirs = utils.greedy_cos_idf(*one(B, index), *one(A, index))
        assert [float(values[index]) for values in result] == pytest.approx(
            [float(values[0]) for values in theirs], abs=1e-5
        )
