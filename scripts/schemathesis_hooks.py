"""What schemathesis cannot know from the document: which ids exist, which versions are current, which refusals are right.

Requests are made deeper, never milder. A well-formed id, version or key is exchanged for a real one most of the time; what
is malformed on purpose stays as it was made. Without this nearly every request would end at 404, 412 or 422.
"""

import atexit
import collections
import json
import os
import random
import re

import requests
import schemathesis
from schemathesis.core.failures import Failure
from schemathesis.core.parameters import ParameterLocation
from schemathesis.openapi.checks import AcceptedNegativeData, RejectedPositiveData, UseAfterFree

URL = os.environ["GPUAAS_URL"]
HEADERS = {"Authorization": f"Bearer {os.environ['GPUAAS_TOKEN']}"}
KNOWN = json.load(open(os.environ["GPUAAS_KNOWN"], encoding="utf-8"))
dice = random.Random(int(os.environ["GPUAAS_SEED"]))
session = requests.Session()

ID = re.compile(r"(?:[a-z]{3})_[0-7][0-9a-hjkmnp-tv-z]{25}")
KEY = re.compile(r'"?[A-Za-z0-9_.:-]{1,64}"?')
VERSION = re.compile(r'"[1-9][0-9]{0,17}"')
IDS_MAX = 300

# Refusals of schema-valid requests that are right all the same, because of facts that no schema can state.
FACTS = {
    "invalid_page_token": "a well-formed token may belong to no list, or to another",
    "stale_version": "a well-formed version may not be the current one",
    "idempotency_key_reused": "a well-formed key may have been used for another request",
    "unknown_reference": "a well-formed id in a body may name nothing that the caller may see",
    "not_for_sale": "a SKU or region may exist and not be sold",
}

# Operations that end things. The caller's own token, role, tenant and project are spared, or the rest of the run would
# be refused as a stranger's and show nothing.
ENDING = {
    "token_revoke", "member_remove", "member_update", "operator_remove", "service_account_remove", "tenant_delete",
    "tenant_suspend", "project_delete", "project_suspend", "allocation_release",
}

seen = {kind: list(ids) for kind, ids in KNOWN["seen"].items()}
existing = KNOWN["existing"]
spared = set(KNOWN["spared"])
answers = collections.defaultdict(collections.Counter)


def kind_of(value, path):
    """Ids of people, operators and service accounts look the same; the path says which are meant."""
    kind = value[:3]
    if kind == "prn":
        return "operators" if "/operators" in path else "service-accounts" if "/service-accounts" in path else kind
    return kind


def learn(text, path):
    for value in set(ID.findall(text)):
        known = seen.setdefault(kind_of(value, path), [])
        if value not in known:
            known.append(value)
            del known[:-IDS_MAX]


def real_id(value, path, ending):
    """Most of the time an id of the same kind that the caller has seen, at times one that is not theirs."""
    roll = dice.random()
    kind = kind_of(value, path)
    choices = seen.get(kind) if roll < 0.7 else existing.get(value[:3]) if roll < 0.8 else None
    choices = [known for known in choices or [] if not (ending and known in spared)]
    chosen = dice.choice(choices) if choices else value
    return value[:4] + "0" * 26 if ending and chosen in spared else chosen


def is_good(case, location):
    component = case.meta and case.meta.components.get(location)
    return component is None or component.mode.is_positive


def deepened(value, path):
    """A body with real ids in it."""
    if isinstance(value, dict):
        return {name: deepened(inner, path) for name, inner in value.items()}
    if isinstance(value, list):
        return [deepened(inner, path) for inner in value]
    if isinstance(value, str) and ID.fullmatch(value):
        return real_id(value, path, ending=False)
    return value


def current_version(case):
    path = re.sub(r"/(release|suspend|resume)$", "", case.formatted_path)
    return session.get(f"{URL}{path}", headers=HEADERS, timeout=10).headers.get("ETag")


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """OpenAPI 3.1 has no word for one event of a stream; the document says it in an extension, 3.2 calls it itemSchema."""
    for operations in raw_schema["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                for media in response.get("content", {}).values():
                    if "x-item-schema" in media:
                        media["itemSchema"] = media.pop("x-item-schema")
                        del media["schema"]


@schemathesis.hook
def before_call(context, case, kwargs):
    identifier = case.operation.definition.raw.get("operationId")
    ending = identifier in ENDING
    for name, value in list((case.path_parameters or {}).items()):
        if isinstance(value, str) and ID.fullmatch(value):
            case.path_parameters[name] = real_id(value, case.path, ending)
    if case.media_type and is_good(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        case.body = deepened(case.body, case.path)
    headers = case.headers or {}
    key, version = headers.get("Idempotency-Key"), headers.get("If-Match")
    # The examples of the document, and what shrinks to the same text, would all be one key.
    if isinstance(key, str) and KEY.fullmatch(key) and dice.random() < 0.9:
        headers["Idempotency-Key"] = f'"{dice.getrandbits(128):032x}"'
    if isinstance(version, str) and VERSION.fullmatch(version) and dice.random() < 0.8:
        headers["If-Match"] = current_version(case) or version


@schemathesis.hook
def after_call(context, case, response):
    identifier = case.operation.definition.raw.get("operationId")
    answers[identifier][f"{response.status_code} {code_of(response) or ''}".strip()] += 1
    if 200 <= response.status_code < 300:
        learn(response.text, case.path)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    code = code_of(response)
    if isinstance(failure, RejectedPositiveData):
        return code not in FACTS
    if isinstance(failure, AcceptedNegativeData):
        # A malformed path may lead to no operation at all.
        return code != "route_not_found"
    return True


def code_of(response):
    if (response.headers.get("content-type") or [""])[0] != "application/problem+json":
        return None
    return response.json().get("code")


@schemathesis.check
def refusals_are_problems(ctx, response, case):
    """Whatever refuses, be it no operation's business or a probe with an unknown method, answers in one form."""
    if response.status_code < 400 or response.request.method == "HEAD":
        return
    code = code_of(response)
    if code is None:
        raise AssertionError("A refusal that is not a problem")
    problem = response.json()
    wrong = [
        name
        for name, right in [("status", response.status_code), ("type", f"/docs/errors/{code}")]
        if problem.get(name) != right
    ]
    if wrong or not problem.get("detail") or not problem.get("title") or not response.headers.get("x-request-id"):
        raise AssertionError(f"A problem that contradicts itself: {wrong}")


@schemathesis.check
def the_token_stays_good(ctx, response, case):
    """The requests of a run are the role's own; as a stranger they would all be refused and prove nothing."""
    if response.status_code == 401 and code_of(response) != "unauthenticated":
        raise AssertionError("The role's token does not work any more")


@atexit.register
def tell():
    with open(os.environ["GPUAAS_ANSWERS"], "w", encoding="utf-8") as file:
        json.dump(answers, file, indent=1, sort_keys=True)
