"""Names of keyword options: a misspelled one is refused with the nearest valid name."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, get_args

from softset.io.text import check_names

Function = TypeVar("Function", bound=Callable[..., Any])


def named_options(function: Function) -> Function:
    """Return a function that refuses keywords it does not have: the error lists the valid options.

    >>> @named_options
    ... def find(query, *, top=10): ...
    >>> find("red", topp=3)
    Traceback (most recent call last):
    softset.errors.InputError: there is no option 'topp'; did you mean 'top'? Options: top
    """
    valid, accepted = option_names(function)

    @wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        check_names((name for name in options if name not in accepted), valid, "option")
        return function(*arguments, **options)

    return checked  # type: ignore[return-value]


def option_names(function: Callable[..., Any]) -> tuple[list[str], set[str]]:
    """Return the options of a function, and all names that it accepts as keywords.

    The options are the parameters with a default, and the keys of the `TypedDict` of its **options.
    """
    parameters = inspect.signature(function).parameters.values()
    names = [key for parameter in parameters if parameter.kind is parameter.VAR_KEYWORD for key in _keys(parameter)]
    named = [parameter for parameter in parameters if parameter.kind in (parameter.KEYWORD_ONLY, _POSITIONAL)]
    options = [parameter.name for parameter in named if parameter.default is not parameter.empty] + names
    return options, {*options, *(parameter.name for parameter in named)}


_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _keys(parameter: inspect.Parameter) -> list[str]:
    (kind,) = get_args(parameter.annotation)  # Unpack[Options]
    return list(kind.__annotations__)
