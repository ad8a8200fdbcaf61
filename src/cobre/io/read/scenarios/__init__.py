"""Readers of the files under ``scenarios/``."""
