"""Stochastic dual dynamic programming on any communicator: one noun of the algorithm per module.

`cobre.sddp.training.train` takes a communicator and a case and never learns which backend it runs on. The
bits of everything it computes depend on the case and its seeds alone: not on the number of ranks, nor on how
the work was split.
"""
