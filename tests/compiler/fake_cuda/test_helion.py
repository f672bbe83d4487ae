"""The device that Helion finds of tensors of the fake device."""

from types import ModuleType

import pytest

torch = pytest.importorskip("torch")


def test_tensors_without_memory_are_on_the_fake_device() -> None:
    from irlens.compiler.fake_cuda.inductor import _find_on_cuda  # needs PyTorch

    module = ModuleType("helion._argument_device")
    module.__dict__["_leaf_device"] = lambda value: value.device
    _find_on_cuda(module)
    find = module.__dict__["_leaf_device"]
    assert find(torch.empty(2, device="meta")) == torch.device("cuda", 0)
    assert find(torch.empty(2)) == torch.device("cpu")
