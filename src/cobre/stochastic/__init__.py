"""Everything random in a study, as a pure function of the case and its seeds.

The recipe, in the order in which a study meets it:

1. **Seeds** (`seeds`). Every random stream starts from a hash of indices: seed of the study, opening, stage,
   iteration, scenario. No stream is carried along, so any process computes any part and gets the same bits.
2. **Noise** (`methods`, `trees`, `forward`). From each seed a PCG64 generator, from it standard normal numbers η, one
   per *entity*: all hydros by id, then the buses with uncertain load, then the non-controllable sources. Before
   training an *opening tree* fixes, for every stage, the openings the backward pass solves. A trajectory of training or
   simulation takes an opening of that tree in each stage, or fresh noise, or a scenario from a file, or a year of the
   history.
3. **Correlation** (`correlations`). Independent noise becomes correlated by the symmetric square root of the
   correlation matrix.
4. **Values** (`inflows`, `lags`, `values`). η becomes an inflow through a periodic autoregression over lagged
   inflows, and a load or an availability by its mean and standard deviation.

The same bits on every machine: the core has its own logarithm and exponential, its own eigenvectors, and sums in
fixed order; nothing goes through the C library's functions, BLAS or LAPACK.

Everything takes and gives NumPy arrays; nothing here reads a file or knows a linear program.
"""

from __future__ import annotations

from cobre.stochastic.correlations import Correlator
from cobre.stochastic.entities import ENTITY_CLASSES, NoiseEntities
from cobre.stochastic.external import (
    ExternalScenarios,
    InflowInversion,
    NormalInversion,
    clamp_openings,
)
from cobre.stochastic.forward import ForwardSampler, draw_noise, draw_openings, drawn_openings
from cobre.stochastic.given_openings import tree_from_rows
from cobre.stochastic.groups import noise_groups, noise_sources
from cobre.stochastic.historical import HistoricalWindows
from cobre.stochastic.inflows import InflowModel
from cobre.stochastic.lags import LagTransition
from cobre.stochastic.moments import NoiseStatistics, scenario_moments
from cobre.stochastic.past import PastRecord
from cobre.stochastic.process import (
    InflowProcess,
    external_classes,
    external_scenarios,
    historical_windows,
    stages_with_openings,
)
from cobre.stochastic.seeds import (
    class_seed,
    external_scenario,
    forward_seed,
    grouped_forward_seed,
    historical_window,
    opening_seed,
    stage_seed,
)
from cobre.stochastic.trees import SAMPLING_METHODS, OpeningTree, TreeLayout, generate_tree
from cobre.stochastic.values import availability_mw, load_mw

__all__ = [
    "ENTITY_CLASSES",
    "SAMPLING_METHODS",
    "Correlator",
    "ExternalScenarios",
    "ForwardSampler",
    "HistoricalWindows",
    "InflowInversion",
    "InflowModel",
    "InflowProcess",
    "LagTransition",
    "NoiseEntities",
    "NoiseStatistics",
    "NormalInversion",
    "OpeningTree",
    "PastRecord",
    "TreeLayout",
    "availability_mw",
    "clamp_openings",
    "class_seed",
    "draw_noise",
    "draw_openings",
    "drawn_openings",
    "external_classes",
    "external_scenario",
    "external_scenarios",
    "forward_seed",
    "generate_tree",
    "grouped_forward_seed",
    "historical_window",
    "historical_windows",
    "load_mw",
    "noise_groups",
    "noise_sources",
    "opening_seed",
    "scenario_moments",
    "stage_seed",
    "stages_with_openings",
    "tree_from_rows",
]
