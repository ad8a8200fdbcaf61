"""The sections of a report, one module each: a function from the runs to HTML, empty without data."""
