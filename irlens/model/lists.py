"""Lists as people and compilers write them."""


def split_list(text: str, brackets: str = "()[]{}") -> list[str]:
    """Split ``"M, cdiv(N, 2)"`` at the commas that are outside brackets.

    Args:
        text: The list. Blanks around its items are cut off; an item may be empty.
        brackets: Pairs that hold an item together.
    """
    opening, closing = brackets[::2], brackets[1::2]
    items, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character in opening) - (character in closing)
        if character == "," and depth == 0:
            items.append(text[start:index].strip())
            start = index + 1
    return [*items, text[start:].strip()]
