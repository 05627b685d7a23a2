"""What schemathesis cannot know from the document: which ids exist, which versions are current, which refusals are right.

Requests are made deeper, never milder. A well-formed id, version or key is exchanged for a real one most of the time; what
is malformed on purpose stays as it was made. Without this nearly every request would end at 404, 412 or 422.
"""

import atexit
import base64
import collections
import json
import os
import random
import re
import time

import requests
import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.core.parameters import ParameterLocation
from schemathesis.openapi.checks import RejectedPositiveData, UseAfterFree

URL = os.environ["GPUAAS_URL"]
HEADERS = {"Authorization": f"Bearer {os.environ['GPUAAS_TOKEN']}"}
with open(os.environ["GPUAAS_KNOWN"], encoding="utf-8") as file:
    KNOWN = json.load(file)

ID = re.compile(r"[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}")
KEY = re.compile(r'"?[A-Za-z0-9_.:-]{1,64}"?')
VERSION = re.compile(r'"?[1-9][0-9]{0,17}"?')
TAG = re.compile(r"[A-Za-z0-9]+")
NAME = re.compile(r"[a-z0-9._-]{1,64}")
SLUG = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
PRINTED = re.compile(r"[!-~]([ -~]*[!-~])?")
NEXT_PAGE = re.compile(r'"next_page_token":"([A-Za-z0-9_-]+)"')
ACTION = re.compile(r"/(release|extend|suspend|resume|approve|disable|enable|drain|undrain|evacuate|promote|demote|retire|convert)$")
IDS_MAX = 300
# What an operator says to approve a slot.
DEVICES = [
    "gpu_pci_address", "nvme_identity", "mgmt_mac", "private_ip", "fabric_claim_mode", "fabric_vf_pci_address",
]  # fmt: skip

# Refusals of schema-valid requests that are right all the same, because of facts that no schema can state.
FACTS = {
    "invalid_page_token": "a well-formed token may belong to no list, or to another",
    "stale_version": "a well-formed version may not be the current one",
    "idempotency_key_reused": "a well-formed key may have been used for another request",
    "unknown_reference": "a well-formed id in a body may name nothing that the caller may see",
    "not_for_sale": "a SKU or region may exist and not be sold",
    "lease_refused": "a well-formed moment may have passed",
    "ssh_key_refused": "a printable line is seldom a key",
    "slot_refused": "a well-formed device may not be on the host, or be somebody's",
    "image_refused": "well-formed digits are seldom a key, a signature or the bytes that an entry speaks of",
    "image_unavailable": "a well-formed name may be no image's, or one's that cannot be launched",
    "image_unfit": "an image may need more than the slots of a profile are sure to have",
    "lab_only": "what only a laboratory has is well-formed everywhere",
    "ingress_out_of_range": "a port may be none that was set aside",
    "webhook_refused": "a well-formed address may lead where the platform does not go",
    "queue_missing": "a project may have no queue of its own",
    "body_too_large": "many well-formed objects may be too many for one request",
    "governance_refused": "objects that are well-formed one by one may contradict each other",
}

# Operations that take away what other requests stand on: the caller's token and role, a project to launch in, something
# to launch. That much is spared, or the rest of the run would be refused as a stranger's and show nothing.
ENDING = {
    "token_revoke", "member_remove", "member_update", "operator_remove", "service_account_remove", "tenant_delete",
    "tenant_suspend", "project_delete", "project_suspend", "project_update", "region_update", "region_delete",
    "sku_update", "sku_delete", "slot_approve_complete", "node_evacuate", "node_convert", "node_disable", "node_drain",
    "node_demote", "allocation_release", "allocation_force_release", "ingress_settings_set", "ingress_settings_clear",
    "webhook_update", "webhook_delete",
}  # fmt: skip

# What names an object of governance in a path.
GOVERNED = ("topology", "flavor", "priority_class", "hardware_profile", "cohort", "cluster_queue", "local_queue")

# These need a guest that is no more: to one that runs they would wait for its host, and simulated hosts have no way in.
STREAMS = ("allocation_ssh", "allocation_console")

# What one operation leaves behind, another needs.
NEEDS = {"project_suspend": "project_resume", "tenant_suspend": "tenant_resume", "slot_disable": "slot_enable"}

