// The demo server: build it, start it, talk to its `/_demo` routes.
import { spawn } from "node:child_process";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT, TARGET, WWW } from "./paths.mjs";
import { run, Stop } from "./run.mjs";

const START_MS_MAX = 15_000;

/** Builds the server; cargo decides whether there is anything to do. */
export async function buildDemoServer() {
  await run("cargo", ["build", "-p", "postonce-server", "--bin", "postonce-server"]);
}

/** The server that can break one promise each (`--break NAME`), beside the sound one; production builds cannot. */
export async function buildBrokenServer() {
  const args = ["build", "-p", "postonce-server", "--bin", "postonce-server"];
  await run("cargo", [...args, "--features", "broken"]);
  // Cargo puts both where the sound one belongs.
  await copyFile(program("postonce-server"), program("postonce-server-broken"));
  await run("cargo", args);
}

/** Where the built server is. */
export const serverProgram = () => program("postonce-server");

const program = (name) => join(TARGET, "debug", name);

/**
 * Starts the server on a port of its choice (or `port`) and waits until it listens. It ends with this process. Without
 * a database (a file, or a `postgres://` address) its records end with it. Pages of the `origins` may call it too.
 * @param {{ port?: number, www?: string, db?: string, leaseMs?: number, origins?: readonly string[], broken?: string }} [options]
 */
export async function startDemoServer({ port = 0, www = WWW, db, leaseMs, origins = [], broken } = {}) {
  const args = ["--demo", "--port", String(port), "--www", www, "--exit-with-parent"];
  if (db) args.push("--database", db);
  if (leaseMs) args.push("--lease", String(leaseMs));
  for (const origin of origins) args.push("--allow-origin", origin);
  if (broken) args.push("--break", broken);
  const child = spawn(program(broken ? "postonce-server-broken" : "postonce-server"), args, {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const url = await listeningUrl(child);

  return {
    url,
    ended: new Promise((settle) => child.once("exit", settle)),
    stop() {
      // The server ends when its standard input does.
      child.stdin.end();
      child.kill();
    },
    /** Ends it as a crash does, and waits until it is gone. */
    async crash() {
      child.kill("SIGKILL");
      await new Promise((settle) =>
        (child.exitCode ?? child.signalCode) === null ? child.once("exit", settle) : settle(null),
      );
    },
    /** How many effects the server carried out, by its own count. */
    async effects() {
      const answer = await fetch(`${url}/_demo/effects`);
      if (!answer.ok) throw new Error(`GET /_demo/effects answered ${answer.status}`);
      const { count } = await answer.json();
      if (typeof count !== "number") throw new Error("/_demo/effects has no `count`");
      return count;
    },
    /** Replaces the fault plan. */
    async plan(faults) {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${url}/_demo/faults`, { method: "PUT", headers, body: JSON.stringify(faults) });
      if (!answer.ok) throw new Error(`PUT /_demo/faults answered ${answer.status}: ${await answer.text()}`);
    },
  };
}

function listeningUrl(child) {
  return new Promise((settle, fail) => {
    let printed = "";
    const late = setTimeout(() => refuse(`did not listen within ${START_MS_MAX} ms`), START_MS_MAX);
    const refuse = (why) => {
      clearTimeout(late);
      child.kill();
      fail(new Stop(`The demo server ${why}.`, "cargo run -p postonce-server -- --demo"));
    };
    child.once("error", (error) => refuse(`could not be started: ${error.message}`));
    child.once("exit", (code) => refuse(`ended with ${code} before it listened`));
    child.stdout.setEncoding("utf8").on("data", (text) => {
      printed += text;
      const url = /listening on (http:\/\/\S+)/.exec(printed)?.[1];
      if (!url) return;
      clearTimeout(late);
      child.removeAllListeners("exit");
      settle(url);
    });
  });
}
