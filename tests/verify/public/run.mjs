// `npm run verify:public`: public idempotency packages, each in a small shop, under `postonce verify`. Writes the table in
// docs/public-servers.md, after the contract in Express and FastAPI passed it whole. Not part of `npm test`: it installs packages of others, and their faults are not ours.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { bundleVerify } from "../../../scripts/build.mjs";
import { ROOT } from "../../../scripts/paths.mjs";
import { main, run, Stop } from "../../../scripts/run.mjs";
import { openHooks, verify } from "../lab.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const PYTHON = join(HERE, ".venv", "bin", "python");
const DOCUMENT = join(ROOT, "docs", "public-servers.md");
const START_MS_MAX = 60_000;
const [BEGIN, END] = ["<!-- table: npm run verify:public -->", "<!-- end of table -->"];

/** @type {{ name: string, start: readonly string[], session?: true }[]} */
const SERVERS = [
  { name: "express-idempotency", start: [process.execPath, "express-idempotency.mjs"] },
  { name: "@node-idempotency/core", start: [process.execPath, "node-idempotency.mjs"] },
  { name: "@aws-lambda-powertools/idempotency", start: [process.execPath, "powertools.mjs"] },
  { name: "@aws-lambda-powertools/idempotency, validating", start: [process.execPath, "powertools.mjs", "validate"] },
  { name: "asgi-idempotency-header", start: [PYTHON, "asgi_server.py", "asgi-idempotency-header"] },
  { name: "fastapi-idempotency-key", start: [PYTHON, "asgi_server.py", "fastapi-idempotency-key"] },
  { name: "django-idempotency-key", start: [PYTHON, "django_server.py"] },
  { name: "axum-idempotent", start: [join(HERE, "axum", "target", "debug", "postonce-public-axum")], session: true },
];

/** Checks that would say something about the web framework or the shim's in-memory store instead of the package. */
const WITHOUT = ["restart", "store-down", "body-huge", "body-deep", "body-utf8", "body-cut"];
/** Levels 3 and 4, and what only our dialect has: none of these packages claims it. */
const SHOWN = [
  ...["replay", "marker", "lost-answer", "parallel", "parallel-slow", "gone-client", "domain-refusal", "failure"],
  ...["other-payload", "other-payload-running", "other-subject", "other-operation"],
  ...["key-missing", "key-invalid", "key-huge", "key-twice"],
];
const WORDS = {
  kept: "kept",
  broken: "**broken**",
  warning: "weak",
  not_offered: "no",
  not_tested: "?",
  left_out: "–",
};

async function install() {
  const npm = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", npm, { cwd: HERE });
  if (!existsSync(PYTHON)) await run("python3", ["-m", "venv", ".venv"], { cwd: HERE });
  await run(PYTHON, ["-m", "pip", "install", "--quiet", "--requirement", "requirements.txt"], { cwd: HERE });
  await run("cargo", ["build", "--locked"], { cwd: join(HERE, "axum"), env: { CARGO_TARGET_DIR: undefined } });
}

async function versions() {
  const { dependencies } = JSON.parse(await readFile(join(HERE, "package.json"), "utf8"));
  const python = (await readFile(join(HERE, "requirements.txt"), "utf8")).matchAll(/^([\w-]+)==(\S+)$/gm);
  const rust = (await readFile(join(HERE, "axum", "Cargo.toml"), "utf8")).matchAll(/^([\w-]+) = "=(\S+)"$/gm);
  return new Map([
    ...Object.entries(dependencies),
    ...[...python, ...rust].map(([, name, version]) => [name, version]),
  ]);
}

