"""Where a function of PTX ends, and the values and loops that are in it."""

import pytest

from irlens.diff.code.statements import read_code
from irlens.model.errors import ParseError
from tests.diff.code.stage_texts import code_of_text

_MODULE = """\
.version 8.7
.target sm_90a
.extern .func vprintf(.param .b64 format);
.extern .func  (.param .b32 func_retval0) __assert
(
	.param .b64 __assert_param_0
)
;
.visible .entry first(
	.param .u64 first_param_0
)
.pragma "nounroll";
.reqntid 128
{
	.reg .pred 	%p<3>;
$L__BB0_1:
	// begin inline asm
{
	.reg .pred complete; // }
	waitLoop:
	@!complete bra.uni waitLoop;
}
	// end inline asm
	mov.b64 	{%r1, %r2}, %rd1;
	@%p1 bra 	$L__BB0_1;
	ret;
}
.visible .entry second(
	.param .u64 second_param_0
)
{
	ret;
}
"""


def test_a_block_of_inline_assembly_ends_no_function() -> None:
    code = read_code(code_of_text("ptx", _MODULE)["ptx"])
    lines = _MODULE.split("\n")
    assert [each.name for each in code.functions] == ["vprintf", "__assert", "first", "second"]
    ends = [lines[each.last - 1].strip() for each in code.functions]
    assert ends == [".extern .func vprintf(.param .b64 format);", ";", "}", "}"]
    first, second = code.functions[2:]
    assert lines[first.last - 2].strip() == "ret;"
    assert second.first == first.last + 1


def test_behind_such_a_block_names_mean_the_same_values() -> None:
    (branch,) = (
        each
        for each in read_code(code_of_text("ptx", _MODULE)["ptx"]).statements
        if "%p1 bra" in each.text
    )
    assert [name.value for name in branch.names] == [("first", "%p1"), ("first", "$L__BB0_1")]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' * 100_000, "[1, 2]", "{"])
def test_metadata_that_is_no_object_or_nested_too_deeply_does_not_parse(
    text: str,
) -> None:
    with pytest.raises(ParseError, match="no JSON object"):
        read_code(code_of_text("metadata", text)["metadata"])
