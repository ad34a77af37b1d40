"""What every Python shim sells: an order counts as one effect, and takes as long as a row in a near database."""

import threading

ROW_SECONDS = 0.02
SLOW_SECONDS = 0.6

_lock = threading.Lock()
_count = 0


def effects():
    """How many effects there were."""
    return _count


def pause(payload):
    """How long this command takes."""
    return SLOW_SECONDS if payload.get("sku") == "SLOW" else ROW_SECONDS


def refusal(payload):
    """Status and body where nothing is done."""
    if not payload.get("sku") or not payload.get("quantity"):
        return 422, {"error": "sku and quantity are needed"}
    if payload["sku"] == "DECLINED":
        return 402, {"error": "declined"}
    return None


def effect(kind, payload):
    """The effect itself; it may fail after its row, as a failing mail would make it."""
    global _count
    with _lock:
        _count += 1
        number = _count
    if payload["sku"] == "BROKEN":
        raise RuntimeError("broken after the effect")
    return 201, {"id": f"{kind}_{number}", "sku": payload["sku"], "quantity": payload["quantity"]}
