"""What types and attributes have in common with operations: traits, and interfaces that other packages attach."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar, cast

I = TypeVar("I")  # noqa: E741  (an interface class)


class Extensible:
    """Base of types and attributes.

    A class has the interfaces that it inherits from, and those that were attached to it or to a base of it. So has it
    traits: those of its `traits`, of its bases, and attached ones.
    """

    __slots__ = ()

    traits: ClassVar[frozenset[type]] = frozenset()
    """The facts that a class states about all that it makes, besides those of its bases."""
    attached: ClassVar[dict[type, type]]
    """The models of interfaces that were attached to the class itself; made when the first one is."""
    attached_traits: ClassVar[frozenset[type]]
    """The traits that were attached to the class itself."""

    def interface(self, interface: type[I]) -> I | None:
        """What answers for an interface: this itself, a model that was attached, or None. O(bases of its class)."""
        if isinstance(self, interface):
            return self
        for cls in type(self).__mro__:
            model = cls.__dict__.get("attached", _NOTHING).get(interface)
            if model is not None:
                return cast("I", model(self))
        return None

    @classmethod
    def has_trait(cls, trait: type) -> bool:
        """Whether the class, or a base of it, states the trait."""
        return any(
            trait in base.__dict__.get("traits", ()) or trait in base.__dict__.get("attached_traits", ())
            for base in cls.__mro__
        )


_NOTHING: dict[Any, Any] = {}
