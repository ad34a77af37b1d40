"""Two ASGI middlewares, by the name on the command line, around one FastAPI shop. Both with their in-memory backend."""

import asyncio
import socket
import sys

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

import shop

app = FastAPI()


@app.get("/count")
async def count():
    return {"count": shop.effects()}


async def command(kind, request):
    payload = await request.json()
    refused = shop.refusal(payload)
    if refused is None:
        await asyncio.sleep(shop.pause(payload))
    status, body = refused or shop.effect(kind, payload)
    return JSONResponse(body, status_code=status)


@app.post("/orders")
async def orders(request: Request):
    return await command("ord", request)


@app.post("/drafts")
async def drafts(request: Request):
    return await command("drf", request)


def protect(name):
    if name == "asgi-idempotency-header":
        from idempotency_header_middleware import IdempotencyHeaderMiddleware
        from idempotency_header_middleware.backends.memory import MemoryBackend

        app.add_middleware(IdempotencyHeaderMiddleware, backend=MemoryBackend())
    elif name == "fastapi-idempotency-key":
        from fastapi_idempotency_key import IdempotencyMiddleware, MemoryBackend

        app.add_middleware(IdempotencyMiddleware, backend=MemoryBackend())
    else:
        raise SystemExit(f"unknown: {name}")


protect(sys.argv[1])
listener = socket.create_server(("127.0.0.1", 0))
print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
