"""The terminal UI: watch a run, live or finished, and steer it."""
