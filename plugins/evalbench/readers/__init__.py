"""Readers: the files of one run directory → a ledger. Pure functions of bytes; nothing here lists or opens anything."""
