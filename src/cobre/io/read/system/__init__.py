"""Readers of the files under ``system/``."""
