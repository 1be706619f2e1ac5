"""`softset demo`: what softset does, in half a minute, on what is bundled."""

import click

__all__ = ["demo"]


@click.command()
def demo() -> None:
    """Show the main jobs on the bundled vectors and encoder.

    \b
    Example:
      softset demo
    """
    from softset.search.words import load_words

    words = load_words()
    click.echo(f"{words}, bundled and offline\n")
    for query in (
        "{red, blue, green} & {apple, peach, banana}",
        "{rider, bike, bicycle} | {island, fishing, sea}",
        "{mercury, venus} BUT NOT {planet, mars, jupiter}",
    ):
        click.echo(f"$ softset find '{query}' --top 4\n{words.find(query, top=4)}\n")
    colour, fruit = words.span(["red", "blue", "green"]), words.span(["apple", "peach", "banana"])
    click.echo("The sets themselves, in Python:\n")
    click.echo(f"colour = words.span(['red', 'blue', 'green'])      {colour}")
    click.echo(f"fruit = words.span(['apple', 'peach', 'banana'])   {fruit}")
    click.echo(f"colour | fruit                                     {colour | fruit}")
    click.echo(f"colour & fruit                                     {colour & fruit}, no direction is shared exactly")
    click.echo(f"colour.intersection(fruit, alpha=0.5)              {colour.intersection(fruit, alpha=0.5)}")
    click.echo(f"colour.membership(words['orange'])                 {colour.membership(words['orange']):.2f}")
    click.echo(f"fruit.membership(words['orange'])                  {fruit.membership(words['orange']):.2f}")
    click.echo(f"~(colour | fruit) == ~colour & ~fruit              {~(colour | fruit) == ~colour & ~fruit}")
    _show_texts()


def _show_texts() -> None:
    """Show how alike texts are, and what single tokens give to that."""
    from softset.similarity.scorer import Scorer

    scorer = Scorer("minilm", layer=4, metric="subspace", rescale="chance")
    pairs = [("Royalty rules.", "The king and the queen."), ("A bicycle race.", "The king and the queen.")]
    click.echo("\nHow alike two texts are, counted from chance (all-MiniLM-L6-v2, bundled and offline):\n")
    for (candidate, reference), row in zip(pairs, scorer.stream(pairs), strict=True):
        click.echo(f"{candidate:16} {reference:25} P {row.precision:.2f}  R {row.recall:.2f}  F {row.score:.2f}")
    why = scorer.with_options(rescale=None).explain(*pairs[0])
    told = zip(why.candidate.tokens, why.views[0].candidate_membership, strict=True)
    click.echo(f"\nHow much each token of {pairs[0][0]!r} belongs to {pairs[0][1]!r}:\n")
    click.echo("  ".join(f"{token} {share:.2f}" for token, share in told))
    click.echo(f"\nsoftset explain {pairs[0][0]!r} {pairs[0][1]!r} --layer 4   shows where that comes from")
