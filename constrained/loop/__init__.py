"""The loop: prefill, then one pass for each choice that the grammar leaves."""

from constrained.loop.engine import Engine
from constrained.loop.generate import generate, generate_tokens, run_requests, stream_text
from constrained.loop.prefix_cache import PrefixCache
from constrained.loop.request import Request
from constrained.loop.row import Step

__all__ = ["Engine", "PrefixCache", "Request", "Step", "generate", "generate_tokens", "run_requests", "stream_text"]
