"""The slow twin of the machine, where tests look for it; users have it too."""

from constrained.testing.recogniser import Chart, Item, Recogniser, accepts, mask, viable

__all__ = ["Chart", "Item", "Recogniser", "accepts", "mask", "viable"]
