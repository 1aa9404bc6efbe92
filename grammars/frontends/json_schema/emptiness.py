"""Which shapes allow some finite value at all, and why a schema allows none."""

from __future__ import annotations

from collections.abc import Sequence

from .arrays import longest_array
from .objects import count_is_possible
from .shapes import ArrayShape, Node, ObjectShape
from .undeclared import can_serve_all

__all__ = ["settle", "why_empty"]


def settle(shapes: Sequence[ArrayShape | ObjectShape]) -> None:
    """Set ``productive`` on every shape: the least fixed point, so that a value that must hold itself is none."""
    open_shapes = list(reversed(shapes))  # what is inside comes first
    while True:
        left = []
        for shape in open_shapes:
            shape.productive = _allows_some(shape)
            if not shape.productive:
                left.append(shape)
        if len(left) == len(open_shapes) or not left:
            return
        open_shapes = left


def _allows_some(shape: ArrayShape | ObjectShape) -> bool:
    if shape.problems:
        return True  # it will be refused; what it would have allowed is not known
    if isinstance(shape, ArrayShape):
        longest = longest_array(shape)
        return longest is None or longest >= shape.minimum
    for _, node, required in shape.members:
        if required and not node.is_productive:
            return False
    if shape.some and not can_serve_all(shape):
        return False
    if shape.minimum == 0 and shape.maximum is None:
        return True
    live = sum(node.is_productive for _, node, _ in shape.members)
    return count_is_possible(shape, live, any(node.is_productive for _, node in shape.extras))


def why_empty(root: Node) -> str:
    """Where and why nothing is allowed, following the first required part that allows nothing."""
    node, path, seen = root, "", set[int]()
    while id(node) not in seen:
        seen.add(id(node))
        if node.is_empty:
            where = f" (schema at {node.pointer})" if node.pointer else ""
            return f"at {path or 'the root'}: {node.reason or 'its keywords exclude each other'}{where}"
        if node.objects:
            shape = node.objects[0]
            needed = next(
                ((name, inner) for name, inner, required in shape.members if required and not inner.is_productive), None
            )
            if needed is None:
                return f"at {path or 'the root'}: more properties are required than are allowed"
            path, node = f"{path}/{needed[0]}", needed[1]
            continue
        array = node.arrays[0]
        longest = longest_array(array)
        if array.maximum is not None and array.minimum > array.maximum:
            return f"at {path or 'the root'}: minItems {array.minimum} is above maxItems {array.maximum}"
        blocked = array.prefix_nodes[longest] if longest is not None and longest < len(array.prefix_nodes) else None
        inner = blocked if blocked is not None else array.items_node
        if inner is None:
            break
        path, node = f"{path}/{longest}", inner
    return f"at {path or 'the root'}: the value would have to hold itself without end"
