"""Text about runs, written from their numbers. Advisory: no decision reads it."""
