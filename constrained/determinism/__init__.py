"""The same bits again, and proof of it: records of runs, their replay, and an audit of the numerics.

A record (``record=`` of :meth:`constrained.Model.generate`) says what a run was made from and what came at each step; a
replay (:func:`replay`) says whether it comes again, and if not, where it first differs and why.
"""

from .again import load_recorded
from .differences import Change, Difference
from .record import RunRecord, record_schema
from .recording import Asked, Recording
from .replay import Replay, replay
from .trace import StepObserver

__all__ = [
    "Asked",
    "Change",
    "Difference",
    "Recording",
    "Replay",
    "RunRecord",
    "StepObserver",
    "load_recorded",
    "record_schema",
    "replay",
]
