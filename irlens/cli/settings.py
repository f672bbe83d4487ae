"""Parameters of commands, gathered in frozen records."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])
Record = TypeVar("Record")
Result = TypeVar("Result")

#: The values of a command's parameters by name.
Values: TypeAlias = dict[str, Any]


def with_options(
    options: Sequence[Callable[[F], F]], adapt: Callable[[Values], Values]
) -> Callable[[F], F]:
    """Return the decorator that adds options to a command.

    Args:
        options: Decorators of click, in the order of the help.
    """

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def run(*args: object, **values: Any) -> object:
            return command(*args, **adapt(values))

        decorated = cast(F, run)
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def gathered(values: Values, name: str, record: type[Record]) -> Values:
    """Return the values with those that are fields of a record replaced by the record.

    Args:
        record: A class whose annotations name parameters.
    """
    fields = record.__annotations__
    others = {key: value for key, value in values.items() if key not in fields}
    return {**others, name: record(**{field: values[field] for field in fields})}


def received_as(
    record: Callable[..., Record],
) -> Callable[[Callable[[Record], Result]], Callable[..., Result]]:
    """Return the decorator of a command that receives all of its parameters as one record."""

    def decorate(command: Callable[[Record], Result]) -> Callable[..., Result]:
        @functools.wraps(command)
        def run(**values: Any) -> Result:
            return command(record(**values))

        return run

    return decorate
