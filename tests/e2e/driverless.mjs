// WebKitGTK keeps nothing under automation, so what must outlive a kill is driven without it: the browser is started on
// an address like any other, and a script in the page fetches each command and sends back what it came to. Only the
// words of a WebDriver that the lab's own words are made of.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer, request } from "node:http";
import { markedEnvironment } from "../../scripts/browser.mjs";
import { findEngine, LAUNCH } from "../../scripts/engines.mjs";

const ANSWER_MS_MAX = 20_000;
const CHANNEL = "/driverless";

/** Runs first in every document. A page's policy allows scripts of its own origin alone, so a command comes as a file. */
export const AGENT = `
  const send = fetch;
  const ask = async () => {
    for (;;) {
      const id = await send("${CHANNEL}/next", { cache: "no-store" }).then((answer) => answer.text());
      const script = document.createElement("script");
      script.src = "${CHANNEL}/command?" + id;
      script.answer = (value) => send("${CHANNEL}/answer?" + id, { method: "POST", body: JSON.stringify(value) });
      await new Promise((settle) => { script.onload = script.onerror = settle; document.head.append(script); });
      script.remove();
      // A document on its way out takes no further command.
      if (script.leaves) return;
    }
  };
  addEventListener("DOMContentLoaded", () => { ask().catch(() => {}); });`;

/**
 * A server in front of the one at `target` that also carries the commands.
 * @param {string} target
 */
export async function startDriverless(target) {
  /** Documents that wait for a command. @type {import("node:http").ServerResponse[]} */
  const idle = [];
  let offered = () => {};
  /** @type {Map<string, { text: string, settle: (value: any) => void }>} */
  const commands = new Map();

  const server = createServer((incoming, outgoing) => {
    const { pathname, search } = new URL(incoming.url ?? "/", target);
    const id = search.slice(1);
    if (pathname === `${CHANNEL}/next`) {
      idle.push(outgoing);
      outgoing.on("close", () => idle.splice(0, idle.length, ...idle.filter((other) => other !== outgoing)));
      return offered();
    }
    if (pathname === `${CHANNEL}/command`) {
      outgoing.writeHead(200, { "content-type": "text/javascript", "cache-control": "no-store" });
      return outgoing.end(commands.get(id)?.text ?? "");
    }
    if (pathname === `${CHANNEL}/answer`) {
      return read(incoming).then((body) => {
        commands.get(id)?.settle(JSON.parse(body.toString("utf8")));
        outgoing.writeHead(204).end();
      });
    }
    return passOn(target, incoming, outgoing);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", () => listening(undefined)));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");

  /** The document that waits for a command; waits for one itself. */
  const nextIdle = () =>
    within("a document asks for a command", (settle) => {
      offered = () => {
        const document = idle.shift();
        if (!document) return;
        offered = () => {};
        settle(document);
      };
      offered();
    });

  /** Runs the text, which calls `answer` with its outcome, in the document. */
  async function command(text) {
    const document = await nextIdle();
    const id = randomUUID();
    try {
      const { ok, error } = await within("the page answers", (settle) => {
        commands.set(id, { text: wrapped(text), settle });
        document.end(id);
      });
      if (error !== undefined) throw new Error(`in the page: ${error}`);
      return ok;
    } finally {
      commands.delete(id);
    }
  }

  return {
    url: `http://127.0.0.1:${address.port}`,
    open: (profile) => open(profile, command),
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A browser of that profile; it starts with the first address that it is told to open. */
async function open(profile, command) {
  const programs = findEngine("webkit");
  if (!programs) throw new Error("webkit was not found");
  let started;

  const element = (css) => {
    const on = (act) => command(`document.querySelector(${JSON.stringify(css)}).${act}; answer({ ok: null });`);
    return { click: () => on("click()") };
  };
  const driver = {
    async get(url) {
      // The new document asks for its first command when it is there.
      if (started) return command(leaving(`location.assign(${JSON.stringify(url)});`));
      started = await LAUNCH.webkit({ profile, url, programs });
      const { command: program, args, env } = started;
      return void spawn(program, args, { env: { ...markedEnvironment(profile), ...env }, stdio: "ignore" });
    },
    executeScript: (source, ...args) =>
      command(`answer({ ok: (function () { ${source} }).apply(null, ${JSON.stringify(args)}) ?? null });`),
    executeAsyncScript: (source, ...args) =>
      command(
        `(function () { ${source} }).call(null, ...${JSON.stringify(args)}, (ok) => answer({ ok: ok ?? null }));`,
      ),
    findElement: async ({ css }) => element(css),
    navigate: () => ({ refresh: () => command(leaving("location.reload();")) }),
    manage: () => ({ setTimeouts: async () => {}, deleteAllCookies: async () => {} }),
    getAllWindowHandles: async () => ["the only one"],
    switchTo: () => ({ window: async () => {} }),
  };
  // What is left of the browser ends with its profile.
  return { driver, close: async () => started?.end() };
}

const leaving = (act) => `document.currentScript.leaves = true; answer({ ok: null }).then(() => { ${act} });`;

function wrapped(text) {
  return `{
    const { answer: send } = document.currentScript;
    const answer = ({ ok }) => send({ ok });
    try { ${text} } catch (error) { send({ error: String(error) }); }
  }`;
}

/** Passes a request and its answer on; whoever leaves first, the other side hears of it. */
function passOn(target, incoming, outgoing) {
  const { method, headers } = incoming;
  const onward = request(`${target}${incoming.url}`, { method, headers, agent: false }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, { ...answer.headers, connection: "close" });
    answer.on("error", () => outgoing.destroy());
    answer.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  outgoing.on("close", () => onward.destroy());
  incoming.pipe(onward);
}

async function read(incoming) {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** @template T @param {string} what @param {(settle: (value: T) => void) => void} begin @returns {Promise<T>} */
function within(what, begin) {
  return new Promise((settle, fail) => {
    const late = setTimeout(() => fail(new Error(`not within ${ANSWER_MS_MAX} ms: ${what}`)), ANSWER_MS_MAX);
    begin((value) => {
      clearTimeout(late);
      settle(value);
    });
  });
}
