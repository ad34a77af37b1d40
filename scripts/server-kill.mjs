// `npm run server:kill -- --keys 1000 --parallel 64`: servers killed at random under load, on both stores.
import { parseArgs } from "node:util";
import { storm } from "../tests/server-kill/storm.mjs";
import { buildDemoServer } from "./demo-server.mjs";
import { main, Stop } from "./run.mjs";
import { setUpTests } from "./setup.mjs";

const { values } = parseArgs({
  options: {
    keys: { type: "string", default: "1000" },
    parallel: { type: "string", default: "64" },
    processes: { type: "string", default: "4" },
    seed: { type: "string" },
    store: { type: "string", multiple: true, default: ["postgres", "sqlite"] },
  },
});

await main(async () => {
  await setUpTests();
  await buildDemoServer();
  const { keys, parallel, processes } = {
    keys: Number(values.keys),
    parallel: Number(values.parallel),
    processes: Number(values.processes),
  };
  const seed = values.seed === undefined ? Math.floor(Date.now() / 1000) : Number(values.seed);
  for (const store of values.store) {
    if (store !== "postgres" && store !== "sqlite") throw new Stop(`There is no store ${store}.`);
    const count = store === "sqlite" ? 1 : processes;
    const run = {
      store: /** @type {import("../tests/server-kill/storm.mjs").Store} */ (store),
      keys,
      parallel,
      processes: count,
      seed,
    };
    const seen = await storm({ ...run, progress: (text) => console.error(`${store}: ${text}`) });
    const { wrong, lost, notOne, answers, ...figures } = seen;
    const faults = { wrong: wrong.length, lost: lost.length, notOne: notOne.length };
    console.log(JSON.stringify({ ...run, ...figures, ...faults, answers: answers.byStatus }));
    const sound = wrong.length + lost.length + notOne.length + seen.stuck === 0 && seen.effects === keys;
    if (!sound)
      throw new Stop(`Not every key ran exactly once (seed ${seed}).`, `wrong ${wrong} lost ${lost} ${notOne}`);
  }
});
