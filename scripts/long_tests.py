"""Renew the list of long tests, ``tests/long.txt``, from how long a run of all tests took.

    pytest -n auto --extent all --junitxml=times.xml && python scripts/long_tests.py times.xml

A test is long if it takes more than a second, or if the rows of its table after the first take more
than half a second. The usual tests are without it, or with the first row alone; the project's own
check runs all.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

TESTS = Path(__file__).parents[1] / "tests"
_SECONDS = 1.0
#: Of all rows but one.
_ROWS_SECONDS = 0.5


def long_tests(report: Path) -> list[str]:
    """Return the ids of the long tests of a JUnit report, without rows."""
    seconds = defaultdict[str, list[float]](list)
    for case in ElementTree.parse(report).iter("testcase"):
        file, _, group = re.sub(
            r"^(tests(?:\.\w+)*?\.test_\w+)", lambda found: found[1].replace(".", "/") + ".py",
            case.get("classname", ""),
        ).partition(".py")  # fmt: skip
        name = "::".join(filter(None, [f"{file}.py", group.strip("."), case.get("name", "")]))
        test, is_row, _ = name.partition("[")
        seconds[test + is_row].append(float(case.get("time", "0")))
    return sorted(
        test.removesuffix("[")
        for test, times in seconds.items()
        if (
            sum(times) * (1 - 1 / len(times)) > _ROWS_SECONDS
            if test.endswith("[")
            else sum(times) > _SECONDS
        )
    )


if __name__ == "__main__":
    (TESTS / "long.txt").write_text("".join(f"{each}\n" for each in long_tests(Path(sys.argv[1]))))
