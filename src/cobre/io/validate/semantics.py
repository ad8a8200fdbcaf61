"""Layer 5: does the case mean something, and something that is modelled?"""

from __future__ import annotations

from cobre.core.case import Case
from cobre.io.assemble import assemble
from cobre.io.assemble.settings import build_sources
from cobre.io.problems import Problems
from cobre.io.read.files import CaseFiles
from cobre.io.validate.calendar import check_calendar
from cobre.io.validate.commissioning import check_commissioning
from cobre.io.validate.fits import check_fits
from cobre.io.validate.graph import check_graph
from cobre.io.validate.inflows import check_inflow_model
from cobre.io.validate.lead_times import check_lead_times
from cobre.io.validate.limits import check_limits
from cobre.io.validate.modelled import check_modelled
from cobre.io.validate.models import check_models
from cobre.io.validate.observations import check_observations
from cobre.io.validate.openings import check_openings
from cobre.io.validate.prices import check_prices
from cobre.io.validate.randomness import check_randomness
from cobre.io.validate.reservoirs import check_reservoirs
from cobre.io.validate.sampling import check_sampling
from cobre.io.validate.settings import check_settings
from cobre.io.validate.tailraces import check_tailraces
from cobre.io.validate.travel_times import check_travel_times
from cobre.io.validate.units import check_units


def check_semantics(files: CaseFiles, problems: Problems) -> Case | None:
    """Report contradictions, and what this version does not model.

    The study, if nothing in the files keeps it from being assembled: the last checks look at it as a whole.
    """
    check_calendar(files, problems)
    check_graph(files, problems)
    check_models(files, problems)
    check_limits(files, problems)
    check_units(files, problems)
    check_commissioning(files, problems)
    check_reservoirs(files, problems)
    check_fits(files, check_tailraces(files, problems), problems)
    check_prices(files, problems)
    check_randomness(files, problems)
    check_settings(files, problems)
    check_sampling(files, problems)
    check_openings(files, problems)
    check_observations(files, problems)
    check_travel_times(files, problems)
    check_lead_times(files, problems)
    check_modelled(files, problems)
    if problems.errors or files.damaged or files.unusable:
        return None
    simulation = files.config.simulation
    n_trajectories = {"training": files.config.training.forward_passes}
    if simulation is not None:
        n_trajectories["simulation"] = simulation.num_scenarios
    case = assemble(files)
    check_inflow_model(
        case, build_sources(files.config), n_trajectories, problems, files.generation.word("num_openings")
    )
    return case
