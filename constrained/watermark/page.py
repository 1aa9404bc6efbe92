"""A page that shows which tokens of a text were free, forced, scored, and how much each speaks for a mark."""

from __future__ import annotations

from html import escape

from grammars.vocabulary import Vocabulary

from .detection import Detection

__all__ = ["page"]

_STYLE = """
body { font: 15px/1.7 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 14px/2 ui-monospace, monospace; }
pre span { padding: 2px 0; border-bottom: 2px solid transparent; }
.forced { color: #999; }
.free { background: #eee; }
.for { background: rgba(0, 140, 60, var(--weight)); border-color: #084; }
.against { background: rgba(200, 60, 0, var(--weight)); border-color: #a30; }
td, th { text-align: left; padding: 0 1.5rem 0 0; font-weight: normal; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } .free { background: #333; } }
"""


def page(detections: list[tuple[str, Detection]], vocabulary: Vocabulary, *, title: str = "Watermark") -> str:
    """HTML that stands alone (no script, nothing fetched), for named texts and what was found in them."""
    parts = [_section(name, detection, vocabulary) for name, detection in detections]
    legend = (
        '<p><span class="forced">forced by the schema</span> · <span class="free">free, not scored</span> · '
        '<span class="for" style="--weight:.4">speaks for the mark</span> · '
        '<span class="against" style="--weight:.4">speaks against it</span></p>'
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{legend}{''.join(parts)}</body></html>\n"
    )


def _section(name: str, detection: Detection, vocabulary: Vocabulary) -> str:
    facts = {
        "verdict": detection.reason,
        "p-value": f"{detection.p_value:.3g}",
        "z-score": f"{detection.z_score:.2f}",
        "tokens": f"{detection.num_tokens}, of them {detection.num_free} free and {detection.num_scored} scored",
        "fingerprint": detection.fingerprint,
    }
    rows = "".join(f"<tr><th>{escape(fact)}</th><td>{escape(value)}</td></tr>" for fact, value in facts.items())
    return f"<h2>{escape(name)}</h2><table>{rows}</table><pre>{_marked(detection, vocabulary)}</pre>"


def _marked(detection: Detection, vocabulary: Vocabulary) -> str:
    """The text, a span a run of bytes that form whole characters."""
    scores = {token.index: token for token in detection.tokens}
    spans: list[str] = []
    held = b""
    for index, token_id in enumerate(detection.token_ids):
        held += vocabulary.tokens[token_id] or b"" if 0 <= token_id < vocabulary.size else b""
        try:
            text = held.decode("utf-8")
        except UnicodeDecodeError:
            if index + 1 < len(detection.token_ids):
                continue
            text = held.decode("utf-8", "replace")
        held = b""
        token = scores.get(index)
        kind, weight, hint = ("free" if index in detection.free else "forced"), 0.0, ""
        if token is not None and token.variance > 0.0:
            excess = (token.value - token.expected) / token.variance**0.5
            kind, weight = ("for" if excess > 0 else "against"), min(0.15 + abs(excess) / 6, 0.75)
            hint = f' title="score {token.value:.2f}, by chance {token.expected:.2f}"'
        spans.append(f'<span class="{kind}" style="--weight:{weight:.2f}"{hint}>{escape(text)}</span>')
    return "".join(spans)
