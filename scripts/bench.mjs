// `npm run bench`: milliseconds from the submit event to the `fetch` call, beside a hand-written form in the same page.
import { openBrowser } from "./browser.mjs";
import { build } from "./build.mjs";
import { buildDemoServer, startDemoServer } from "./demo-server.mjs";
import { main, Stop } from "./run.mjs";
import { setUpTests } from "./setup.mjs";

const BENCH_MS_MAX = 120_000;

await main(async () => {
  await setUpTests(["chromium"]);
  await build();
  await buildDemoServer();
  const server = await startDemoServer();
  const browser = await openBrowser();
  try {
    await browser.driver.get(`${server.url}/pages/bench.html`);
    const { times, failure } = await browser.driver.wait(async () => {
      const seen = await browser.driver.executeScript(() => ({ ...document.documentElement.dataset }));
      return seen.times || seen.failure ? seen : undefined;
    }, BENCH_MS_MAX);
    if (failure) throw new Stop(`The page failed: ${failure}`);
    const { bound, byHand } = JSON.parse(times);
    console.log(`\nsubmit event to fetch call, ms (${bound.length} rounds)   median      p95`);
    print("postonce", bound);
    print("by hand", byHand);
  } finally {
    await browser.close();
    server.stop();
  }
});

function print(name, times) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(2).padStart(8);
  console.log(`${name.padEnd(47)} ${at(0.5)} ${at(0.95)}`);
}
