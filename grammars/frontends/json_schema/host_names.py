"""Host names with labels in Unicode (RFC 5890 to 5893), as they are and in their ``xn--`` form.

The properties of characters come from :mod:`unicodedata`; scripts are told by the names of characters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["is_hostname", "is_idn_hostname"]

_PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_SEPARATORS = re.compile("[.\u3002\uff0e\uff61]")
_VALID = frozenset("\u00df\u03c2\u06fd\u06fe\u0f0b\u3007")
_CONTEXTUAL = frozenset("\u00b7\u0375\u05f3\u05f4\u30fb\u200c\u200d")
_DISALLOWED = frozenset("\u0640\u07fa\u302e\u302f\u3031\u3032\u3033\u3034\u3035\u303b")
_IGNORED = (
    *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164), (0xFE00, 0xFE0F)),
    *((0xFFA0, 0xFFA0), (0xE0100, 0xE01EF)),  # default ignorable
    *((0x20D0, 0x20FF), (0x1D100, 0x1D24F)),  # blocks left out
    *((0x1100, 0x11FF), (0xA960, 0xA97C), (0xD7B0, 0xD7FB)),  # old Hangul
)
_KEPT = frozenset({"Ll", "Lu", "Lo", "Nd", "Lm", "Mn", "Mc"})
_VIRAMA = 9
_RIGHT_JOINING = frozenset(
    (
        *(*range(0x0622, 0x0626), 0x0627, 0x0629, *range(0x062F, 0x0633), 0x0648, *range(0x0671, 0x0674)),
        *(*range(0x0675, 0x0678), *range(0x0688, 0x069A), 0x06C0, *range(0x06C3, 0x06CC), 0x06CD, 0x06CF),
        *(0x06D2, 0x06D3, 0x06D5, 0x06EE, 0x06EF),
    )
)


def is_hostname(text: str) -> bool:
    """Whether the text is a host name of letters, digits and hyphens whose ``xn--`` labels stand for right ones."""
    labels = text.split(".")
    return len(text) <= 253 and all(_PLAIN.fullmatch(label) and _is_right(label) for label in labels)


def is_idn_hostname(text: str) -> bool:
    """Whether the text is such a host name, or one with labels in Unicode.

    >>> is_idn_hostname("l\u00b7l.example"), is_idn_hostname("a\u00b7l")
    (True, False)
    """
    length = -1
    unicode_labels: list[str] = []
    for label in _SEPARATORS.split(text):
        if _PLAIN.fullmatch(label):
            if not _is_right(label):
                return False
            length += len(label) + 1
            unicode_labels.append(_decoded(label) or label)
        else:
            if label.isascii() or not _is_unicode_label(label):
                return False
            length += 5 + len(label.encode("punycode"))
            unicode_labels.append(label)
    right_to_left = any(_direction(letter) in ("R", "AL", "AN") for label in unicode_labels for letter in label)
    return length <= 253 and (not right_to_left or all(map(_obeys_bidi_rule, unicode_labels)))


def _is_right(label: str) -> bool:
    """Whether an ASCII label is no reserved one, or an ``xn--`` label that stands for a right one."""
    return label[2:4] != "--" or _decoded(label) is not None


@lru_cache(maxsize=1024)
def _decoded(label: str) -> str | None:
    """The label in Unicode that an ``xn--`` label stands for."""
    if not label.lower().startswith("xn--"):
        return None
    try:
        decoded = label[4:].lower().encode("ascii").decode("punycode")
        again = decoded.encode("punycode").decode("ascii")
    except UnicodeError:
        return None
    if decoded.isascii() or again != label[4:].lower() or not _is_unicode_label(decoded):
        return None
    return decoded


@lru_cache(maxsize=1024)
def _is_unicode_label(label: str) -> bool:
    """Whether the label is one of IDNA 2008, with its context and direction, and short enough in ASCII."""
    if unicodedata.normalize("NFC", label) != label or label[2:4] == "--" or "-" in (label[0], label[-1]):
        return False
    if unicodedata.category(label[0]).startswith("M") or 4 + len(label.encode("punycode")) > 63:
        return False
    if not all(_is_allowed(label, index) for index in range(len(label))):
        return False
    right_to_left = any(_direction(letter) in ("R", "AL", "AN") for letter in label)
    return not right_to_left or _obeys_bidi_rule(label)


def _direction(letter: str) -> str:
    return unicodedata.bidirectional(letter)


def _is_allowed(label: str, index: int) -> bool:
    letter = label[index]
    if letter in _CONTEXTUAL:
        return _fits_context(label, index)
    if "\u0660" <= letter <= "\u0669":
        return not any("\u06f0" <= other <= "\u06f9" for other in label)
    if "\u06f0" <= letter <= "\u06f9":
        return not any("\u0660" <= other <= "\u0669" for other in label)
    if letter in _VALID:
        return True
    if letter in _DISALLOWED:
        return False
    if letter.isascii():
        return letter.islower() or letter.isdigit() or letter == "-"
    stable = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", letter).casefold()) == letter
    if not stable or any(low <= ord(letter) <= high for low, high in _IGNORED):
        return False
    return unicodedata.category(letter) in _KEPT


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").split(" ")
    return "HAN" if name[0] == "CJK" or letter == "\u3005" else name[0]


def _fits_context(label: str, index: int) -> bool:
    """The rules of RFC 5892, appendix A."""
    before, after = label[:index], label[index + 1 :]
    match label[index]:
        case "\u00b7":
            return before[-1:] == "l" and after[:1] == "l"
        case "\u0375":
            return bool(after) and _script(after[0]) == "GREEK"
        case "\u05f3" | "\u05f4":
            return bool(before) and _script(before[-1]) == "HEBREW"
        case "\u30fb":
            return any(_script(letter) in ("HIRAGANA", "KATAKANA", "HAN") for letter in label if letter != "\u30fb")
    if before and unicodedata.combining(before[-1]) == _VIRAMA:
        return True
    return label[index] == "\u200c" and _joins(reversed(before), right=False) and _joins(after, right=True)


def _joins(letters: object, *, right: bool) -> bool:
    """Whether the first letter that is not transparent joins to where it is looked at from."""
    for letter in letters:  # type: ignore[attr-defined]
        if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
            continue
        arabic = _script(letter) in ("ARABIC", "SYRIAC") and unicodedata.category(letter) == "Lo"
        return arabic and (right or ord(letter) not in _RIGHT_JOINING)
    return False


def _obeys_bidi_rule(label: str) -> bool:
    """RFC 5893, section 2."""
    kinds = [_direction(letter) for letter in label]
    ending = next((kind for kind in reversed(kinds) if kind != "NSM"), "")
    if kinds[0] in ("R", "AL"):
        allowed = {"R", "AL", "AN", "EN", "ES", "CS", "ET", "ON", "BN", "NSM"}
        return set(kinds) <= allowed and ending in ("R", "AL", "EN", "AN") and not {"EN", "AN"} <= set(kinds)
    allowed = {"L", "EN", "ES", "CS", "ET", "ON", "BN", "NSM"}
    return kinds[0] == "L" and set(kinds) <= allowed and ending in ("L", "EN")