seen = {kind: list(ids) for kind, ids in KNOWN["seen"].items()}
spared = set(KNOWN["spared"])
pages = {}
answers = collections.defaultdict(collections.Counter)
dice = random.Random(int(os.environ["GPUAAS_SEED"]))
OVERRIDES = ("wipe_override_request", "wipe_override_approve", "wipe_override_reject")
overridden = set()
session = requests.Session()


def operation_id(case):
    return case.operation.definition.raw["operationId"]


def fetch(path):
    return session.get(f"{URL}{path}", headers=HEADERS, timeout=10)


def kind_of(value, path):
    """Ids of people, operators and service accounts look the same; the path says which are meant."""
    if value.startswith("prn_"):
        return "operators" if "/operators" in path else "service-accounts" if "/service-accounts" in path else "prn"
    return value[:3]


def real_id(value, path, operation=None):
    """Most of the time an id of the same kind that the caller has seen, at times one that is not theirs."""
    known, roll = seen.get(kind_of(value, path), []), dice.random()
    if operation in STREAMS:
        choices = [*seen.get(operation, []), value[:4] + "0" * 26]
    elif value in known:
        choices = [value]
    elif roll < 0.7:
        choices = known if dice.random() < 0.3 else seen.get(operation, known)
    else:
        choices = KNOWN["existing"].get(value[:3]) if roll < 0.8 else []
    choices = [choice for choice in choices or [value] if not (operation in ENDING and choice in spared)]
    return dice.choice(choices) if choices else value[:4] + "0" * 26


