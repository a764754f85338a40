"""EvalBench result directories: configs.csv, evals.csv, scores.csv, summary.csv and their variants."""

from evalbench.readers.evalbench.model import EvalbenchLedger
from evalbench.readers.evalbench.reader import looks_like_evalbench, read_evalbench

__all__ = ["EvalbenchLedger", "looks_like_evalbench", "read_evalbench"]
