"""LP templates and their solves."""
