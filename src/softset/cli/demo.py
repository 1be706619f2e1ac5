"""`softset demo`: the main features with the bundled vectors and encoder, in half a minute."""

import click

QUERIES = (
    "{red, blue, green} & {apple, peach, banana}",
    "{rider, bike, bicycle} | {island, fishing, sea}",
    "{mercury, venus} BUT NOT {planet, mars, jupiter}",
)


@click.command(short_help="Show the main features in half a minute.")
def demo() -> None:
    """Show the main features with the bundled vectors and encoder.

    \b
    Example:
      softset demo
    """
    from softset.search.words import load_words
    from softset.similarity.scorer import Scorer

    words = load_words()
    click.echo(f"{words}, bundled and offline\n")
    for query in QUERIES:
        click.echo(f"$ softset find '{query}' --top 4\n{words.find(query, top=4)}\n")
    colour, fruit = words.span(["red", "blue", "green"]), words.span(["apple", "peach", "banana"])
    click.echo("The sets in Python:\n")
    for code, value in (
        ("colour = words.span(['red', 'blue', 'green'])", colour),
        ("fruit = words.span(['apple', 'peach', 'banana'])", fruit),
        ("colour | fruit", colour | fruit),
        ("colour & fruit", f"{colour & fruit}, no direction is shared exactly"),
        ("colour.intersection(fruit, alpha=0.5)", colour.intersection(fruit, alpha=0.5)),
        ("colour.membership(words['orange'])", f"{colour.membership(words['orange']):.2f}"),
        ("fruit.membership(words['orange'])", f"{fruit.membership(words['orange']):.2f}"),
        ("~(colour | fruit) == ~colour & ~fruit", ~(colour | fruit) == ~colour & ~fruit),
    ):
        click.echo(f"{code:50} {value}")
    scorer = Scorer("minilm", metric="subspace", rescale="chance")
    pairs = [("Royalty rules.", "The king and the queen."), ("A bicycle race.", "The king and the queen.")]
    click.echo("\nThe similarity of two texts, rescaled so that unrelated texts score about 0 (bundled MiniLM):\n")
    for (candidate, reference), row in zip(pairs, scorer.stream(pairs), strict=True):
        click.echo(f"{candidate:16} {reference:25} P {row.precision:.2f}  R {row.recall:.2f}  F {row.score:.2f}")
    explanation = scorer.with_options(rescale=None).explain(*pairs[0])
    memberships = zip(explanation.candidate.tokens, explanation.views[0].candidate_membership, strict=True)
    click.echo(f"\nThe membership of each token of {pairs[0][0]!r} in {pairs[0][1]!r}:\n")
    click.echo("  ".join(f"{token} {membership:.2f}" for token, membership in memberships))
    click.echo(f"\nsoftset explain {pairs[0][0]!r} {pairs[0][1]!r} shows the details.")
    click.echo("softset --help lists the commands.")
