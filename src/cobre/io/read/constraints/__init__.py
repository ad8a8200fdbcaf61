"""Readers of the files under ``constraints/``."""
