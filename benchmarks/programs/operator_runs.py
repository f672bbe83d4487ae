"""Runs a library's operators one by one, forward and backward, for the drivers in ``programs``."""

import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils._pytree import tree_leaves


def size(name: str, default: int) -> int:
    """Return a size, which a variable of the environment may set."""
    return int(os.environ.get(f"OPERATOR_{name}", default))


def run(operators: Mapping[str, Callable[[], Any]]) -> None:
    """Run operators by name; an operator that fails does not keep the others from running.

    Raises:
        SystemExit: Some failed.
    """
    failed = {}
    for name, operator in operators.items():
        try:
            _differentiate(operator())
        except Exception as error:  # whatever a library may raise
            traceback.print_exc()
            failed[name] = f"{type(error).__name__}: {error}".partition("\n")[0]
    print(f"{len(operators) - len(failed)} of {len(operators)} operators ran")
    if failed:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        sys.exit(f"RunError: {len(failed)} of {len(operators)} operators failed: {reasons}")


def _differentiate(results: Any) -> None:
    """Run the backward pass of all results that have one."""
    tensors = [each for each in tree_leaves(results) if isinstance(each, torch.Tensor)]
    outputs = [each for each in tensors if each.requires_grad]
    if outputs:
        torch.autograd.backward(outputs, [torch.ones_like(each) for each in outputs])
