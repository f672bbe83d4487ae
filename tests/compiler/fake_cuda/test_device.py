"""The vtable slots of PyTorch's hooks."""

import pytest

pytest.importorskip("torch")

from irlens.compiler.fake_cuda.device import vtable_slots

HEADER = """
struct TORCH_API Hooks {
  // squelch -Werror=non-virtual-dtor; virtual void old() is gone
  virtual ~Hooks() = default;

  // Whether this device is built
  virtual bool isBuilt() const {
    return false;
  }

  bool notVirtual() const { return true; }

  virtual bool hasPrimaryContext(DeviceIndex device_index) const = 0;

  virtual const Generator& getDefaultGenerator(
      [[maybe_unused]] DeviceIndex device_index = -1) const;
};
"""


def test_vtable_slots_are_in_the_order_of_declaration() -> None:
    assert vtable_slots(HEADER) == {
        "~Hooks": 0, "isBuilt": 2, "hasPrimaryContext": 3, "getDefaultGenerator": 4,
    }  # fmt: skip


def test_an_override_has_the_slot_of_its_base() -> None:
    derived = HEADER + "struct More : Hooks { virtual bool isBuilt() const; virtual long own(); };"
    assert vtable_slots(derived) == {**vtable_slots(HEADER), "own": 5}


def test_a_declaration_without_functions_has_no_slots() -> None:
    assert vtable_slots("struct Hooks;") == {}
