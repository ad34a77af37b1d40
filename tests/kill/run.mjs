// npm run kill -- --rounds 100 [--engine chromium|firefox|webkit] [--seed N] [--parallel 3]
// Kills the whole browser in the middle of a submit: so many rounds at random instants and a tenth of that, at least
// one, at each step. After each kill the same profile is opened again and the person submits again; the server counts.
import { parseArgs } from "node:util";
import { build } from "../../scripts/build.mjs";
import { buildDemoServer } from "../../scripts/demo-server.mjs";
import { engineNamed } from "../../scripts/engines.mjs";
import { main, Stop } from "../../scripts/run.mjs";
import { setUpTests } from "../../scripts/setup.mjs";
import { openLab } from "../e2e/lab.mjs";
import { instantPlans, stepPlans } from "./plans.mjs";
import { killRound } from "./round.mjs";

const INSTANTS_PER_STEP_ROUND = 10;
const SEED_MAX = 2 ** 31;

await main(async () => {
  const { rounds, engine, seed, parallel } = readOptions();
  await setUpTests([engine]);
  await build();
  await buildDemoServer();

  const plans = [
    ...stepPlans(Math.max(1, Math.floor(rounds / INSTANTS_PER_STEP_ROUND))),
    ...instantPlans(rounds, seed),
  ];
  console.log(`${plans.length} rounds in ${engine}, ${rounds} at instants drawn from --seed ${seed}`);
  const waiting = plans.map((plan, n) => ({ ...plan, cart: `kill-${n}` }));
  const seen = [];
  await Promise.all(Array.from({ length: parallel }, () => work(waiting, seen, engine)));
  report(seen, engine);
});

function readOptions() {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "100" },
      engine: { type: "string", default: "chromium" },
      seed: { type: "string", default: String(Date.now() % SEED_MAX) },
      parallel: { type: "string", default: "3" },
    },
  });
  const [rounds, seed, parallel] = [values.rounds, values.seed, values.parallel].map(Number);
  if (![rounds, seed, parallel].every((number) => Number.isInteger(number) && number >= 0) || parallel === 0) {
    throw new Stop("Rounds, seed and parallel are whole numbers.", "npm run kill -- --rounds 100");
  }
  return { rounds, engine: engineNamed(values.engine), seed, parallel };
}

/** Takes one plan after the other, in a browser and with a server of its own. */
async function work(waiting, seen, engine) {
  const lab = await openLab({ engine, killed: true });
  try {
    for (let plan = waiting.shift(); plan; plan = waiting.shift()) {
      const round = await killRound(lab, plan);
      seen.push(round);
      const at = round.step ?? `${round.killAfterMs} ms`;
      if (round.faults.length > 0) console.log(`${at}, server ${round.fate.name}: ${JSON.stringify(round)}`);
    }
  } finally {
    await lab.close();
  }
}

function report(seen, engine) {
  const count = (fits) => seen.filter(fits).length;
  const bad = count(({ faults }) => faults.length > 0);
  console.log(
    [
      `${seen.length} kills in ${engine}`,
      `${count(({ mayHaveLeft }) => mayHaveLeft)} after bytes may have left`,
      `${count(({ effects }) => effects > 1)} double effects`,
      `${count(({ effects }) => effects === 0)} lost wishes`,
      `${count(({ keys }) => keys > 1)} second keys`,
      `${bad} with any fault`,
    ].join(", "),
  );
  if (bad > 0) throw new Stop(`${bad} rounds went wrong.`);
}
