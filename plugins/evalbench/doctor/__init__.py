"""What is wrong in one run directory, and where its own summary misleads. Pure: a snapshot and its scored run in."""

from evalbench.doctor.diagnosis import Diagnosis, defect_document, diagnose, document

__all__ = ["Diagnosis", "defect_document", "diagnose", "document"]
