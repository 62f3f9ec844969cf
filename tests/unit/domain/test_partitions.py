"""Where somebody's commands go must never change."""

from collections import Counter

from drover.domain.partitions import PARTITIONS_MAX, partition_names, partition_of


def test_a_context_that_is_not_divided_has_one_partition_called_main():
    assert partition_names(1) == ("main",)
    assert partition_of("anybody", partition_names(1)) == "main"


def test_where_somebody_goes_is_the_same_for_ever():
    """These lines may never change: the alarms of those users would be in another partition than their commands."""
    assert {user: partition_of(user, partition_names(4)) for user in ("user_1", "user_2", "가", "")} == {
        "user_1": "p3",
        "user_2": "p1",
        "가": "p1",
        "": "p0",
    }


def test_users_are_spread_evenly():
    names = partition_names(PARTITIONS_MAX)
    counts = Counter(partition_of(f"user-{number}", names) for number in range(64_000))
    assert counts.keys() == set(names)
    assert max(counts.values()) < 1.2 * min(counts.values())
