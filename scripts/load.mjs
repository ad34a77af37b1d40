// `npm run load`: throughput and p99 of the layer against the same handler without it, in one run, for new keys and for
// replays, on both stores and with ever more stored records. Prints a table, and with `--write` keeps it and the raw
// numbers in docs/. Speed is reported; what is asserted is that every answer was a success and every new key one effect.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import { ROOT, TARGET } from "./paths.mjs";
import { startPostgres } from "./postgres.mjs";
import { isMain, main, run, Stop } from "./run.mjs";
import { setUpTests } from "./setup.mjs";

/** @typedef {"bare" | "new" | "replay"} Kind */
/** @typedef {{ store: "sqlite" | "postgres", records: number, kind: Kind, perSecond: number, p99: number }} Sample */

const KINDS = /** @type {const} */ (["bare", "new", "replay"]);
const START_MS_MAX = 30_000;
/** Keys that replays go round in. */
const REPLAYED_KEYS = 256;
/** Longer than one effect takes. */
const STILL_MS = 100;
const PAGE = join(ROOT, "docs", "server-performance.md");
const RAW = join(ROOT, "docs", "server-performance.json");
const TABLE = /(<!-- table: npm run load -->\n)[\s\S]*(<!-- end of table -->)/;

/** Builds the server that is measured. @param {"release" | "debug"} profile */
export async function buildLoadServer(profile) {
  const args = ["build", "-p", "postonce-server", "--example", "load"];
  await run("cargo", profile === "release" ? [...args, "--release"] : args);
}

/**
 * Starts it on a database: a file, or a `postgres://` address.
 * @param {string} database
 * @param {"release" | "debug"} profile
 */
