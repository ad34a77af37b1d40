// One slot's claim, passed to and fro between two processes of one browser: every claim of a wish must carry the one key
// (R68). What was sent is read from the server's log.
import { eventually } from "../e2e/lab.mjs";
import { processOf } from "./process.mjs";

const REFUSED = { match: {}, fault: "status", status: 503, problem: "not-started" };
const TAKEN = { match: {}, fault: "delay-before", ms: 0 };
const CLAIM_MS_MAX = 200;
const START_MS = 20_000;

/**
 * @param {Awaited<ReturnType<typeof import("../e2e/lab.mjs").openLab>>} lab
 * @param {{ wishes: number, claimsPerWish: number, prefix?: string }} size all claims of a wish but the last are turned
 *   away; together no more than the server's log holds, 10,000 requests; `prefix` names slots that are still new
 */
export async function passClaims(lab, { wishes, claimsPerWish, prefix = "wish" }) {
  await lab.server.reset();
  const ofOneWish = [...Array.from({ length: claimsPerWish - 1 }, () => REFUSED), TAKEN];
  await lab.server.plan(Array.from({ length: wishes }, () => ofOneWish).flat());

  const first = await lab.driver.getWindowHandle();
  await openPage(lab);
  await lab.driver.switchTo().newWindow("window");
  const second = await lab.driver.getWindowHandle();
  await openPage(lab);
  const pids = [];
  for (const handle of [first, second]) {
    await lab.switchTo(handle);
    pids.push(await processOf((ms) => lab.script((ms) => globalThis.spin(ms), ms)));
  }

  await play(lab, first, { me: "first", other: "second", prefix, wishes, claimsPerWish });
  await play(lab, second, { me: "second", other: "first", prefix, wishes, claimsPerWish });
  const started = Date.now();
  await lab.script(() => globalThis.begin("first"));
  await eventually("every claim was made", () => isOver(lab), START_MS + wishes * claimsPerWish * CLAIM_MS_MAX);
  const pages = [];
  for (const handle of [first, second]) {
    await lab.switchTo(handle);
    pages.push(await lab.script(() => globalThis.lab));
  }
  await lab.driver.close();
  await lab.switchTo(first);
  return { pids, seconds: (Date.now() - started) / 1_000, pages, ...(await atTheServer(lab.server)) };
}

async function openPage(lab) {
  await lab.driver.get(`${lab.server.url}/pages/claims.html`);
  await eventually("the page is there", () => lab.script(() => typeof globalThis.play === "function"));
}

async function play(lab, handle, plan) {
  await lab.switchTo(handle);
  await lab.script((plan) => globalThis.play(plan), plan);
  await eventually("the page plays", () => lab.script(() => globalThis.lab.ready));
}

async function isOver(lab) {
  const { done, failures } = await lab.script(() => globalThis.lab);
  if (failures.length > 0) throw new Error(`a claim went wrong: ${failures[0]}`);
  return done;
}

/** Each wish has its own payload; the keys that it was sent under, beyond the first, diverge. */
async function atTheServer(server) {
  const commands = (await server.log()).filter(({ method }) => method === "POST");
  const keys = new Map();
  for (const { body_sha256, key } of commands) keys.set(body_sha256, (keys.get(body_sha256) ?? new Set()).add(key));
  const divergent = [...keys.values()].reduce((sum, { size }) => sum + size - 1, 0);
  return { claims: commands.length, wishes: keys.size, divergent, effects: (await server.effects()).count };
}
