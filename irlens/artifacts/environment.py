"""Variables of this process's environment, and so of the processes that it starts."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def with_variables(settings: Mapping[str, str], without: Iterable[str] = ()) -> Iterator[None]:
    """Set variables in a context, and leave out others."""
    before = {name: os.environ.get(name) for name in (*settings, *without)}
    for name in without:
        os.environ.pop(name, None)
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
