"""Stochastic dual dynamic programming for hydrothermal dispatch."""
