"""evalbench: agent evaluation runs in, release decisions and trend tables out."""

__version__ = "0.1.0"
