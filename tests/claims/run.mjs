// npm run claims -- --count 10000 [--engine chromium]
// Passes a slot's claim so often between two processes of one browser; exits with 1 when any key diverges.
import { parseArgs } from "node:util";
import { build } from "../../scripts/build.mjs";
import { buildDemoServer } from "../../scripts/demo-server.mjs";
import { main, Stop } from "../../scripts/run.mjs";
import { setUpTests } from "../../scripts/setup.mjs";
import { openLab } from "../e2e/lab.mjs";
import { passClaims } from "./pass.mjs";

const CLAIMS_PER_WISH = 500;

await main(async () => {
  const { values } = parseArgs({
    options: { count: { type: "string", default: "10000" }, engine: { type: "string", default: "chromium" } },
  });
  const wishes = Number(values.count) / CLAIMS_PER_WISH;
  if (!(Number.isInteger(wishes) && wishes > 0)) {
    throw new Stop(`The count is a multiple of ${CLAIMS_PER_WISH}.`, "npm run claims -- --count 10000");
  }
  await setUpTests();
  await build();
  await buildDemoServer();
  const lab = await openLab({ engine: values.engine });
  try {
    const { pids, seconds, pages, ...seen } = await passClaims(lab, { wishes, claimsPerWish: CLAIMS_PER_WISH });
    console.log(
      `${seen.claims} claims in ${values.engine} between processes ${pids.join(" and ")}: ${seen.wishes} wishes, ` +
        `${seen.divergent} divergent keys, ${seen.effects} effects; ${pages.map((page) => page.claims).join(" + ")}, ` +
        `${pages.reduce((sum, page) => sum + page.joined, 0)} submits only joined, ${seconds.toFixed(1)} s`,
    );
    for (const ended of pages.flatMap((page) => page.ended)) console.log(`  without an answer: ${ended}`);
    const right = seen.divergent === 0 && seen.effects === wishes && seen.claims === Number(values.count);
    if (!right || pids[0] === pids[1]) throw new Stop("The claims went wrong.");
  } finally {
    await lab.close();
  }
});
