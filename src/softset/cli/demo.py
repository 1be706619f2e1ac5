"""`softset demo`: the algebra in one minute, on toy vectors that a person can check by hand."""

import click

__all__ = ["demo"]

# Eight things by six properties, each from 0 to 3: warm colour, cool colour, sweet, juicy, animal, large.
THINGS = {
    "red": (3, 0, 0, 0, 0, 0),
    "blue": (0, 3, 0, 0, 0, 0),
    "orange": (2, 0, 1, 2, 0, 0),
    "peach": (0, 0, 2, 3, 0, 0),
    "banana": (0, 0, 3, 1, 0, 0),
    "whale": (0, 1, 0, 0, 2, 3),
    "fox": (1, 0, 0, 0, 3, 0),
    "house": (0, 0, 0, 0, 0, 3),
}


@click.command()
def demo() -> None:
    """Show the algebra on eight toy vectors.

    \b
    Example:
      softset demo
    """
    from softset import GradedSubspace, SoftSet, Subspace

    colour = Subspace.span([THINGS["red"], THINGS["blue"]])
    fruit = Subspace.span([THINGS["peach"], THINGS["banana"]])
    big = Subspace.span([THINGS["house"]])
    sets: dict[str, SoftSet] = {
        "colour": colour,
        "fruit": fruit,
        "colour | fruit": colour | fruit,
        "~colour": ~colour,
        "fruit.without(big)": fruit.without(big),
        "graded fruit": GradedSubspace.of([THINGS["peach"], THINGS["banana"]], aperture=2),
    }
    click.echo("Sets spanned by a few examples: colour = {red, blue}, fruit = {peach, banana}, big = {house}.\n")
    click.echo(f"{'':20}" + "".join(f"{name:>8}" for name in THINGS))
    vectors = list(THINGS.values())
    for name, members in sets.items():
        click.echo(f"{name:20}" + "".join(f"{m:8.2f}" for m in members.membership(vectors)))
    click.echo(f"\ncolour & fruit  is {colour & fruit}: they share no direction exactly.")
    inside = list(THINGS["orange"]) in colour | fruit
    click.echo(f"colour | fruit  is {colour | fruit}, and orange is all in it: {inside}.")
    click.echo(f"~(colour | fruit) == ~colour & ~fruit  is {~(colour | fruit) == ~colour & ~fruit}.")
