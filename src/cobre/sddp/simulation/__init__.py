"""Simulating a policy: scenarios in, tables and statistics out."""

from __future__ import annotations

from cobre.sddp.simulation.chunk import Chunk, TableRows
from cobre.sddp.simulation.running import SimulationOutcome, Sink, simulate
from cobre.sddp.simulation.statistics import SimulationStatistics

__all__ = ["Chunk", "SimulationOutcome", "SimulationStatistics", "Sink", "TableRows", "simulate"]
