"""Matrix products as facts: the types of their operands, and those they are computed in."""

from collections.abc import Iterator

from irlens.model.products import MatrixProduct
from irlens.model.report import Report
from irlens.model.terms import Terms
from irlens.model.text import plural
from irlens.render.view.details import at
from irlens.render.view.drawings import nearest
from irlens.render.view.memory_traffic import traffic_stage
from irlens.render.view.nodes import Fact, Run, Tone, phrases, text

#: Products that are listed; those of unrolled loops are alike.
_MOST = 6


def product_facts(report: Report) -> Iterator[Fact]:
    """Yield a fact for each product, those at one place and alike once."""
    alike: dict[object, MatrixProduct] = {}
    for product in report.products:
        key = (product.source, product.shape, product.operands, product.computed)
        alike.setdefault(key, product)
    listed = list(alike.values())
    yield from (_fact(product, report) for product in listed[:_MOST])
    if (rest := len(listed) - _MOST) > 0:
        yield Fact("", text(Run(f"and {plural(rest, 'product')} more", "dim")))


def _fact(product: MatrixProduct, report: Report) -> Fact:
    terms = Terms(report)
    tone: Tone = "neutral"
    if product.computed is None:
        value, tone = f"{product.operands}, the type that it is computed in is unknown", "unknown"
    elif product.computed == product.operands and not product.slows_down:
        value = product.operands
    else:
        value = f"{product.operands} computed {product.computed_how}"
    slower = ""
    if product.slows_down:
        tone, slower = "warn", f"{product.slowdown:.3g} × the time of its own type"
    place = nearest(product.source, traffic_stage(report), product.line)
    unit = product.instruction
    if unit is None and product.on_tensor_cores is False:
        unit = f"without {terms.tensor_core}s"
    first = phrases(
        text(" × ".join(map(str, product.shape)), *at(place)),
        unit or "",
        f"{product.repeated} products for each" if product.repeated > 1 else "",
        slower,
    )
    reason = phrases(Run(product.reason, "dim"))
    return Fact(
        "Product", text(Run(value, tone)), tuple(e for e in (first, reason) if e.items), tone
    )
