"""A case: one call, and the same call of PyTorch. Generators of cases are listed by the name of their op."""
import dataclasses
import typing

from draw import Input

GENERATORS = {}


@dataclasses.dataclass
class Case:
    op: str
    arguments: list
    reference: typing.Callable  # takes the same arguments, tensors as PyTorch's
    order: int = 2              # derivatives that are compared
    slack: float = 16           # epsilons by which a result may differ ..
    local: bool = False         # .. of each element's own size; else of the largest number met as well

    def inputs(self):
        found = []

        def walk(value):
            if isinstance(value, Input):
                found.append(value)
            for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
                walk(each)
        walk(self.arguments)
        return found


def generator(*names):
    """Marks a function of (draw, op's name) that gives a Case."""
    def add(function):
        for name in names:
            assert name not in GENERATORS, name
            GENERATORS[name] = function
        return function
    return add


def replaced(value, table):
    """The arguments with each Input as table(input)."""
    if isinstance(value, Input):
        return table(value)
    if isinstance(value, dict):
        return {name: replaced(each, table) for name, each in value.items()}
    return [replaced(each, table) for each in value] if isinstance(value, list) else value
