// House rules that no compiler checks. Prints each finding as `file:line: rule` and fails when there is one.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { ROOT } from "./paths.mjs";
import { isMain, main, run, Stop } from "./run.mjs";

const FILE_LINES_MAX = 600;
const GENERATED = /(^|\/)(Cargo\.lock|package-lock\.json)$|^tests\/vectors\//;
const TEXT = /\.(rs|ts|mjs|js|json|md|html|css|toml|sql|svg|yml)$|(^|\/)(run|LICENSE-\w+|\.\w+)$/;
const NAMELESS = /^(utils?|helpers?|common|managers?|misc)$/;

/** All that the core may be built with: none of these does I/O. */
const CORE_MAY_USE = ["hmac-sha256", "postonce-core", "ryu-js"];

// Written in pieces, so that this file does not find itself.
const registryHost = new RegExp(
  [
    "registry\\.npmjs\\." + "org",
    "(static|index)\\.crates\\." + "io",
    "pypi\\." + "org",
    "deb\\.debian\\." + "org",
  ].join("|"),
);
const machinePath = new RegExp(`(^|[\\s"'\`(=:,])/(${["work", "root", "Users/\\w+", "home/\\w+"].join("|")})/\\w`);

/** What no line may say: which files, the pattern, the rule. */
const LINE_RULES = [
  { files: /./, pattern: registryHost, rule: "names a registry's host" },
  { files: /./, pattern: machinePath, rule: "names a folder of one machine" },
  { files: /\.rs$/, pattern: /\b(todo|unimplemented)!\s*\(/, rule: "is unfinished" },
  { files: /\.rs$/, pattern: /#\[ignore\b/, rule: "skips a test" },
  {
    files: /\.(mjs|js|ts)$/,
    pattern: /\b(test|it|describe|suite|t)\.(skip|only|todo)\b|\b(skip|only|todo):\s*true/,
    rule: "skips a test",
  },
  { files: /^(js|www)\/.*\.ts$/, pattern: /\bconsole\.(log|debug)\b|\bdebugger\b/, rule: "is left from debugging" },
  { files: /\.(rs|ts|mjs)$/, pattern: /\b(FIX(?:ME)|X(?:XX))\b/, rule: "is unfinished" },
];

export async function tidy() {
  const files = await projectFiles();
  const findings = [];
  for (const file of files) findings.push(...nameFindings(file), ...(await textFindings(file)));
  findings.push(...(await coreFindings()), ...(await versionFindings()));
  for (const finding of findings) console.error(finding);
  if (findings.length > 0) throw new Stop(`${findings.length} house rule findings.`);
  console.log(`${files.length} files are tidy`);
}

/** Tracked files, and those that would be at the next `git add`. */
async function projectFiles() {
  const listed = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], { show: false });
  return listed.split("\0").filter((file) => file && existsSync(join(ROOT, file)));
}

function nameFindings(file) {
  const words = file.split("/").map((part) => basename(part).replace(/\..*$/, ""));
  return words
    .filter((word) => NAMELESS.test(word))
    .map((word) => `${file}:1: \`${word}\` says nothing about what is inside`);
}

async function textFindings(file) {
  if (!TEXT.test(file)) return [];
  const lines = (await readFile(join(ROOT, file), "utf8")).split("\n");
  const rules = LINE_RULES.filter(({ files }) => files.test(file));
  const findings = lines.flatMap((line, index) =>
    rules.filter(({ pattern }) => pattern.test(line)).map(({ rule }) => `${file}:${index + 1}: ${rule}`),
  );
  const long = lines.length > FILE_LINES_MAX + 1 && !GENERATED.test(file);
  return long ? [...findings, `${file}:${lines.length}: is longer than ${FILE_LINES_MAX} lines`] : findings;
}

/** Dependencies point inwards: the core decides and never does. */
async function coreFindings() {
  const args = ["tree", "-p", "postonce-core", "-e", "normal", "--all-features", "--prefix", "none", "--format", "{p}"];
  const printed = await run("cargo", args, { show: false });
  const used = new Set(printed.split("\n").flatMap((line) => /^([\w-]+) v\d/.exec(line)?.[1] ?? []));
  if (!used.has("postonce-core")) return ["core/Cargo.toml:1: its dependency tree could not be read"];
  const extra = [...used].filter((name) => !CORE_MAY_USE.includes(name));
  return extra.map(
    (name) => `core/Cargo.toml:1: the core must not depend on \`${name}\` (scripts/tidy.mjs lists what it may)`,
  );
}

/** The command-line tools read only what their own version of the library wrote. */
async function versionFindings() {
  const tools = /^version = "(.+)"$/m.exec(await readFile(join(ROOT, "tools/wasm-bindgen/Cargo.toml"), "utf8"))?.[1];
  const lock = await readFile(join(ROOT, "Cargo.lock"), "utf8");
  const library = /name = "wasm-bindgen"\nversion = "(.+)"/.exec(lock)?.[1];
  if (library === undefined || library === tools) return [];
  return [`Cargo.lock:1: wasm-bindgen is ${library}, but tools/wasm-bindgen is ${tools}`];
}

if (isMain(import.meta.url)) await main(tidy);
