// The package as strangers get it: packed, unpacked into an application, built by its bundler, used in its page.
import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openBrowser } from "../../scripts/browser.mjs";
import { startDemoServer } from "../../scripts/demo-server.mjs";
import { npmTool } from "../../scripts/paths.mjs";
import { run } from "../../scripts/run.mjs";

const SETTLED_MS_MAX = 15_000;
const FIXTURE = fileURLToPath(new URL("vite/", import.meta.url));
const QUIET_NPM = ["--no-audit", "--no-fund", "--loglevel=error"];

let scratch = "";
let app = "";
let tarball = "";

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "postonce-packaging-"));
  const packed = JSON.parse(await run("npm", ["pack", "--json", "--pack-destination", scratch], { show: false }));
  tarball = join(scratch, packed[0].filename);
  app = join(scratch, "app");
  await cp(FIXTURE, app, { recursive: true });
  await run("npm", ["ci", ...QUIET_NPM], { cwd: app, show: false });
  await run("npm", ["install", "--no-save", ...QUIET_NPM, tarball], { cwd: app, show: false });
});

after(() => rm(scratch, { recursive: true, force: true }));

test("given the tarball, when its files are listed, then there is all that is needed and nothing else", async () => {
  const listed = (await run("tar", ["-tzf", tarball], { show: false })).trim().split("\n").sort();
  const unexpected = listed.filter(
    (path) =>
      !/^package\/(dist\/[\w-]+\.(js|d\.ts|wasm)|dist\/verify\/cli\.js|package\.json|README\.md|LICENSE-\w+)$/.test(
        path,
      ),
  );
  assert.deepEqual(unexpected, []);
  for (const path of [
    "dist/index.js",
    "dist/index.d.ts",
    "dist/postonce_bg.wasm",
    "README.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
  ]) {
    assert.ok(listed.includes(`package/${path}`), `${path} is missing`);
  }
});

test("given the tarball, when publint reads it strictly, then it has nothing to say", async () => {
  await run(npmTool("publint"), ["run", tarball, "--strict"]);
});

test("given the installed package, when its command is called, then it explains itself and refuses what makes no sense", async () => {
  const command = join(app, "node_modules", ".bin", "postonce");
  assert.match(await run(command, ["verify", "--help"], { show: false }), /^npx postonce verify --url URL/);
  await assert.rejects(run(command, ["verify"], { show: false }), /ended with 64/);
});

test("given a strict TypeScript application, when it is checked, then the package's types are complete", async () => {
  await run(npmTool("tsc"), ["-p", app]);
  await run(npmTool("tsc"), ["-p", app, "--module", "nodenext", "--moduleResolution", "nodenext"]);
});

test("given Node without a browser, when the package is imported, then nothing happens", async () => {
  const script = `
    const before = Object.getOwnPropertyNames(globalThis);
    let fetched = 0;
    globalThis.fetch = () => { fetched += 1; return Promise.reject(new Error("no network here")); };
    const { bindForm, defineOperation } = await import("postonce");
    if (typeof bindForm !== "function" || typeof defineOperation !== "function") throw new Error("exports are missing");
    const added = Object.getOwnPropertyNames(globalThis).filter((name) => !before.includes(name));
    console.log(JSON.stringify({ added, fetched }));
  `;
  // It also has to end: a timer or a channel left open would keep it running.
  const signal = AbortSignal.timeout(10_000);
  const printed = await run("node", ["--input-type=module", "--eval", script], { cwd: app, show: false, signal });
  assert.deepEqual(JSON.parse(printed), { added: [], fetched: 0 });
});

test("given an empty Vite application, when its form is submitted, then there is exactly one effect", async () => {
  await run("npm", ["run", "build"], { cwd: app, show: false });
  await assertOneEffect(join(app, "dist"));
});

test("given a plain module script, when its form is submitted, then there is exactly one effect", async () => {
  const site = join(scratch, "site");
  await mkdir(site);
  await cp(join(app, "node_modules", "postonce", "dist"), join(site, "postonce"), { recursive: true });
  const main = (await readFile(join(FIXTURE, "src", "main.ts"), "utf8"))
    .replace(/, type Snapshot \} from "postonce"/, ' } from "./postonce/index.js"')
    .replace("(snapshot: Snapshot)", "(snapshot)");
  await writeFile(join(site, "main.js"), main);
  const page = await readFile(join(FIXTURE, "index.html"), "utf8");
  await writeFile(join(site, "index.html"), page.replace("/src/main.ts", "./main.js"));
  await assertOneEffect(site);
});

/** Serves a site beside the demo's API, submits its form with a double click, and counts on the server. */
async function assertOneEffect(www) {
  const server = await startDemoServer({ www });
  const browser = await openBrowser();
  try {
    const { driver } = browser;
    await driver.get(`${server.url}/`);
    const button = await driver.findElement({ css: "button" });
    await driver.actions().doubleClick(button).perform();
    const state = () => driver.executeScript(() => document.documentElement.dataset.state);
    await driver
      .wait(async () => (await state()) === "succeeded", SETTLED_MS_MAX)
      .catch(async (error) => {
        throw new Error(`the page stayed in \`${await state()}\``, { cause: error });
      });
    assert.equal(await server.effects(), 1);
  } finally {
    await browser.close();
    server.stop();
  }
}
