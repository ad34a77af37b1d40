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
/** The server's log forgets what is older than 10,000 requests; some of them are status checks. */
const WISHES_PER_LOG = 10;

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
    const sum = { claims: 0, wishes: 0, divergent: 0, effects: 0, joined: 0, seconds: 0 };
    for (let left = wishes; left > 0; left -= WISHES_PER_LOG) {
      const size = { wishes: Math.min(left, WISHES_PER_LOG), claimsPerWish: CLAIMS_PER_WISH, prefix: `wish-${left}` };
      const { pids, pages, ...seen } = await passClaims(lab, size);
      if (pids[0] === pids[1]) throw new Stop(`Both pages ran in process ${pids[0]}: nothing was shown.`);
      console.log(`between processes ${pids.join(" and ")}: ${pages.map((page) => page.claims).join(" + ")} claims`);
      for (const ended of pages.flatMap((page) => page.ended)) console.log(`  without an answer: ${ended}`);
      for (const name of ["claims", "wishes", "divergent", "effects", "seconds"]) sum[name] += seen[name];
      sum.joined += pages.reduce((joined, page) => joined + page.joined, 0);
    }
    console.log(
      `${sum.claims} claims in ${values.engine}: ${sum.wishes} wishes, ${sum.divergent} divergent keys, ` +
        `${sum.effects} effects, ${sum.joined} submits only joined, ${sum.seconds.toFixed(1)} s`,
    );
    const right = sum.divergent === 0 && sum.effects === wishes && sum.claims === Number(values.count);
    if (!right) throw new Stop("The claims went wrong.");
  } finally {
    await lab.close();
  }
});
