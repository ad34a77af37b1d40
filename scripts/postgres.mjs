// A throw-away PostgreSQL: a cluster of its own on a free port, gone with the process that started it.
// `node scripts/postgres.mjs -- COMMAND…` runs a command that finds its address in POSTONCE_POSTGRES.
import { spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, realpathSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isMain, main, run, Stop, which } from "./run.mjs";

/** Where a test finds the server's address. */
export const POSTGRES_VARIABLE = "POSTONCE_POSTGRES";
const DEBIAN_FOLDER = "/usr/lib/postgresql";
const START_MS_MAX = 30_000;
const PORT_ATTEMPTS_MAX = 3;
/** Starts the server and waits for the end of standard input: whatever happens to us, that ends. */
const LIFELINE = `"$@" & server=$!
cat > /dev/null
kill -INT $server; wait $server
rm -rf "$PGDATA"`;

/** The folder of PostgreSQL's server programs, or `undefined`. Debian keeps them off the PATH, a folder per version. */
export function findPostgres() {
  const onPath = which("initdb");
  // A link to it may stand alone, without the programs beside it.
  if (onPath) return dirname(realpathSync(onPath));
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).sort((a, b) => Number(b) - Number(a)) : [];
  return versions
    .map((version) => join(DEBIAN_FOLDER, version, "bin"))
    .find((bin) => existsSync(join(bin, "postgres")));
}

/**
 * Makes a cluster, starts it and waits until it answers. `durable: false` leaves the disk out of it: enough where the
 * database itself never crashes.
 * @param {{ durable?: boolean }} [options]
 */
export async function startPostgres({ durable = false } = {}) {
  const programs = findPostgres();
  if (!programs) throw new Stop("PostgreSQL is not installed.", "apt-get install postgresql");
  const account = await unprivileged();
  const folder = mkdtempSync(join(tmpdir(), "postonce-postgres-"));
  if (account) chownSync(folder, account.uid, account.gid);
  const as = { ...account, env: { ...process.env, PGDATA: folder, LC_ALL: "C.UTF-8" } };
  await finished(spawn(join(programs, "initdb"), ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync"], as));

  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const settings = { port, listen_addresses: "127.0.0.1", unix_socket_directories: folder, max_connections: 300 };
    const flags = Object.entries({ ...settings, fsync: durable ? "on" : "off" }).flatMap(([name, value]) => [
      "-c",
      `${name}=${value}`,
    ]);
    const command = ["-c", LIFELINE, "sh", join(programs, "postgres"), ...flags];
    const child = spawn("sh", command, { ...as, stdio: ["pipe", "ignore", "pipe"] });
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    const ended = new Promise((settle) => child.once("exit", settle));
    const refused = await listening(child);
    if (!refused) {
      const stop = async () => {
        child.stdin.end();
        await ended;
      };
      return { url, stop, psql: (sql) => run(join(programs, "psql"), [url, "-qAtX", "-c", sql], { show: false }) };
    }
    child.stdin.end();
    await ended;
    if (attempt === PORT_ATTEMPTS_MAX) throw new Stop(`PostgreSQL did not start:\n${refused}`);
  }
}

/** PostgreSQL refuses to run as root; Debian's package brings an account for it. */
async function unprivileged() {
  if (process.getuid?.() !== 0) return undefined;
  const id = async (flag) => Number(await run("id", [flag, "postgres"], { show: false }));
  return { uid: await id("-u"), gid: await id("-g") };
}

/** Resolves to nothing once the server takes connections, else to what it printed. @returns {Promise<string | undefined>} */
function listening(child) {
  return new Promise((settle) => {
    let printed = "";
    const late = setTimeout(() => settle(`${printed}\nnot ready within ${START_MS_MAX} ms`), START_MS_MAX);
    child.stderr.setEncoding("utf8").on("data", (text) => {
      printed = (printed + text).slice(-4_000);
      const ready = printed.includes("database system is ready to accept connections");
      if (!ready && !printed.includes("FATAL:")) return;
      clearTimeout(late);
      settle(ready ? undefined : printed);
    });
  });
}

async function finished(child) {
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (printed += text));
  const code = await new Promise((settle, fail) => child.once("error", fail).once("close", settle));
  if (code !== 0) throw new Stop(`initdb ended with ${code}\n${printed}`);
}

async function freePort() {
  const probe = createServer();
  await new Promise((settle) => probe.listen(0, "127.0.0.1", () => settle(undefined)));
  const address = probe.address();
  await new Promise((settle) => probe.close(settle));
  if (address === null || typeof address === "string") throw new Stop("No free port was found.");
  return address.port;
}

/** Runs `act` with a server that is stopped afterwards, whatever happens. */
export async function withPostgres(act) {
  const postgres = await startPostgres();
  try {
    return await act({ [POSTGRES_VARIABLE]: postgres.url });
  } finally {
    await postgres.stop();
  }
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const [command, ...args] = process.argv.slice(process.argv.indexOf("--") + 1);
    if (!process.argv.includes("--") || !command)
      throw new Stop("Which command?", "node scripts/postgres.mjs -- COMMAND…");
    await withPostgres((env) => run(command, args, { env }));
  });
}
