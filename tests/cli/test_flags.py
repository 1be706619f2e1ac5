"""No flag has two names or two meanings: the same flag has the same type and meaning in every verb."""

from collections import defaultdict
from collections.abc import Iterator

import click
import pytest

from softset import cli
from softset.cli.options import SingleOption

# Second names, or names with a second meaning, such as those of 0.6; each parameter has one name in every verb.
OLD_FLAGS = {
    "--several": "--multi-reference",
    "--min": "--min-score",
    "--in": "--collection",
    "--with-examples": "--include-examples",
    "--restrict": "--restrict-vocab",
    "--special": "--special-tokens",
    "--encoder": "--model",
    "--output": "--out",
    "--metrics": "--metric",
    "--datasets": "--dataset",
    "--sets": "--named-sets",
    "--text": "--inline, --text-field or --text-form",
    "--id": "--id-field",
    "--candidate": "--candidate-field",
    "--candidate-column": "--candidate-field",
    "--reference-column": "--reference-field",
    "--text-column": "--text-field",
    "--id-column": "--id-field",
    "--reference": "--reference-field",
    "--vector": "--vector-field",
    "--block": "--block-size",
    "--store": "--out",
    "--uri": "--out",
}


def commands(group: click.Group, path: str = "softset") -> Iterator[tuple[str, click.Command]]:
    """Yield all commands with their paths."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def options() -> Iterator[tuple[str, click.Option, str]]:
    """Yield (flag, option, path of the command) for all commands."""
    for path, command in commands(cli.softset):
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                for flag in (*parameter.opts, *parameter.secondary_opts):
                    yield flag, parameter, path


def type_of(option: click.Option) -> tuple[str, object, object]:
    choices = tuple(getattr(option.type, "choices", ()))
    return "flag" if option.is_flag else type(option.type).__name__, choices or None, option.metavar


def meaning_of(option: click.Option) -> str:
    """Return the first word of the help text: a noun, or a verb for a switch."""
    assert option.help
    return option.help.split()[0].rstrip(":,;.")


def test_same_flag_has_the_same_type_and_meaning_in_every_verb() -> None:
    declared: dict[str, dict[object, list[str]]] = defaultdict(lambda: defaultdict(list))
    for flag, option, path in options():
        declared[flag][type_of(option), meaning_of(option)].append(path)
    assert len(declared) > 80
    assert {flag: dict(kinds) for flag, kinds in declared.items() if len(kinds) > 1} == {}


def test_no_old_flag_is_left() -> None:
    assert {(flag, path, OLD_FLAGS[flag]) for flag, _, path in options() if flag in OLD_FLAGS} == set()


def test_a_parameter_has_one_name() -> None:
    """One meaning is not spelled two ways: options with the same help have the same flag."""
    flags = defaultdict(set)
    for flag, option, _ in options():
        if flag.startswith("--"):
            flags[option.help].add(option.opts[-1])
    assert {text: names for text, names in flags.items() if len(names) > 1} == {}


def test_a_single_option_given_twice_is_refused_in_every_verb() -> None:
    """click alone would silently use the last value."""
    single = [(option, path) for _, option, path in options() if not option.is_flag and not option.multiple]
    assert len(single) > 80
    assert [(path, option.opts) for option, path in single if not isinstance(option, SingleOption)] == []


@pytest.mark.parametrize(("path", "command"), list(commands(cli.softset)))
def test_help_has_a_sentence_and_an_example(path: str, command: click.Command) -> None:
    assert command.help and "Example" in command.help and f"{path} " in f"{command.help}\n".replace("\n", " ")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            sentence = (parameter.help or "").split("  [")[0]
            assert sentence and sentence[0].isupper() and sentence.endswith((".", ")")), parameter.opts
