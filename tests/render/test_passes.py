"""What a pass changed, in a line."""

from irlens.render.view.passes import operations


def test_what_changed_most_comes_first() -> None:
    """A pass that removes conversions says so, whatever else it moves."""
    came = {"tt.addptr": 1, "tt.expand_dims": 2, "tt.load": 1, "tt.make_range": 5, "tt.splat": 3}
    said = operations(came, {"ttg.convert_layout": 38, "arith.addi": 90})
    assert said.startswith("−38 ttg.convert_layout, +5 tt.make_range, +3 tt.splat")
    assert said.endswith("more kinds")
