// `npm run durability`: what of a value survives when the whole browser is killed so long after it was written, in each
// engine and each store of the page. `--engine NAME` measures one, `--rounds N` so many of each.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { parseArgs } from "node:util";
import { killBrowser, markedEnvironment } from "./browser.mjs";
import { ENGINES, engineNamed, findEngine, LAUNCH } from "./engines.mjs";
import { ROOT } from "./paths.mjs";
import { main, Stop } from "./run.mjs";
import { setUpTests } from "./setup.mjs";

const PAGES = join(ROOT, "tests", "durability");
const STORES = ["localStorage", "relaxed", "strict"];
/** Milliseconds from the end of the write to the kill. */
const WAITS_MS = [0, 200, 1_000, 3_000, 6_000];
const ROUNDS = 3;
/** From the opened store to the write. */
const SETTLE_MS = 1_000;
const REPORT_MS_MAX = 45_000;
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript" };

await main(async () => {
  const { values } = parseArgs({ options: { engine: { type: "string", multiple: true }, rounds: { type: "string" } } });
  const engines = values.engine?.map(engineNamed) ?? ENGINES;
  const rounds = Number(values.rounds ?? ROUNDS);
  await setUpTests(engines);
  const ear = await listen();
  console.log(`| engine, store | ${WAITS_MS.map((ms) => `${ms / 1_000} s`).join(" | ")} |`);
  console.log(`| --- |${WAITS_MS.map(() => " --- |").join("")}`);
  try {
    for (const engine of engines) {
      for (const store of STORES) {
        const cells = [];
        for (const wait of WAITS_MS) cells.push(await measure(ear, { engine, store, wait, rounds }));
        console.log(`| ${engine}, ${store} | ${cells.join(" | ")} |`);
      }
    }
  } finally {
    ear.close();
  }
});

/** `survived/rounds`. */
async function measure(ear, { engine, store, wait, rounds }) {
  let survived = 0;
  for (let round = 0; round < rounds; round += 1) {
    const profile = mkdtempSync(join(tmpdir(), "postonce-durability-"));
    const value = `value-${round}`;
    try {
      await within(engine, profile, `${ear.url}/page.html?${query({ act: "write", store, value })}`, async () => {
        await ear.next("written");
        await new Promise((settle) => setTimeout(settle, wait)); // the situation under test
      });
      await within(engine, profile, `${ear.url}/page.html?${query({ act: "read", store })}`, async () => {
        const { found } = await ear.next("found");
        if (found !== null && found !== value) throw new Error(`${engine}, ${store}: found ${found}`);
        survived += found === value ? 1 : 0;
      });
    } finally {
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    }
  }
  return `${survived}/${rounds}`;
}

function query(of) {
  return new URLSearchParams({ ...of, settle: String(SETTLE_MS) });
}

/** Opens the address in a browser of that profile, and kills all of it when `act` is done. */
async function within(engine, profile, url, act) {
  const programs = findEngine(engine);
  if (!programs) throw new Stop(`${engine} was not found.`, "node scripts/setup.mjs --test");
  const { command, args, env, end } = await LAUNCH[engine]({ profile, url, programs });
  const child = spawn(command, args, { env: { ...markedEnvironment(profile), ...env }, stdio: "ignore" });
  try {
    await act();
  } finally {
    killBrowser(profile);
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    end();
  }
}

/** A server for the page, and what it reports in the order in which it comes. */
async function listen() {
  const heard = [];
  let wake = () => {};
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0] ?? "/";
    if (request.method !== "POST") {
      const type = TYPES[extname(path)];
      if (!type) return response.writeHead(404).end();
      response.writeHead(200, { "content-type": type, "cache-control": "no-store" });
      return response.end(readFileSync(join(PAGES, path.slice(1))));
    }
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    return request.on("end", () => {
      heard.push(JSON.parse(Buffer.concat(chunks).toString("utf8")));
      wake();
      response.writeHead(204).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    /** The next report that has this member. */
    async next(member) {
      const end = Date.now() + REPORT_MS_MAX;
      for (;;) {
        const report = heard.shift();
        if (report?.failure) throw new Error(`the page failed: ${report.failure}`);
        if (report && member in report) return report;
        if (report) continue;
        const left = end - Date.now();
        if (left <= 0) throw new Error(`the page said nothing of \`${member}\` within ${REPORT_MS_MAX} ms`);
        await new Promise((settle) => {
          const late = setTimeout(settle, left);
          wake = () => {
            clearTimeout(late);
            settle(undefined);
          };
        });
      }
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
