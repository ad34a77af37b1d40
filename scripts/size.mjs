// `npm run size`: what a plain form page downloads of the package, brotli 11 file by file, as a real Chromium fetched
// it on the way through bind, submit, unknown, check and result. `--check` fails above the ceiling in
// size-budget.json, which may only fall; the goal there is what a form page should cost.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { openBrowser } from "./browser.mjs";
import { build } from "./build.mjs";
import { buildDemoServer, startDemoServer } from "./demo-server.mjs";
import { ROOT, WWW } from "./paths.mjs";
import { isMain, main, Stop } from "./run.mjs";
import { setUpTests } from "./setup.mjs";

const JOURNEY_MS_MAX = 30_000;
/** Longer than the budget in tests/pages/size.ts. */
const LATE_MS = 5_000;
const PACKAGE_PATH = "/postonce/";

/**
 * Measures the built package in a browser.
 * @returns {Promise<{ files: { path: string, bytes: number }[], total: number }>}
 */
export async function measureSize() {
  const server = await startDemoServer();
  const browser = await openBrowser();
  try {
    // The effect runs and is answered after the page's budget. A cut connection would not do: Chromium itself may
    // send a POST again when a reused connection dies (R124).
    const late = { match: { operation: "order.create", attempt: 1 }, fault: "delay-after", ms: LATE_MS };
    await server.plan([late]);
    await browser.driver.get(`${server.url}/pages/size.html`);
    const { states, urls } = await journey(browser.driver);
    for (const state of ["sending", "unknown", "succeeded"]) {
      if (!states.includes(state)) throw new Stop(`The page never was \`${state}\`, only: ${states.join(", ")}.`);
    }
    const paths = [...new Set(urls.map((url) => new URL(url).pathname))].filter((path) =>
      path.startsWith(PACKAGE_PATH),
    );
    if (!paths.some((path) => path.endsWith(".wasm"))) throw new Stop("The page fetched no WebAssembly module.");
    const files = await Promise.all(paths.sort().map(async (path) => ({ path, bytes: await brotliBytes(path) })));
    return { files, total: files.reduce((sum, { bytes }) => sum + bytes, 0) };
  } finally {
    await browser.close();
    server.stop();
  }
}

async function journey(driver) {
  const ended = Date.now() + JOURNEY_MS_MAX;
  for (;;) {
    const seen = await driver.executeScript(() => {
      const { states = "", failure } = document.documentElement.dataset;
      const urls = [...performance.getEntriesByType("resource")].map((entry) => entry.name);
      return { states: states.split(" "), failure, urls };
    });
    if (seen.failure) throw new Stop(`The page failed: ${seen.failure}`);
    if (seen.states.at(-1) === "succeeded") return seen;
    if (Date.now() > ended) throw new Stop(`The page did not reach a result, only: ${seen.states.join(", ")}.`);
    await new Promise((settle) => setTimeout(settle, 100));
  }
}

async function brotliBytes(path) {
  const bytes = await readFile(join(WWW, path));
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return brotliCompressSync(bytes, { params }).length;
}

if (isMain(import.meta.url)) {
  await main(async () => {
    await setUpTests(["chromium"]);
    await build();
    await buildDemoServer();
    const { files, total } = await measureSize();
    for (const { path, bytes } of files) console.log(`${String(bytes).padStart(8)}  ${path}`);
    const early = await brotliBytes(`${PACKAGE_PATH}early.js`);
    console.log(`${String(early).padStart(8)}  ${PACKAGE_PATH}early.js, for pages that take it`);
    const {
      ceiling_bytes: ceiling,
      goal_bytes: goal,
      early_ceiling_bytes: earlyCeiling,
    } = JSON.parse(await readFile(join(ROOT, "size-budget.json"), "utf8"));
    if (process.argv.includes("--check") && early > earlyCeiling) {
      throw new Stop(
        `The early script is ${early} bytes, ${early - earlyCeiling} above its ceiling of ${earlyCeiling}.`,
      );
    }
    if (process.argv.includes("--check") && total > ceiling) {
      throw new Stop(`The package is ${total} bytes, ${total - ceiling} above the ceiling of ${ceiling}.`);
    }
    if (total > goal) console.log(`the goal of ${goal} bytes is missed by ${total - goal}`);
    console.log(`total ${total} bytes`);
  });
}