async function verified({ name, start: [program, ...args], session }) {
  const child = spawn(String(program), args, { cwd: HERE, stdio: ["ignore", "pipe", "ignore"] });
  try {
    const url = await listening(child, name);
    const who = async (token) => (session ? `Cookie: ${await cookie(url)}` : `Authorization: Bearer ${token}`);
    const order = (sku) => JSON.stringify({ sku, quantity: 2 });
    const { exit, report, err } = await verify([
      ...[
        "--url",
        `${url}/orders`,
        "--payload",
        order("A1"),
        "--contract",
        "ietf",
        "--other-operation",
        `${url}/drafts`,
      ],
      ...["--counter", `${url}/count`, "--counter-pointer", "/count", "--result-id", "/id"],
      ...["--header", await who("one"), "--other-header", await who("two")],
      ...[
        "--refused-payload",
        order("DECLINED"),
        "--failing-payload",
        order("BROKEN"),
        "--slow-payload",
        order("SLOW"),
      ],
      ...["--answer-ms", "4000", ...WITHOUT.flatMap((id) => ["--without", id])],
    ]);
    if (!report) throw new Stop(`${name} could not be verified (${exit}): ${err}`);
    return report;
  } finally {
    child.kill();
  }
}

/** The contract itself in other languages: here a finding is our fault. */
const CONTRACTS = [
  { name: "the contract in FastAPI over SQLite", program: PYTHON, file: "contract_fastapi.py" },
  { name: "the contract in Express over PostgreSQL", program: process.execPath, file: "contract-express.mjs" },
];

async function contractKept({ name, program, file }) {
  const folder = await mkdtemp(join(tmpdir(), "postonce-contract-"));
  const start = (port) =>
    spawn(program, [file, join(folder, "db"), String(port)], { cwd: HERE, stdio: ["ignore", "pipe", "ignore"] });
  let child = start(0);
  const url = await listening(child, name);
  const hooks = await openHooks({
    restart: async () => {
      const gone = once(child, "close");
      child.kill("SIGKILL");
      await gone;
      child = start(Number(new URL(url).port));
      await listening(child, name);
    },
  });
  try {
    const order = (sku) => JSON.stringify({ sku, quantity: 2 });
    const { exit, out, err } = await verify([
      ...["--url", `${url}/orders`, "--payload", order("A1"), "--status", `${url}/orders/status`],
      ...["--other-operation", `${url}/drafts`, "--counter", `${url}/count`, "--counter-pointer", "/count"],
      ...["--result-id", "/id", "--header", "X-User: one", "--subject", "one"],
      ...["--other-header", "X-User: two", "--other-subject", "two", "--restart-hook", hooks.commands.restart],
      ...[
        "--refused-payload",
        order("DECLINED"),
        "--failing-payload",
        order("BROKEN"),
        "--slow-payload",
        order("SLOW"),
      ],
      ...["--without", "store-down"],
    ]);
    if (exit !== 0) throw new Stop(`${name} breaks it (${exit}):\n${out}${err}`);
    console.log(`${name}: ${out.trimEnd().split("\n").at(-1)}`);
  } finally {
    await hooks.close();
    child.kill("SIGKILL");
    await once(child, "close");
    await rm(folder, { recursive: true, force: true });
  }
}

/** Longer than a restart takes on a busy machine. */
const LEASE_MS = 20_000;

