"""One reminder over several subscriptions."""

import pytest

from drover.reminder.notification import Delivered, Failed, Uncertain
from drover.reminder.providers.fan_out import GONE, add_up
from tests.unit.reminder.world import notification

YES = Delivered(notification_id="n")
DEAD = Failed(permanent=True, code=GONE)
NEVER = Failed(permanent=True, code="http_400")
LATER = Failed(permanent=False, code="http_503")
DOUBT = Uncertain(code="timed_out")


@pytest.mark.req("RM-08", "RM-11")
@pytest.mark.parametrize(
    ("results", "kind", "code"),
    [
        ([], Failed, "no_subscription"),
        ([YES], Delivered, None),
        ([YES, DEAD], Delivered, None),
        ([YES, NEVER], Delivered, None),
        ([YES, LATER], Uncertain, "partial"),
        ([YES, DOUBT], Uncertain, "partial"),
        ([DEAD], Failed, "no_subscription"),
        ([DEAD, NEVER], Failed, "http_400"),
        ([NEVER, LATER], Failed, "http_503"),
        ([LATER, DOUBT], Uncertain, "timed_out"),
        ([DOUBT, DEAD], Uncertain, "timed_out"),
    ],
)
def test_what_they_add_up_to(results, kind, code):
    named = {f"s{number}": result for number, result in enumerate(results)}
    outcome = add_up(notification(), named)
    assert type(outcome) is kind
    assert getattr(outcome, "code", None) == code
    assert outcome.gone == tuple(name for name, result in named.items() if result is DEAD)
    if code == "partial":
        assert outcome.delivered == ("s0",)
    if kind is Failed:
        assert outcome.permanent is (LATER not in results)


@pytest.mark.req("RM-08")
def test_who_had_it_before_still_has_it():
    again = notification(delivered=("old",))
    assert add_up(again, {"new": LATER}) == Uncertain(code="partial", error="http_503 ", delivered=("old",))
    assert isinstance(add_up(again, {"new": YES}), Delivered)
    assert isinstance(add_up(again, {}), Delivered)
