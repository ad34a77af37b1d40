// Identical commands against servers that are killed at random and a database that cuts their connections. What is
// left afterwards is counted in the database, never inferred from an answer.
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { startDemoServer } from "../../scripts/demo-server.mjs";
import { startPostgres } from "../../scripts/postgres.mjs";

/** Short, so that a claim whose owner was killed is recovered within the run. */
const LEASE_MS = 1_500;
/** How many keys are under way at the same time. */
const KEYS_AT_ONCE = 4;
/** One key in so many is left alone after its first requests: its outcome must be settled without its client. */
const ABANDONED_EVERY = 10;
/** Longest time in which a persistent client must have got its answer. */
const PATIENCE_MS = 60_000;
const BETWEEN_BLOWS_MS = { least: 60, most: 400 };
const BETWEEN_TRIES_MS = { least: 20, most: 200 };

/** A small seeded generator (mulberry32): a failing run can be run again with the same blows. */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @typedef {"postgres" | "sqlite"} Store */

/**
 * @typedef {{ store: Store, keys: number, parallel: number, processes: number, seed: number,
 *   progress?: (text: string) => void }} Storm
 * Runs it and reports what was done and what is left.
 * @param {Storm} storm
 */
export async function storm({ store, keys, parallel, processes, seed, progress = () => {} }) {
  const dice = random(seed);
  const between = ({ least, most }) => least + Math.floor(dice() * (most - least));
  const started = Date.now();
  const home = await openDatabase(store);
  const servers = [];
  const start = () => startDemoServer({ db: home.database, leaseMs: LEASE_MS });
  const blows = { kills: 0, cuts: 0 };
  let over = false;
  try {
    for (let n = 0; n < processes; n += 1) servers.push(await start());
    const anyUrl = () => servers[Math.floor(dice() * servers.length)].url;

    const strike = async () => {
      while (!over) {
        await passed(between(BETWEEN_BLOWS_MS));
        // A cut first, so that the shortest storm has one.
        if (home.cut && (blows.cuts === 0 || dice() < 0.4)) {
          await home.cut();
          blows.cuts += 1;
          continue;
        }
        const n = Math.floor(dice() * servers.length);
        await servers[n].crash();
        servers[n] = await start();
        blows.kills += 1;
      }
    };
    const striking = strike();
    // Awaited at the end; until then its failure must not end the process.
    striking.catch(() => {});

    const wishes = Array.from({ length: keys }, (_, n) => wish(n, seed));
    const answers = { sent: 0, byStatus: {}, ids: new Map() };
    const note = (answer, { key }) => {
      answers.sent += 1;
      const name = answer.status ?? "cut";
      answers.byStatus[name] = (answers.byStatus[name] ?? 0) + 1;
      if (answer.status !== 201) return;
      const ids = answers.ids.get(key) ?? new Set();
      answers.ids.set(key, ids.add(JSON.parse(answer.text).id));
    };
    const one = async (wish, n) => {
      const shots = Array.from({ length: parallel }, () => post(anyUrl(), wish));
      for (const answer of await Promise.all(shots)) note(answer, wish);
      if (n % ABANDONED_EVERY === ABANDONED_EVERY - 1) return;
      const until = Date.now() + PATIENCE_MS;
      for (;;) {
        const answer = await post(anyUrl(), wish);
        note(answer, wish);
        if (answer.status === 201) return;
        if (Date.now() > until) throw new Error(`${wish.key}: still ${answer.status} ${answer.text}`);
        await passed(between(BETWEEN_TRIES_MS));
      }
    };
    const queue = wishes.entries();
    const worker = async () => {
      // One iterator for all workers: each takes the next key that nobody has.
      for (const [n, wish] of queue) {
        await one(wish, n);
        if (n % 100 === 0) progress(`${n} keys, ${blows.kills} kills, ${blows.cuts} cuts`);
      }
    };
    try {
      await Promise.all(Array.from({ length: KEYS_AT_ONCE }, worker));
    } finally {
      over = true;
      await striking;
    }
    const seconds = (Date.now() - started) / 1000;
    return { ...(await audit(servers[0].url, wishes, answers)), ...blows, seconds, sent: answers.sent, answers };
  } finally {
    for (const server of servers) server.stop();
    await home.close();
  }
}

