"""django-idempotency-key with its middleware, memory storage and thread lock, under a threaded WSGI server.

CONFLICT_STATUS_CODE is None, so that a repeat is answered as the first time (its default is 409 with the stored body).
"""

import json
import socket
import time

import django
from django.conf import settings
from django.http import JsonResponse
from django.urls import path

import shop

settings.configure(
    SECRET_KEY="of a test",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    MIDDLEWARE=["idempotency_key.middleware.IdempotencyKeyMiddleware"],
    IDEMPOTENCY_KEY={"CONFLICT_STATUS_CODE": None},
)
django.setup()

from idempotency_key.decorators import idempotency_key  # noqa: E402


def command(kind):
    @idempotency_key
    def view(request):
        payload = json.loads(request.body)
        refused = shop.refusal(payload)
        if refused is None:
            time.sleep(shop.pause(payload))
        status, body = refused or shop.effect(kind, payload)
        return JsonResponse(body, status=status)

    return view


def count(_request):
    return JsonResponse({"count": shop.effects()})


urlpatterns = [path("orders", command("ord")), path("drafts", command("drf")), path("count", count)]

if __name__ == "__main__":
    import waitress
    from django.core.wsgi import get_wsgi_application

    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    waitress.serve(get_wsgi_application(), sockets=[listener], threads=16, _quiet=True)
