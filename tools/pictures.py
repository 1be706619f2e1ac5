"""Draw the pictures of docs/: `make pictures`."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from softset import GradedSubspace, Subspace

HERE = Path(__file__).parent.parent / "docs" / "pictures"
COLOURS = {"A": "#1b6ca8", "B": "#c8553d", "C": "#3a7d44", "grey": "#8a8a8a"}


def save(figure, name: str) -> None:
    # No date and fixed ids, so that the same picture is the same file.
    figure.savefig(HERE / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def membership_around_the_circle() -> None:
    """Membership of every direction of the plane in a line, its complement, and a graded set."""
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
    """How the grades of five directions rise from the strongest alone to all alike."""
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
    """Why distributivity fails: C lies in A | B, but shares nothing with A or with B."""
    figure, axis = plt.subplots(figsize=(3.2, 3.2))
    for name, angle in (("A", 0.0), ("B", 90.0), ("C", 45.0)):
        x, y = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        axis.plot([-x, x], [-y, y], color=COLOURS[name], linewidth=2.5)
        axis.annotate(name, (1.08 * x, 1.08 * y), color=COLOURS[name], ha="center", va="center", fontsize=13)
    axis.set_aspect("equal")
    axis.axis("off")
    save(figure, "three-lines")


if __name__ == "__main__":
    plt.rcParams.update({"svg.hashsalt": "softset", "axes.spines.top": False, "axes.spines.right": False})
    membership_around_the_circle()
    grades_by_aperture()
    three_lines()
    print(*(f"wrote {path.relative_to(HERE.parent.parent)}" for path in sorted(HERE.glob("*.svg"))), sep="\n")