/** Counts in the database, once every lease is over and every key was asked about. */
async function audit(url, wishes, answers) {
  await passed(LEASE_MS + 200); // The situation itself: leases end.
  const read = async (what) => (await fetch(`${url}/_demo/${what}`)).json();
  const states = {};
  for (const wish of wishes) {
    const { state } = JSON.parse((await status(url, wish)).text);
    states[state] = (states[state] ?? 0) + 1;
  }
  const records = await read("records");
  const { by_key: effects, orders } = await read("effects");
  const idOf = new Map(orders.map(({ key, id }) => [key, id]));
  const stuck = records.filter(({ state }) => state === "in_progress").length;
  const recovered = records.filter(({ history }) => history.includes("released")).length;
  const wrong = wishes.filter(({ key }) => (effects[key] ?? 0) > 1).map(({ key }) => key);
  // A result that somebody was told must be the one that stands.
  const lost = [...answers.ids].filter(([key, ids]) => ids.size !== 1 || !ids.has(idOf.get(key))).map(([key]) => key);
  const unanswered = wishes.filter(({ key }) => !effects[key]);

  // What its clients gave up on before it ran is still free to run, once.
  for (const wish of unanswered) await post(url, wish);
  const after = await read("effects");
  const notOne = wishes.filter(({ key }) => after.by_key[key] !== 1).map(({ key }) => key);
  return { states, stuck, recovered, wrong, lost, unanswered: unanswered.length, notOne, effects: after.count };
}

async function openDatabase(store) {
  if (store === "postgres") {
    const postgres = await startPostgres({ durable: true });
    // Some of the sessions, never the one that asks.
    const cut = () =>
      postgres.psql(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() " +
          "AND backend_type = 'client backend' AND random() < 0.4",
      );
    return { database: postgres.url, cut, close: postgres.stop };
  }
  const folder = mkdtempSync(join(tmpdir(), "postonce-kill-"));
  return { database: join(folder, "shop.db"), close: async () => rmSync(folder, { recursive: true, force: true }) };
}

function wish(n, seed) {
  const key = `${seed.toString(16).padStart(12, "0")}${n.toString(16).padStart(20, "0")}`;
  return {
    key,
    firstSent: Math.floor(Date.now() / 1000),
    body: JSON.stringify({ sku: "A1", quantity: "2", note: `n${n}` }),
  };
}

const post = (url, wish) => exchange(`${url}/orders`, "POST", wish, wish.body);
const status = (url, wish) => exchange(`${url}/orders/status`, "GET", wish);

const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });

/** One exchange that never fails: a connection without a whole answer is `{ status: null }`. */
function exchange(url, method, { key, firstSent }, body = "") {
  const headers = {
    "idempotency-key": `"${key}"`,
    "idempotency-first-sent": `@${firstSent}`,
    "idempotency-subject": '"demo-user"',
    ...(body ? { "content-type": "application/json", "content-length": Buffer.byteLength(body) } : {}),
  };
  return new Promise((settle) => {
    const broken = () => settle({ status: null, text: "" });
    const outgoing = request(url, { method, headers, agent });
    outgoing.on("error", broken);
    outgoing.on("response", (incoming) => {
      const chunks = [];
      incoming.on("data", (chunk) => chunks.push(chunk));
      incoming.on("error", broken);
      incoming.on("close", () => {
        if (!incoming.complete) return broken();
        settle({ status: incoming.statusCode, text: Buffer.concat(chunks).toString("utf8") });
      });
    });
    outgoing.end(body);
  });
}
