from __future__ import annotations

from cobre.stochastic import noise_groups, noise_sources
from noise_recipe import consecutive_stages, months, stage


def test_stages_of_one_season_and_year_form_a_group():
    weeks = [
        stage(0, "2024-01-01", "2024-01-08", 0),
        stage(1, "2024-01-08", "2024-02-01", 0),
        stage(2, "2024-02-01", "2024-03-01", 1),
        stage(3, "2024-03-01", "2024-04-01", 0),
        stage(4, "2025-01-01", "2025-02-01", 0),
    ]
    assert noise_groups(weeks).tolist() == [0, 0, 1, 0, 2]
    assert noise_sources(weeks).tolist() == [0, 0, 2, 3, 4]


def test_a_stage_without_season_is_a_group_of_its_own():
    stages = [stage(i, f"2024-0{i + 1}-01", f"2024-0{i + 2}-01") for i in range(3)]
    assert noise_groups(stages).tolist() == [0, 1, 2]


def test_months_of_several_years_are_all_different():
    assert noise_groups(months(30)).tolist() == list(range(30))
    assert noise_sources(months(30)).tolist() == list(range(30))


def test_groups_count_the_year_in_which_the_season_begins():
    dates = [("2024-01-01", "2024-01-08"), ("2024-12-30", "2025-01-06"), ("2025-01-06", "2025-01-13")]
    weeks = [
        stage(i, *both, 0, season_year=year)
        for i, (both, year) in enumerate(zip(dates, [2024, 2025, 2025], strict=True))
    ]
    assert noise_groups(weeks).tolist() == [0, 1, 1]
    assert noise_sources(weeks).tolist() == [0, 1, 1]


def test_without_a_calendar_groups_count_the_year_of_the_start():
    stages = consecutive_stages("2024-12-30 2025-01-06 2025-01-13", [0, 0])
    assert noise_groups(stages).tolist() == [0, 1]


def test_openings_that_stand_for_clusters_are_copied_all_or_not_at_all():
    stages = [
        stage(i, "2024-01-01", "2024-02-01", 0, n_openings=n, sampling_method="selective")
        for i, n in enumerate([5, 5, 3])
    ]
    assert noise_sources(stages).tolist() == [0, 0, 2]


def test_a_stage_with_fewer_openings_copies_and_one_with_more_does_not():
    stages = [stage(i, "2024-01-01", "2024-02-01", 0, n_openings=n) for i, n in enumerate([5, 3, 5, 6, 4])]
    assert noise_sources(stages).tolist() == [0, 0, 0, 3, 3]
