"""What each token of a model writes, as bytes."""

from .vocabulary import Vocabulary

__all__ = ["Vocabulary"]
