"""Reads case directories: one module per file, every row checked, all problems collected (`case_reader.read_case`).

Empty, so that a module that needs one file's record does not load all of them.
"""
