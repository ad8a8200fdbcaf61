"""The power system and the study as frozen data, which all other layers use.

A :class:`~cobre.core.case.Case` holds the entities (sorted by id, referring to each other by index), the
horizon, tables of everything that varies by stage with overrides already applied, what is known about
randomness, the initial state and the settings. Nothing here reads files or solves anything.
"""