def deepened(value, path, name=""):
    """A body with real ids in it, and with names of which half are new: what is made up is short and soon in use."""
    if isinstance(value, dict):
        return {name: deepened(inner, path, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [deepened(inner, path) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) > 1e14:
        # With a point it has more digits than a reader of numbers keeps.
        return int(value)
    if isinstance(value, str) and ID.fullmatch(value):
        return real_id(value, path)
    if name in ("image", "image_id") and isinstance(value, str) and NAME.fullmatch(value) and dice.random() < 0.7:
        return dice.choice(KNOWN["images"]["names"])
    if isinstance(value, str) and name in ("slug", "email") and dice.random() < 0.5:
        return f"x{dice.getrandbits(32):08x}" + (value[value.index("@") :] if name == "email" else "")
    return value


def current_version(case):
    return fetch(ACTION.sub("", case.formatted_path)).headers.get("ETag")


@schemathesis.hook
def before_load_schema(context, raw_schema):
    # Of headers schemathesis makes letters and digits only, and what needs more becomes an empty text that passes for
    # good. It may leave the quotes out; `before_call` puts them there.
    parameters = raw_schema["components"]["parameters"]
    for name in ("IfMatchOptional", "IfMatchRequired"):
        parameters[name]["schema"]["pattern"] = f"^{VERSION.pattern}$"
    parameters["IfNoneMatch"]["schema"]["pattern"] += f"|^{TAG.pattern}$"
    # Of a long text most that is made is too short and thrown away, unless the pattern itself says how long it is.
    reason = raw_schema["components"]["schemas"]["Justification"]
    fewest, most = reason.pop("minLength") - 2, reason.pop("maxLength") - 2
    assert reason["pattern"].count("]*[") == 1 and reason["pattern"].endswith(")?$"), "Justification has another form"
    reason["pattern"] = reason["pattern"].replace("]*[", f"]{{{fewest},{most}}}[").removesuffix(")?$") + ")$"
    # OpenAPI 3.1 has no word for one event of a stream. The document says it in an extension; 3.2 calls it itemSchema.
    for operations in raw_schema["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                for media in response.get("content", {}).values():
                    if "x-item-schema" in media:
                        media["itemSchema"] = media.pop("x-item-schema")
                        del media["schema"]


@schemathesis.hook
def before_call(context, case, kwargs):
    deepen_path_and_query(case)
    deepen_body(case)
    if case.meta is None or case.meta.generation.mode.is_positive:
        deepen_override(case)
    deepen_headers(case.headers or {}, case)


def deepen_path_and_query(case):
    for name, value in list((case.path_parameters or {}).items()):
        if name in GOVERNED and ID.fullmatch(str(value)):
            # An object is known by its short name; its id is for its events.
            value = case.path_parameters[name] = dice.choice(KNOWN["governed"]["names"])
        if isinstance(value, str) and ID.fullmatch(value):
            case.path_parameters[name] = real_id(value, case.path, operation_id(case))
        if name == "profile" and SLUG.fullmatch(str(value)) and dice.random() < 0.7:
            case.path_parameters[name] = dice.choice(KNOWN["profiles"])
        if name in GOVERNED and SLUG.fullmatch(str(value)) and dice.random() < 0.7:
            case.path_parameters[name] = dice.choice(KNOWN["governed"]["names"])
            if name == "local_queue" and dice.random() < 0.9:
                case.path_parameters["project_id"] = KNOWN["launch"]["project_id"]
        if name in ("image_id", "key_id") and NAME.fullmatch(str(value)) and dice.random() < 0.8:
            case.path_parameters[name] = real_name(name, operation_id(case))
    for name, value in list((case.query or {}).items()):
        if isinstance(value, str) and ID.fullmatch(value):
            case.query[name] = real_id(value, case.path)
        if name in ("actor", "subject") and isinstance(value, str) and PRINTED.fullmatch(value) and dice.random() < 0.7:
            # Records are found by exactly what they name, which is mostly an id.
            case.query[name] = dice.choice([choice for choices in seen.values() for choice in choices] or [value])
    webhooks = [pair for pair in KNOWN["webhooks"] if pair[0] in seen.get("whk", [])]
    if "delivery_id" in (case.path_parameters or {}) and webhooks and dice.random() < 0.7:
        # A delivery is found under its own webhook only.
        case.path_parameters |= dict(zip(("webhook_id", "delivery_id"), dice.choice(webhooks)))
    if operation_id(case) == "image_key_revoke" and case.path_parameters.get("key_id") == KNOWN["images"]["keys"][0]:
        # Entries are signed with this one.
        case.path_parameters["key_id"] = KNOWN["images"]["keys"][1]
    if operation_id(case) == "proof_show" and case.query and dice.random() < 0.5:
        # Of nearly every number there was no use.
        case.query.pop("use_generation", None)
    if isinstance((case.query or {}).get("page_token"), str) and dice.random() < 0.5:
        case.query["page_token"] = pages.get(case.formatted_path, case.query["page_token"])


def real_name(parameter, operation):
    """An image, or a key that signs images. What guests are launched from is not retired, nor its key revoked."""
    images = KNOWN["images"]
    if parameter == "key_id":
        return dice.choice(images["keys"][1:] if operation == "image_key_revoke" else images["keys"])
    if operation == "image_upload":
        return images["upload"]
    ending = operation in ("image_retire", "image_update")
    spare = [name for name in images["names"] if name not in images["spared"]]
    # Who sees none to spare may not end any.
    return dice.choice(ending and spare or images["names"])


def deepen_body(case):
    body = case.meta and case.meta.components.get(ParameterLocation.BODY)
    if operation_id(case) == "workload_submit" and case.body == 0 and body and case.meta.generation.mode.is_positive:
        # The condition in the schema inside of this one is too much for the generator, which then says 0 and takes the whole
        # request for a good one all the same.
        case.body = {"members": 1, "launch": dict(KNOWN["launch"]["body"])}
    if not body or not body.mode.is_positive:
        return
    if operation_id(case) == "image_upload" and dice.random() < 0.7:
        case.body = KNOWN["images"]["content"].encode()
    if not isinstance(case.body, dict):
        return
    case.body = once(deepened(case.body, case.path))
    deepen_runtime(case, case.body)
    deepen_governance(case)
    if operation_id(case) in ("allocation_launch", "allocation_plan") and dice.random() < 0.5:
        # Fields that fit each other and their project do not come about by chance.
        case.path_parameters["project_id"] = KNOWN["launch"]["project_id"]
        case.body = {**KNOWN["launch"]["body"], "name": case.body["name"]}
        if dice.random() < 0.3:
            del case.body["sku_id"]
            case.body["hardware_profile"] = KNOWN["governed"]["waits_in"]
    if operation_id(case) == "session_create" and dice.random() < 0.7:
        case.body["token"] = os.environ["GPUAAS_TOKEN"]
    if operation_id(case) == "ssh_key_create" and dice.random() < 0.5:
        case.body["public_key"] = public_key()
    if operation_id(case) == "allocation_extend" and dice.random() < 0.7:
        case.body["lease_ends_at"] = f"20{dice.randint(60, 99)}-01-01T00:00:00Z"
    if operation_id(case) == "slot_approve" and KNOWN["approvable"] and dice.random() < 0.5:
        # Devices that a host has, and that belong together, even less.
        approval = dice.choice(KNOWN["approvable"])
        case.path_parameters["node_id"], case.body = approval["node_id"], dict(approval["body"])
    if operation_id(case) == "slot_reapprove" and dice.random() < 0.5:
        case.body = devices_of(case.path_parameters["slot_id"]) or case.body


def deepen_runtime(case, body):
    """Bodies whose fields fit each other and what is there: signatures, ports, slots of a node, guests of a project."""
    operation = operation_id(case)
    if operation == "image_register":
        if dice.random() < 0.5:
            case.body = dict(dice.choice(KNOWN["images"]["entries"]))
        else:
            # No schema compares two fields. What is left to be refused is the signature.
            size = body["virtual_size_bytes"] // 512 * 512
            case.body |= {"format": "qcow2", "virtual_size_bytes": size, "minimum_disk_bytes": size}
    if operation == "ingress_settings_set":
        for part in body["ranges"]:
            part["port_min"], part["port_max"] = sorted([part["port_min"], part["port_max"]])
    if "url" in body and operation.startswith(("webhook_", "platform_webhook_")) and dice.random() < 0.7:
        body["url"] = f"https://x{dice.getrandbits(32):08x}.example/in"
    if operation == "ingress_create" and dice.random() < 0.7:
        case.path_parameters["project_id"] = KNOWN["launch"]["project_id"]
        body["allocation_id"] = dice.choice(KNOWN["kept"])
    if operation == "node_plan" and dice.random() < 0.7:
        body["slot_ids"] = slots_of(case.path_parameters["node_id"])[:1] or body["slot_ids"]


def deepen_governance(case):
    """An object has the name of its path, and what it refers to does not come about by chance."""
    operation, parameters = operation_id(case), case.path_parameters or {}
    if operation == "governance_apply" and dice.random() < 0.7:
        name = f"x{dice.getrandbits(32):08x}"
        case.body["governance"] = {"cohorts": [{"slug": name}], "cluster_queues": [{"slug": name, "cohort": name}]}
        case.body["prune"] = False
    if operation == "workload_submit" and dice.random() < 0.7:
        case.path_parameters["project_id"] = KNOWN["launch"]["project_id"]
        launch = KNOWN["launch"]["body"] | {"name": case.body["launch"]["name"], "queue": KNOWN["governed"]["waits_in"]}
        if dice.random() < 0.3:
            del launch["sku_id"]
            launch["hardware_profile"] = KNOWN["governed"]["waits_in"]
        case.body = {"members": 1, "launch": launch}
    if operation == "workload_priority" and dice.random() < 0.7:
        case.body["priority_class"] = KNOWN["governed"]["waits_in"]
    named = next((parameters[name] for name in GOVERNED if name in parameters), None)
    if named is None or not operation.endswith("_put") or dice.random() < 0.1:
        return
    kept = {key: case.body[key] for key in ("levels", "value", "name", "weight_milli") if key in case.body}
    case.body = (kept if dice.random() < 0.7 else case.body) | {"slug": named}
    if "levels" in case.body:
        case.body["levels"] = list(dict.fromkeys(case.body["levels"]))
    if operation == "local_queue_put":
        leads_to = {"cluster_queue": KNOWN["governed"]["leads_to"]}
        case.body |= {"project_id": parameters["project_id"]} | leads_to


def slots_of(node, state=None):
    """The slots of a node, or those in one state."""
    found = fetch(f"/api/v1/admin/nodes/{node}/resource-slots")
    slots = found.json()["items"] if found.status_code == 200 else []
    return [slot["id"] for slot in slots if state in (None, slot["execution"])]


def blocked_slots():
    """Slots that are not proved clean: any there are, or those of a machine that is taken from its tenant for this."""
    for node in seen.get("nod", [])[:20]:
        blocked = slots_of(node, "cleanup_blocked")
        if blocked:
            return blocked
    while KNOWN["held_whole"]:
        path = f"/api/v1/admin/allocations/{KNOWN['held_whole'].pop()}"
        nodes = [value for value in ID.findall(fetch(path).text) if value.startswith("nod_")]
        asked = ask(HEADERS, f"{path}/force-release", {"reason": "Idle"})
        # On a busy machine the host and the leader take their time.
        until = time.monotonic() + 60
        while nodes and asked.status_code == 202 and time.monotonic() < until:
            blocked = slots_of(nodes[0], "cleanup_blocked")
            if blocked:
                return blocked
            time.sleep(0.05)
    return []


def ask(headers, path, body):
    key = {"Idempotency-Key": f'"{dice.getrandbits(128):032x}"'}
    return session.post(f"{URL}{path}", json=body, headers=headers | key, timeout=10)


def deepen_override(case):
    """An override is of a blocked slot, and another operator asked for what this one decides. Once is enough."""
    operation = operation_id(case)
    if KNOWN["other_operator"] is None or operation not in OVERRIDES or operation in overridden:
        return
    slots = blocked_slots()
    if not slots:
        return
    # Others may have been asked about already.
    slot = dice.choice(slots)
    if operation == "wipe_override_request":
        case.path_parameters["slot_id"] = slot
        return
    other = {"Authorization": f"Bearer {KNOWN['other_operator']}"}
    asked = ask(other, f"/api/v1/admin/resource-slots/{slot}/override", {"reason": "The disk was taken out and shredded."})
    if asked.status_code == 201:
        case.path_parameters["override_id"] = asked.json()["id"]


def devices_of(slot):
    """What approves a slot as it is."""
    found = fetch(f"/api/v1/admin/resource-slots/{slot}")
    if found.status_code != 200:
        return None
    view = found.json()
    return {name: view[name] for name in DEVICES if name in view}


def once(body):
    """The same body with every label and key once: no schema says that two items differ in a part, and real ids repeat."""
    for inner in body.values():
        for part in inner if isinstance(inner, list) else [inner]:
            if isinstance(part, dict):
                once(part)
    labels, keys = body.get("labels"), body.get("ssh_key_ids")
    if isinstance(labels, list) and all(isinstance(label, dict) and "key" in label for label in labels):
        body["labels"] = list({label["key"]: label for label in labels}.values())
    if isinstance(keys, list):
        body["ssh_key_ids"] = list(dict.fromkeys(keys))
    return body


def public_key():
    """A key that nobody has the private half of."""
    parts = [b"ssh-ed25519", dice.randbytes(32)]
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return f"ssh-ed25519 {base64.b64encode(blob).decode()}"


def deepen_headers(headers, case):
    key, version, tag = (headers.get(name) for name in ("Idempotency-Key", "If-Match", "If-None-Match"))
    if headers.get("Upgrade") == "gpuaas-stream":
        # Part of the same wish; it is no parameter, because it is about the connection.
        headers["Connection"] = "Upgrade"
    # The examples of the document, and what shrinks to the same text, would all be one key.
    if isinstance(key, str) and KEY.fullmatch(key) and dice.random() < 0.9:
        headers["Idempotency-Key"] = f'"{dice.getrandbits(128):032x}"'
    if isinstance(version, str) and VERSION.fullmatch(version):
        quoted = '"%s"' % version.strip('"')
        headers["If-Match"] = dice.random() < 0.8 and current_version(case) or quoted
    if isinstance(tag, str) and TAG.fullmatch(tag):
        headers["If-None-Match"] = dice.random() < 0.5 and current_version(case) or f'"{tag}"'


@schemathesis.hook
def after_call(context, case, response):
    answers[operation_id(case)][f"{response.status_code} {code_of(response) or ''}".strip()] += 1
    if not 200 <= response.status_code < 300:
        return
    if operation_id(case) in OVERRIDES:
        overridden.add(operation_id(case))
    for value in set(ID.findall(response.text)):
        known = seen.setdefault(kind_of(value, case.path), [])
        if value not in known:
            known.append(value)
            del known[:-IDS_MAX]
    if operation_id(case) == "allocation_launch":
        # Of all that was ever seen most has ended; what was just launched can still be released.
        for ending in ("allocation_release", "allocation_force_release"):
            seen.setdefault(ending, []).append(response.json()["subject_id"])
    if operation_id(case) in NEEDS:
        seen.setdefault(NEEDS[operation_id(case)], []).extend(case.path_parameters.values())
    following = NEXT_PAGE.search(response.text)
    if following:
        pages[case.formatted_path] = following[1]


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether a failure is one. Exceptions are about single codes; the same status with another code still fails."""
    if isinstance(failure, RejectedPositiveData):
        return code_of(response) not in FACTS
    if isinstance(failure, AcceptedNegativeData):
        # A malformed path may lead to no operation at all.
        return code_of(response) != "route_not_found"
    if isinstance(failure, UseAfterFree):
        # To delete a tenant or project is long work, and what is left of it stays to be read: the proof of the deletion.
        # A token stays too, to be seen revoked.
        # So do a key that signed images, and the settings of a region, which are then nobody's.
        kept = r"tenants|projects|tokens|admin/enrollment-tokens|image-keys|regions/[^/]+/ingress-settings"
        return not re.match(f"DELETE /api/v1/({kept})", failure.free)
    return True


def code_of(response):
    if (response.headers.get("content-type") or [""])[0] != "application/problem+json":
        return None
    return response.json().get("code")


@schemathesis.check
def refusals_are_problems(ctx, response, case):
    """Whatever refuses answers in one form, also where no operation is asked: unknown methods, paths that lead nowhere."""
    if response.status_code < 400 or response.request.method == "HEAD":
        return
    code = code_of(response)
    assert code is not None, "A refusal that is not a problem"
    problem = response.json()
    assert problem["status"] == response.status_code and problem["type"] == f"/docs/errors/{code}", "A problem at odds with itself"
    assert problem["title"] and problem["detail"] and response.headers.get("x-request-id"), "A problem that says too little"


@schemathesis.check
def the_token_stays_good(ctx, response, case):
    """The requests of a run are the role's own; as a stranger's they would all be refused and prove nothing."""
    assert response.status_code != 401 or code_of(response) == "unauthenticated", "The token does not work any more"


@schemathesis.check
def what_was_made_is_there(ctx, response, case):
    """What was created, or the operation to follow, is where the answer says, as the answer showed it."""
    location = response.headers.get("location")
    # Operators have no page of their own; their Location is the list.
    if response.status_code not in (201, 202) or operation_id(case) == "operator_create":
        return
    found, made = fetch(location[0]), response.json()
    assert found.status_code == 200, f"Location {location[0]} answers {found.status_code}"
    if operation_id(case) == "disk_grant_create":
        # A grant is told by its disk, and found in the list of its node.
        grants = found.json()["items"]
        assert made in grants or "next_page_token" in found.json(), f"Location {location[0]} does not show it"
        return
    if operation_id(case) == "slot_profile_create":
        # A profile is told by its short name.
        assert found.json()["slug"] == made["slug"], f"Location {location[0]} leads to something else"
        return
    name = "key_id" if operation_id(case) == "image_key_add" else "id"
    assert found.json()[name] == made.get("token", made.get("webhook", made))[name], f"Location {location[0]} leads to something else"


@schemathesis.check
def what_was_ended_is_gone(ctx, response, case):
    """After 204 there is nothing left to read; only a token or key stays, to be seen revoked."""
    # Operators and disk grants have no page of their own, settings stay as nobody's, and a look at machines ends nothing.
    without = ("operator_remove", "disk_grant_delete", "ingress_settings_clear", "machine_sync")
    if response.status_code != 204 or operation_id(case) in without:
        return
    left = fetch(case.formatted_path)
    if operation_id(case) in ("token_revoke", "enrollment_token_revoke", "image_key_revoke"):
        # Whoever makes a token for somebody else may not see it afterwards.
        assert left.status_code == 404 or "revoked_at" in left.json(), "What was revoked is shown as good"
    else:
        assert left.status_code == 404, f"What was ended still answers {left.status_code}"


@atexit.register
def tell():
    with open(os.environ["GPUAAS_ANSWERS"], "w", encoding="utf-8") as file:
        json.dump(answers, file, indent=1, sort_keys=True)
