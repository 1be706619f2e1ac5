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
    from softset.retrieval.words import load_words

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
    """Show how much each token of a text belongs to another text."""
    from softset.algebra import Subspace
    from softset.embed.encoders.loading import load_encoder

    reference, *others = "The king and the queen.", "Royalty rules.", "A bicycle race."
    encoder = load_encoder("minilm", layer=4)
    sets = encoder.encode([reference, *others])
    court = Subspace.span(sets[0])
    click.echo(f"\nTexts as sets of token vectors ({encoder.signature.partition('|')[0]}), bundled and offline:\n")
    for at, text in enumerate(others, 1):
        shares = zip(sets.tokens_of(at), court.membership(sets[at]), strict=True)
        told = "  ".join(f"{token} {share:.2f}" for token, share in shares)
        click.echo(f"{text:16} in {reference!r}: {told}")
