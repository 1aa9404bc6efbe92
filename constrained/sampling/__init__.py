"""How whole texts are chosen: several samples, the best of them, beams, and draws that follow the model exactly.

Masking draws each token among the allowed ones, and so favours texts that begin well and then can only go on badly: the
product of the masses that masks allowed (W) is missing from their probabilities. ``sampling="cars"`` draws texts with
exactly the model's own probabilities among those of the grammar, by rejection that learns; ``"asap"`` comes close to
them draw by draw; ``"smc"`` and ``"awrs"`` write several texts side by side and choose among them by their weights.

The texts meant are those of at most ``max_tokens`` tokens, each with its end token.
"""

from .choose import Drawer, keep_best
from .streams import sample_stream, stream_of_document

__all__ = ["Drawer", "keep_best", "sample_stream", "stream_of_document"]
