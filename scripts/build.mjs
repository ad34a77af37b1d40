// Builds what is published and what the demo serves: the WebAssembly module, its JavaScript and types, the pages.
//   dist/{index.js,index.d.ts,postonce_bg.wasm}   the package
//   dist/verify/                                  `npx postonce verify`, for Node; no page loads it
//   dist/www/                                     the demo, with the package under postonce/, test pages under pages/
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { CARGO_HOME, DIST, npmTool, ROOT, RUSTUP_HOME, TARGET, WWW } from "./paths.mjs";
import { isMain, main, run, Stop } from "./run.mjs";
import { setUp, wasmBindgenFolder } from "./setup.mjs";

const GLUE = join(DIST, ".wasm");
const MODULE = "postonce_bg.wasm";
/** Files of js/ that a page loads by themselves; whatever else is there is bundled into them. */
const ENTRIES = ["index.ts", "early.ts"];

/** Everything under dist/, doing again only what changed. */
export async function build() {
  await mkdir(GLUE, { recursive: true });
  await buildModule();
  await rmMatching(DIST, /\.(js|d\.ts)$/);
  await Promise.all([bundlePackage(), bundleVerify(), emitDeclarations()]);
  await rm(WWW, { recursive: true, force: true });
  await buildPages(join(ROOT, "www"), WWW);
  await buildPages(join(ROOT, "tests", "pages"), join(WWW, "pages"));
  await copyPackage(join(WWW, "postonce"));
}

async function buildModule() {
  const cargo = ["build", "--profile", "wasm", "--target", "wasm32-unknown-unknown", "-p", "postonce", "--lib"];
  await run("cargo", [...cargo, ...SMALL_STD], {
    env: {
      // The pinned stable compiler takes these flags only so; docs/decisions/0011 says what they are worth.
      RUSTC_BOOTSTRAP: "1",
      CARGO_ENCODED_RUSTFLAGS: [...remapFlags(), ...NO_PANIC_TEXT].join("\x1f"),
      RUSTFLAGS: undefined,
    },
  });

  const compiled = join(TARGET, "wasm32-unknown-unknown", "wasm", "postonce.wasm");
  const bindgen = ["--target", "web", "--omit-default-module-path", "--out-name", "postonce", "--out-dir", GLUE];
  const optimise = ["-Oz", "--strip-producers", "--strip-target-features"];
  const inputs = [await readFile(compiled), wasmBindgenFolder(), ...bindgen, ...optimise];
  const stamp = join(GLUE, "inputs.sha256");
  const wanted = inputs.reduce((hash, input) => hash.update(input), createHash("sha256")).digest("hex");
  const output = join(DIST, MODULE);
  if (existsSync(stamp) && existsSync(output) && (await readFile(stamp, "utf8")) === wanted) return;

  await run(join(wasmBindgenFolder(), "wasm-bindgen"), [...bindgen, compiled]);
  await run(npmTool("wasm-opt"), [...optimise, join(GLUE, MODULE), "-o", output]);
  await refuseMachinePaths(output);
  await writeFile(stamp, wanted);
}

/** A standard library built for size, with panics that trap at once. */
const SMALL_STD = ["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"];
const NO_PANIC_TEXT = ["-Zunstable-options", "-Cpanic=immediate-abort", "-Zlocation-detail=none", "-Zfmt-debug=none"];

/** Panic messages name source files: without this they would name the builder's folders. */
function remapFlags() {
  const renamed = [
    [homedir(), "/home"],
    [RUSTUP_HOME, "/rustup"],
    [CARGO_HOME, "/cargo"],
    [ROOT, "/postonce"],
  ];
  return renamed.map(([from, to]) => `--remap-path-prefix=${from}=${to}`);
}

async function refuseMachinePaths(module) {
  const bytes = await readFile(module);
  const found = [ROOT, CARGO_HOME, RUSTUP_HOME].find((path) => bytes.includes(path));
  if (found) throw new Stop(`${MODULE} contains the path of a folder on this machine: ${found}`);
}

async function bundlePackage() {
  const { build: bundle } = await import("esbuild");
  const entryPoints = ENTRIES.map((name) => join(ROOT, "js", name)).filter((path) => existsSync(path));
  await bundle({ ...ESBUILD, entryPoints, outdir: DIST });
}

/** The command for servers. It is readable on purpose: whoever runs it may want to know what it sends. */
export async function bundleVerify() {
  const { build: bundle } = await import("esbuild");
  const entryPoints = [join(ROOT, "js", "verify", "cli.ts")];
  await bundle({
    ...ESBUILD,
    entryPoints,
    minify: false,
    outdir: join(DIST, "verify"),
    platform: "node",
    target: "node20",
  });
}

async function emitDeclarations() {
  await run(npmTool("tsc"), ["-p", "tsconfig.declarations.json"]);
  const leaked = [];
  for (const name of await namesIn(DIST, /\.d\.ts$/)) {
    if (/["'](#wasm|[^"']*\.ts)["']/.test(await readFile(join(DIST, name), "utf8"))) leaked.push(name);
  }
  if (leaked.length === 0) return;
  throw new Stop(
    `Declarations import what is not published: ${leaked}.`,
    "In js/, import `./name.js`, keep `#wasm` out of exported types.",
  );
}

/** Bundles the scripts that a folder's pages name and copies its other files. The package stays a file of its own. */
async function buildPages(from, to) {
  if (!existsSync(from)) return;
  const { build: bundle } = await import("esbuild");
  const scripts = new Set();
  for (const page of await namesIn(from, /\.html$/)) {
    const html = await readFile(join(from, page), "utf8");
    for (const [, name] of html.matchAll(/<script[^>]*\ssrc="(?:\.?\/)?([\w-]+)\.js"/g)) scripts.add(`${name}.ts`);
  }
  const entryPoints = [...scripts].map((name) => join(from, name)).filter((path) => existsSync(path));
  await bundle({ ...ESBUILD, entryPoints, outdir: to, plugins: [PACKAGE_BY_URL] });
  await cp(from, to, { recursive: true, filter: (path) => !path.endsWith(".ts") });
}

const ESBUILD = /** @type {const} */ ({
  absWorkingDir: ROOT,
  bundle: true,
  format: "esm",
  legalComments: "none",
  logLevel: "warning",
  minify: true,
  target: "es2022",
});

/** Pages load the package as an application without a bundler would: from the folder it is served from. */
const PACKAGE_BY_URL = {
  name: "package-by-url",
  /** @param {import("esbuild").PluginBuild} builder */
  setup(builder) {
    builder.onResolve({ filter: /^postonce(\/|$)/ }, ({ path }) => {
      const file = path === "postonce" ? "index" : path.slice("postonce/".length);
      return { path: `/postonce/${file}.js`, external: true };
    });
  },
};

async function copyPackage(folder) {
  await mkdir(folder, { recursive: true });
  for (const name of await namesIn(DIST, /\.(js|wasm)$/)) await cp(join(DIST, name), join(folder, name));
}

async function namesIn(folder, pattern) {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && pattern.test(entry.name)).map(({ name }) => name);
}

async function rmMatching(folder, pattern) {
  for (const name of await namesIn(folder, pattern)) await rm(join(folder, name));
}

if (isMain(import.meta.url)) {
  await main(async () => {
    await setUp();
    await build();
  });
}
