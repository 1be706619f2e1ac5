"""Draw the figures of docs/: `make pictures`."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from softset import GradedSubspace, Subspace, load_encoder

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
COLOURS = {"A": "#1b6ca8", "B": "#c8553d", "C": "#3a7d44", "grey": "#8a8a8a"}


def save(figure, name: str) -> None:
    # No date and fixed ids, so that an unchanged figure gives an identical file.
    figure.savefig(FOLDER / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def membership_around_the_circle() -> None:
    """Plot the membership of all directions of the plane in a line, its complement, and a graded set."""
    t = np.linspace(0, 2 * np.pi, 181)
    v = np.stack([np.cos(t), np.sin(t)], axis=1)
    line = Subspace.span([[1, 0.4]])
    examples = [[1, 0.4], [1, 0.0], [0.8, 0.7]]
    graded = GradedSubspace.of(examples, aperture=2)
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), subplot_kw={"projection": "polar"})
    for axis, (name, A, colour) in zip(
        axes,
        [("A, a line", line, "A"), ("~A", ~line, "B"), ("graded, three examples", graded, "C")],
        strict=True,
    ):
        axis.plot(t, A.membership(v), color=COLOURS[colour], linewidth=2)
        axis.fill(t, A.membership(v), color=COLOURS[colour], alpha=0.15)
        axis.set_title(name, fontsize=10)
        axis.set_rticks([0.5, 1])
        axis.set_xticklabels([])
    for x, y in examples:
        axes[2].plot([np.arctan2(y, x)], [1], "o", color=COLOURS["grey"])
    save(figure, "membership")


def grades_by_aperture() -> None:
    """Plot the grades of five directions as a function of the aperture."""
    random = np.random.default_rng(0)
    examples = random.standard_normal((5, 50)) + 1.2 * random.standard_normal(50)
    apertures = np.logspace(-1, 2, 60)
    grades = np.array([GradedSubspace.of(examples, aperture=a).grades for a in apertures])
    figure, axis = plt.subplots(figsize=(5, 3))
    axis.plot(apertures, grades, linewidth=2)
    axis.set_xscale("log")
    axis.set_xlabel("aperture")
    axis.set_ylabel("grade")
    axis.set_title("Small: like the mean. Large: the crisp subspace.", fontsize=10)
    save(figure, "grades")


def three_lines() -> None:
    """Plot three lines that show why distributivity fails: C is in A | B, but not in A or B."""
    figure, axis = plt.subplots(figsize=(3.2, 3.2))
    for name, angle in (("A", 0.0), ("B", 90.0), ("C", 45.0)):
        x, y = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        axis.plot([-x, x], [-y, y], color=COLOURS[name], linewidth=2.5)
        axis.annotate(name, (1.08 * x, 1.08 * y), color=COLOURS[name], ha="center", va="center", fontsize=13)
    axis.set_aspect("equal")
    axis.axis("off")
    save(figure, "three-lines")


def cosine_and_span() -> None:
    """Plot the larger cosine with two tokens, and the membership in their span, as a third token rotates."""
    t = np.radians(np.linspace(-180, 180, 361))
    tokens = np.array([[1.0, 0, 0], [np.cos(np.radians(70)), np.sin(np.radians(70)), 0]])
    plane = Subspace.span(tokens)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
    for axis, height in zip(axes, (0.0, 35.0), strict=True):
        h = np.radians(height)
        v = np.stack([np.cos(t) * np.cos(h), np.sin(t) * np.cos(h), np.full_like(t, np.sin(h))], axis=1)
        axis.plot(np.degrees(t), plane.membership(v), color=COLOURS["A"], linewidth=2, label="subspace: membership")
        axis.plot(np.degrees(t), (v @ tokens.T).max(axis=1), color=COLOURS["B"], linewidth=2, label="bertscore: cosine")
        for angle, name in ((0, "king"), (70, "queen")):
            axis.axvline(angle, color=COLOURS["grey"], linewidth=0.8, linestyle=":")
            axis.annotate(name, (angle, 1.08), ha="center", fontsize=9, color=COLOURS["grey"])
        axis.set_title("in their plane" if not height else f"{height:.0f} degrees above it", fontsize=10)
        axis.set_xlabel("direction of a third token, degrees")
        axis.set_xticks([-180, -90, 0, 90, 180])
    axes[0].set_ylim(-0.9, 1.25)
    axes[1].legend(frameon=False, fontsize=9, loc="lower right")
    save(figure, "cosine-and-span")


def chance_levels() -> None:
    """Plot the membership of an unrelated token as a function of the number of tokens in a set."""
    encoder = load_encoder("minilm", layer=4)
    text = (FOLDER.parent / "algebra.md").read_text(encoding="utf-8")
    units = encoder.encode([text])[0].astype(np.float64)[:384]
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    Q = np.linalg.qr(units.T)[0].T
    shares = np.einsum("ij,ij->i", Q @ encoder.second_moment, Q)
    k = np.arange(1, len(Q) + 1)
    figure, axis = plt.subplots(figsize=(5, 3))
    axis.plot(k, np.sqrt(np.cumsum(shares)), color=COLOURS["A"], linewidth=2, label="MiniLM, layer 4")
    axis.plot(k, np.sqrt(k / 384), color=COLOURS["grey"], linewidth=1.5, linestyle="--", label="sqrt(k / d)")
    axis.axvline(192, color=COLOURS["B"], linewidth=0.8, linestyle=":")
    axis.annotate("saturated from here on ", (192, 0.03), color=COLOURS["B"], fontsize=9, ha="right")
    axis.set_xlabel("tokens k in the set (of d = 384 dimensions)")
    axis.set_ylabel("chance level")
    axis.set_ylim(0, 1.02)
    axis.legend(frameon=False, fontsize=9, loc="lower right")
    save(figure, "chance")


if __name__ == "__main__":
    plt.rcParams.update({"svg.hashsalt": "softset", "axes.spines.top": False, "axes.spines.right": False})
    membership_around_the_circle()
    grades_by_aperture()
    three_lines()
    cosine_and_span()
    chance_levels()
    print(*(f"wrote {path.relative_to(FOLDER.parent.parent)}" for path in sorted(FOLDER.glob("*.svg"))), sep="\n")
