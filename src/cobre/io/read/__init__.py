"""Reads case directories: one module per file, every row checked, all problems collected (`case_reader.read_case`).

Empty: whoever needs the grammar of constraints or a file's record does not load all of them.
"""