export async function startLoadServer(database, profile) {
  const child = spawn(join(TARGET, profile, "examples", "load"), [database], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((settle, fail) => {
    const late = setTimeout(() => fail(new Stop("The load server did not listen.")), START_MS_MAX);
    child.once("exit", (code) => fail(new Stop(`The load server ended with ${code}.`)));
    child.stdout.setEncoding("utf8").once("data", (text) => {
      clearTimeout(late);
      settle(/http:\/\/\S+/.exec(text)?.[0]);
    });
  });
  const ask = async (path, method) => {
    const answer = await fetch(`${url}${path}`, { method });
    if (!answer.ok) throw new Stop(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.text();
  };
  return {
    /** Brings the number of stored records up to that. @param {number} records */
    fill: (records) => ask(`/fill/${records}`, "POST"),
    orders: async () => Number(await ask("/count", "GET")),
    url,
    stop: () => child.kill(),
  };
}

/** The number of orders once it stands still: what a leaving client asked for last is still carried out. */
async function settled(server) {
  for (let last = await server.orders(); ; ) {
    await new Promise((settle) => setTimeout(settle, STILL_MS));
    const now = await server.orders();
    if (now === last) return now;
    last = now;
  }
}

const newKey = () => randomBytes(16).toString("hex");

/** @param {string} key */
const headersOf = (key) => ({
  "content-type": "application/json",
  "idempotency-key": `"${key}"`,
  "idempotency-first-sent": `@${Math.floor(Date.now() / 1_000)}`,
  "idempotency-subject": '"load"',
});

/**
 * One kind of request for so long. Fails unless every answer was 201 and the orders grew by just the effects asked for.
 * @param {Awaited<ReturnType<typeof startLoadServer>>} server
 * @param {Kind} kind
 * @param {{ seconds: number, connections: number }} options
 */
export async function measure(server, kind, { seconds, connections }) {
  const keys = Array.from({ length: REPLAYED_KEYS }, newKey);
  const send = (key) => fetch(`${server.url}/once`, { method: "POST", headers: headersOf(key), body: '{"sku":"A1"}' });
  if (kind === "replay") for (const key of keys) await (await send(key)).arrayBuffer();
  const before = await settled(server);
  let turn = 0;
  const next = () => (kind === "replay" ? (keys[turn++ % keys.length] ?? "") : newKey());
  const seen = await autocannon({
    url: `${server.url}${kind === "bare" ? "/bare" : "/once"}`,
    method: "POST",
    body: '{"sku":"A1"}',
    connections,
    duration: seconds,
    requests: [{ setupRequest: (request) => ({ ...request, headers: { ...request.headers, ...headersOf(next()) } }) }],
  });
  const grown = (await settled(server)) - before;
  const answered = seen["2xx"];
  if (seen.non2xx + seen.errors + seen.timeouts > 0) {
    throw new Stop(`${kind}: ${seen.errors} requests failed; by status ${JSON.stringify(seen.statusCodeStats)}`);
  }
  // At the end each connection may leave one request behind that the server still carries out.
  const allowed = kind === "replay" ? grown === 0 : grown >= answered && grown <= answered + connections;
  if (answered === 0 || !allowed) throw new Stop(`${kind}: ${answered} answers and ${grown} effects`);
  return { perSecond: seen.requests.average, p99: seen.latency.p99, answered, grown };
}

/** @param {number[]} values */
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** @param {Sample[]} samples @param {Partial<Sample>} of @param {"perSecond" | "p99"} what */
const middle = (samples, of, what) =>
  median(
    samples
      .filter((sample) => Object.entries(of).every(([name, value]) => sample[name] === value))
      .map((sample) => sample[what]),
  );

/** @param {Sample[]} samples */
function tableOf(samples) {
  const sizes = [...new Set(samples.map(({ records }) => records))];
  const lines = [
    "| store | stored records | request | per second | p99 ms | throughput to bare | throughput to least records |",
    "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
  ];
  for (const store of new Set(samples.map((sample) => sample.store))) {
    for (const records of sizes) {
      for (const kind of KINDS) {
        const rate = middle(samples, { store, records, kind }, "perSecond");
        const ratio = (of) => (rate / middle(samples, { store, ...of }, "perSecond")).toFixed(2);
        const cells = [
          ...[store, records.toLocaleString("en"), kind === "bare" ? "without the layer" : kind],
          ...[Math.round(rate), middle(samples, { store, records, kind }, "p99")],
          ...[ratio({ records, kind: "bare" }), ratio({ records: sizes[0], kind })],
        ];
        lines.push(`| ${cells.join(" | ")} |`);
      }
    }
  }
  return lines.join("\n");
}

/** Every combination, `rounds` times over, the kinds taking turns so that a slow minute meets all of them. */
async function everything({ seconds, rounds, sizes, connections }) {
  /** @type {Sample[]} */
  const samples = [];
  const folder = mkdtempSync(join(tmpdir(), "postonce-load-"));
  const postgres = await startPostgres({ durable: true });
  try {
    for (const store of /** @type {const} */ (["sqlite", "postgres"])) {
      const server = await startLoadServer(store === "sqlite" ? join(folder, "load.db") : postgres.url, "release");
      try {
        for (const records of sizes) {
          await server.fill(records);
          await measure(server, "new", { seconds: 1, connections });
          for (let round = 0; round < rounds; round += 1) {
            for (const kind of KINDS) {
              const { perSecond, p99 } = await measure(server, kind, { seconds, connections });
              samples.push({ store, records, kind, perSecond, p99 });
              console.error(`${store} ${records} ${kind}: ${Math.round(perSecond)}/s, p99 ${p99} ms`);
            }
          }
        }
      } finally {
        server.stop();
      }
    }
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return samples;
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { values } = parseArgs({
      options: {
        seconds: { type: "string", default: "5" },
        rounds: { type: "string", default: "3" },
        records: { type: "string", default: "10000,100000,1000000" },
        connections: { type: "string", default: "16" },
        write: { type: "boolean", default: false },
      },
    });
    const options = {
      seconds: Number(values.seconds),
      rounds: Number(values.rounds),
      connections: Number(values.connections),
      sizes: values.records.split(",").map(Number),
    };
    if (
      !Object.values(options)
        .flat()
        .every((value) => value > 0)
    ) {
      throw new Stop("--seconds, --rounds, --connections and --records take numbers above zero.");
    }
    await setUpTests();
    await buildLoadServer("release");
    const samples = await everything(options);
    const table = tableOf(samples);
    console.log(table);
    if (!values.write) return;
    const machine = { cpus: cpus().length, cpu: cpus()[0]?.model ?? "", node: process.version };
    writeFileSync(RAW, `${JSON.stringify({ ...options, machine, samples }, null, 1)}\n`);
    const page = readFileSync(PAGE, "utf8");
    writeFileSync(
      PAGE,
      page.replace(TABLE, (_, start, end) => `${start}${table}\n${end}`),
    );
  });
}