/** R109: a claim whose owner was killed before its effect is neither stuck nor done, for a status, a fence, a repeat. */
async function abandonedClaimsAreRecovered({ name, program, file }) {
  const folder = await mkdtemp(join(tmpdir(), "postonce-contract-"));
  const start = () =>
    spawn(program, [file, join(folder, "db"), "0", String(LEASE_MS)], {
      cwd: HERE,
      stdio: ["ignore", "pipe", "ignore"],
    });
  let child = start();
  try {
    let url = await listening(child, name);
    const keys = { repeated: newKey(), fenced: newKey(), asked: newKey() };
    const firstSent = Math.floor(Date.now() / 1_000);
    const ask = (method, path, key, body) =>
      fetch(`${url}${path}`, {
        method,
        headers: {
          "content-type": "application/json",
          "idempotency-key": `"${key}"`,
          "idempotency-first-sent": `@${firstSent}`,
          "idempotency-subject": '"one"',
          "x-user": "one",
        },
        ...(body && { body }),
      });
    const slow = JSON.stringify({ sku: "SLOW", quantity: 2 });
    const stateOf = async (method, key) => (await (await ask(method, "/orders/status", key)).json()).state;
    const counted = async () => (await (await fetch(`${url}/count`)).json()).count;

    const cut = Object.values(keys).map((key) => assert.rejects(ask("POST", "/orders", key, slow)));
    for (const key of Object.values(keys)) while ((await stateOf("GET", key)) === "not_found") await passed(20);
    const gone = once(child, "close");
    child.kill("SIGKILL");
    await Promise.all([gone, ...cut]);
    child = start();
    url = await listening(child, name);

    assert.equal(await counted(), 0, "killed before the effect");
    for (const key of Object.values(keys))
      assert.equal(await stateOf("GET", key), "in_progress", "the lease still runs");
    await passed(LEASE_MS); // The situation itself: leases end.
    assert.equal(await stateOf("DELETE", keys.fenced), "fenced");
    assert.equal((await ask("POST", "/orders", keys.fenced, slow)).status, 410);
    assert.equal(await stateOf("GET", keys.asked), "not_found");
    const repeated = await ask("POST", "/orders", keys.repeated, slow);
    assert.deepEqual([repeated.status, repeated.headers.get("idempotent-replayed")], [201, "false"]);
    assert.equal(await counted(), 1, "only the repeat ran");
    console.log(`${name}: abandoned claims are recovered`);
  } finally {
    child.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  }
}

const newKey = () => randomBytes(16).toString("hex");

async function cookie(url) {
  const answer = await fetch(`${url}/session`);
  return String(answer.headers.getSetCookie()[0]).split(";")[0];
}

function listening(child, name) {
  return new Promise((settle, fail) => {
    const late = setTimeout(() => fail(new Stop(`${name} did not listen in time.`)), START_MS_MAX);
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      printed += text;
      const url = /listening on (http:\/\/\S+)/.exec(printed)?.[1];
      if (!url) return;
      clearTimeout(late);
      settle(url);
    });
    child.once("exit", (code) => {
      clearTimeout(late);
      fail(new Stop(`${name} ended with ${code}.`));
    });
  });
}

function table(reports, known) {
  const names = [...reports.keys()];
  const title = (name) => `${name} ${known.get(name.replace(/, .*/, "")) ?? ""}`.trim();
  const lines = [
    `| check | ${names.map((_, index) => index + 1).join(" | ")} |`,
    `| --- |${" --- |".repeat(names.length)}`,
  ];
  for (const id of SHOWN) {
    const cells = names.map((name) => WORDS[reports.get(name).findings.find((finding) => finding.id === id).kind]);
    const { level } = reports.get(names[0]).findings.find((finding) => finding.id === id);
    lines.push(`| ${level} \`${id}\` | ${cells.join(" | ")} |`);
  }
  const list = names.map((name, index) => `${index + 1}. \`${title(name)}\`${findings(reports.get(name))}`);
  return [...lines, "", ...list].join("\n");
}

function findings({ findings }) {
  const broken = findings.filter(({ kind }) => kind === "broken");
  return broken.map(({ id, symptom, cause }) => `\n   - \`${id}\`: ${symptom} [\`${cause}\`]`).join("");
}

await main(async () => {
  await install();
  await bundleVerify();
  for (const contract of CONTRACTS) {
    await contractKept(contract);
    await abandonedClaimsAreRecovered(contract);
  }
  const [known, reports] = [await versions(), new Map()];
  for (const server of SERVERS) {
    reports.set(server.name, await verified(server));
    const broken = reports.get(server.name).findings.filter(({ kind }) => kind === "broken");
    console.log(`${server.name}: ${broken.map(({ id }) => id).join(", ") || "nothing broken"}`);
  }
  const document = await readFile(DOCUMENT, "utf8");
  const [before, rest] = document.split(BEGIN);
  if (rest === undefined) throw new Stop(`${DOCUMENT} has no place for the table.`);
  await writeFile(DOCUMENT, `${before}${BEGIN}\n\n${table(reports, known)}\n\n${END}${rest.split(END)[1]}`);
});
