"""What a registered context needs besides its packages. Each test names what is missing, and the file to add it to."""

from __future__ import annotations

import pytest

from drover.domain.contexts import CONTEXTS
from drover.domain.deciders import DECIDERS
from drover.platform.registry import REGISTRY
from drover.projector.app import PROJECTIONS
from drover.readmodel.models import READ_MODELS, RELATIONS
from drover.web.permissions import TABLE, Verb
from drover.web.route import Permission, routes_of
from tools.nats_users import USERS

GRANTED = {(grant.relation, grant.verb) for rule in TABLE for grant in rule.grants()}
PERMISSIONS = "libs/drover/web/permissions.py"


def test_each_layer_calls_a_context_by_the_name_under_which_it_is_registered():
    assert [*DECIDERS] == [*CONTEXTS]
    assert [model.context for model in READ_MODELS] == [*CONTEXTS]
    assert [projection.context for projection in PROJECTIONS] == [*CONTEXTS]


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_service_writes_each_context(context):
    writers = [name for name, user in USERS.items() if context in user.writes]
    assert len(writers) == 1, f"name the service that writes {context} in USERS of tools/nats_users.py"
    assert writers[0] in REGISTRY, f"add the service {writers[0]} to services/drover/platform/registry.py"


@pytest.mark.parametrize("relation", RELATIONS)
def test_somebody_may_read_each_relation(relation):
    assert (relation, Verb.READ) in GRANTED, f"grant {relation} in TABLE of {PERMISSIONS}"


@pytest.mark.parametrize("service", REGISTRY.values(), ids=REGISTRY)
def test_somebody_may_call_each_route(service):
    for route in routes_of(*service.handlers):
        if isinstance(wanted := route.permission, Permission):
            assert (wanted.relation, wanted.verb) in GRANTED, f"{route.id}: grant {wanted} in TABLE of {PERMISSIONS}"
