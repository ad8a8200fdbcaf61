"""Answers about finished runs: quantiles over scenarios, risks, prices, slices of value functions, differences.

Front doors ask here and draw what they get; they compute nothing.
"""
