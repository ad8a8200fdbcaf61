"""Layer 5: does the case mean something, and something that is modelled?"""

from __future__ import annotations

from cobre.io.assemble import assemble
from cobre.io.problems import Problems
from cobre.io.read.files import CaseFiles
from cobre.io.validate.calendar import check_calendar
from cobre.io.validate.fits import check_fits
from cobre.io.validate.inflows import check_inflow_model
from cobre.io.validate.limits import check_limits
from cobre.io.validate.modelled import check_modelled
from cobre.io.validate.models import check_models
from cobre.io.validate.prices import check_prices
from cobre.io.validate.randomness import check_randomness
from cobre.io.validate.reservoirs import check_reservoirs
from cobre.io.validate.settings import check_settings
from cobre.io.validate.tailraces import check_tailraces


def check_semantics(files: CaseFiles, problems: Problems) -> None:
    """Report contradictions, and what this version does not model."""
    check_calendar(files, problems)
    check_models(files, problems)
    check_limits(files, problems)
    check_reservoirs(files, problems)
    check_fits(files, check_tailraces(files, problems), problems)
    check_prices(files, problems)
    check_randomness(files, problems)
    check_settings(files, problems)
    check_modelled(files, problems)
    if not (problems.errors or files.damaged or files.unusable):
        check_inflow_model(assemble(files), problems)
