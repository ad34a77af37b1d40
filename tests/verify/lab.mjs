// Runs `postonce verify` as a person would, against a server that its hooks can restart, slow down and cut from its store.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDemoServer } from "../../scripts/demo-server.mjs";
import { DIST } from "../../scripts/paths.mjs";

const CLI = join(DIST, "verify", "cli.js");
const SLOW_MS = 600;
const ORIGIN = "https://shop.example";

/**
 * Calls the program and reads what it wrote.
 * @param {readonly string[]} words
 */
export async function verify(words) {
  const folder = await mkdtemp(join(tmpdir(), "postonce-verify-"));
  const [json, junit] = [join(folder, "report.json"), join(folder, "report.xml")];
  try {
    const child = spawn(process.execPath, [CLI, "verify", ...words, "--json", json, "--junit", junit]);
    const printed = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => {
      printed.out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      printed.err += text;
    });
    const exit = await new Promise((settle) => child.once("close", settle));
    const read = (path) => readFile(path, "utf8").catch(() => undefined);
    const report = JSON.parse((await read(json)) ?? "null");
    return { exit, ...printed, report, junit: await read(junit) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The demo server with everything that verify wants to know about it.
 * @param {{ database?: string, broken?: string }} [options] `database` is a file or an address; its own file without one
 */
export async function openLab({ database, broken } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "postonce-verified-"));
  const options = { db: database ?? join(folder, "shop.db"), origins: [ORIGIN], broken };
  let server = await startDemoServer(options);
  const port = Number(new URL(server.url).port);
  const put = async (path, body) => {
    const answer = await fetch(`${server.url}/_demo/${path}`, { method: "PUT", body });
    if (!answer.ok) throw new Error(`PUT ${path} answered ${answer.status}: ${await answer.text()}`);
  };
  const slow = [{ match: { operation: "order.create" }, fault: "delay-effect", ms: SLOW_MS }];
  const hooks = await openHooks({
    restart: async () => {
      await server.crash();
      server = await startDemoServer({ ...options, port });
    },
    slow: () => put("faults", JSON.stringify(slow)),
    down: () => put("store", "away"),
    up: () => put("store", "back"),
  });
  const order = (sku) => JSON.stringify({ sku, quantity: 2 });
  return {
    url: server.url,
    words: [
      ...["--url", `${server.url}/orders`, "--payload", order("A1")],
      ...["--status", `${server.url}/orders/status`, "--other-operation", `${server.url}/drafts`],
      ...["--counter", `${server.url}/_demo/effects`, "--counter-pointer", "/count", "--result-id", "/id"],
      ...[
        "--subject",
        "demo-user",
        "--other-header",
        "Cookie: demo_subject=other-user",
        "--other-subject",
        "other-user",
      ],
      ...["--refused-payload", order("DECLINED"), "--failing-payload", order("BROKEN"), "--origin", ORIGIN],
      ...Object.entries(hooks.commands).flatMap(([name, command]) => [`--${name}-hook`, command]),
    ],
    effects: () => server.effects(),
    async close() {
      await hooks.close();
      server.stop();
      await server.ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A command line for each action: hooks are commands, and the actions live in this process. */
export async function openHooks(actions) {
  const hooks = createServer((request, response) => {
    actions[String(request.url).slice(1)]().then(
      () => response.end(),
      (error) => {
        response.statusCode = 500;
        response.end(String(error));
      },
    );
  });
  await new Promise((settle) => hooks.listen(0, "127.0.0.1", () => settle(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (hooks.address());
  const call = (name) =>
    `"${process.execPath}" -e "fetch('http://127.0.0.1:${port}/${name}').then(async (a) => { if (!a.ok) { console.error(await a.text()); process.exit(1) } })"`;
  return {
    commands: Object.fromEntries(Object.keys(actions).map((name) => [name, call(name)])),
    close: () => new Promise((settle) => hooks.close(settle)),
  };
}
