// Starting other programs, and ending a script with one clear line when something is missing.
import { spawn } from "node:child_process";
import { accessSync, constants, createWriteStream } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT } from "./paths.mjs";

/** Something the person at the keyboard can mend: `message` says what is wrong, `remedy` what to type. */
export class Stop extends Error {
  // Private, so that whoever logs this error does not print the output once more.
  #printed;

  /**
   * @param {string} message
   * @param {string} [remedy]
   * @param {string} [printed] what a failed program printed
   */
  constructor(message, remedy, printed = "") {
    super(message);
    this.name = "Stop";
    this.remedy = remedy;
    this.#printed = printed;
  }

  get printed() {
    return this.#printed;
  }
}

/** Runs a script's body; a `Stop` ends it with its line and remedy instead of a stack trace. */
export async function main(body) {
  try {
    await body();
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    console.error(`\npostonce: ${error.message}`);
    if (error.remedy) console.error(`          ${error.remedy}`);
    process.exitCode = 1;
  }
}

/** Whether `moduleUrl` is the script that node was asked to run. */
export const isMain = (moduleUrl) => fileURLToPath(moduleUrl) === resolve(process.argv[1] ?? "");

/** The full path of a program on PATH, or `undefined`. */
export function which(name) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder: look in the next.
    }
  }
  return undefined;
}

/**
 * Runs a program to its end and gives back what it printed.
 *
 * `show` passes the output on as it comes; `logFile` writes it to a file instead. `env` is laid over the
 * environment, and a value of `undefined` takes the variable away.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: Record<string, string | undefined>, show?: boolean, logFile?: string, signal?: AbortSignal }} [options]
 * @returns {Promise<string>}
 */
export async function run(command, args, { cwd = ROOT, env = {}, show = true, logFile, signal } = {}) {
  const child = spawn(command, args, { cwd, env: overlay(env), stdio: ["ignore", "pipe", "pipe"], signal });
  const log = logFile ? createWriteStream(logFile) : undefined;
  let printed = "";
  for (const [stream, sink] of /** @type {const} */ ([
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ])) {
    stream.setEncoding("utf8").on("data", (text) => {
      printed += text;
      if (log) log.write(text);
      else if (show) sink.write(text);
    });
  }
  const ended = await new Promise((settle, fail) => {
    child.on("error", fail);
    child.on("close", (code, killedBy) => settle(killedBy ?? code));
  });
  log?.end();
  if (ended === 0) return printed;
  const tail = show && !log ? "" : `\n${printed.trimEnd().split("\n").slice(-30).join("\n")}`;
  throw new Stop(`\`${[command, ...args].join(" ")}\` ended with ${ended}${tail}`, undefined, printed);
}

function overlay(env) {
  const merged = { ...process.env, ...env };
  for (const [name, value] of Object.entries(merged)) if (value === undefined) delete merged[name];
  return /** @type {NodeJS.ProcessEnv} */ (merged);
}
