// One demo server and one Chromium for the tests of a file, and the few words they are written in. What happened is
// read from the server; what a person would see, from the page.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Key } from "selenium-webdriver";
import { openBrowser } from "../../scripts/browser.mjs";
import { startDemoServer } from "../../scripts/demo-server.mjs";

const PAGE = "/pages/order.html";
const BOUND_MS_MAX = 10_000;
const POLL_MS = 25;

/** Waits for the condition, looking again and again; what it last saw is in the failure. */
export async function eventually(what, look, ms = 8_000) {
  const end = Date.now() + ms;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((settle) => setTimeout(settle, POLL_MS));
  }
}

/** @param {{ flags?: string[] }} [options] */
export async function openLab({ flags = [] } = {}) {
  const server = await startDemoServer();
  const profile = mkdtempSync(join(tmpdir(), "postonce-lab-"));
  const get = async (path) => (await fetch(`${server.url}${path}`)).json();
  const open = () => openBrowser({ flags, profile });
  let browser = await open();

  const lab = {
    server: {
      url: server.url,
      plan: server.plan,
      log: () => get("/_demo/log"),
      records: () => get("/_demo/records"),
      effects: () => get("/_demo/effects"),
      reset: () => fetch(`${server.url}/_demo/reset`, { method: "POST" }),
    },

    get driver() {
      return browser.driver;
    },

    /** An empty server, an empty origin, one empty tab. */
    async reset() {
      const [first, ...more] = await lab.driver.getAllWindowHandles();
      for (const handle of more) {
        await lab.driver.switchTo().window(handle);
        await lab.driver.close();
      }
      await lab.driver.switchTo().window(first);
      await lab.driver.get("about:blank");
      await lab.driver.sendDevToolsCommand("Storage.clearDataForOrigin", { origin: server.url, storageTypes: "all" });
      await lab.server.reset();
    },

    /** Opens the order page and waits until it is bound and its record was read. */
    async open(query = {}) {
      const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, asText(value)]));
      await lab.driver.get(`${server.url}${PAGE}?${text}`);
      await lab.bound();
    },

    /** The module is there and the record was read: what the page says from now on is meant. */
    bound: () =>
      eventually(
        "the page is bound",
        () => lab.script(() => (globalThis.lab?.form.snapshot.attemptsMax ?? 0) > 0),
        BOUND_MS_MAX,
      ),

    script: (act, ...args) => lab.driver.executeScript(`return (${act}).apply(null, arguments)`, ...args),

    /** Runs the source in every document to come, before its first script; answers the way to stop. */
    async beforeLoad(source) {
      const command = "Page.addScriptToEvaluateOnNewDocument";
      const { identifier } = await lab.driver.sendAndGetDevToolsCommand(command, { source });
      return () => lab.driver.sendDevToolsCommand("Page.removeScriptToEvaluateOnNewDocument", { identifier });
    },

    /** Types into the fields as a person does: `input` events fire. */
    fill: (fields) =>
      lab.script((fields) => {
        for (const [name, value] of Object.entries(fields)) {
          const field = document.querySelector(`#order [name="${name}"]`);
          field.value = value;
          field.dispatchEvent(new InputEvent("input", { bubbles: true }));
        }
      }, fields),

    async click(selector = "#submit") {
      await (await lab.driver.findElement({ css: selector })).click();
    },

    async press(selector, ...keys) {
      await (await lab.driver.findElement({ css: selector })).sendKeys(...keys);
    },

    snapshot: () => lab.script(() => globalThis.lab?.form.snapshot),

    /** Waits for a state by name, or for a snapshot that satisfies the predicate. */
    async until(wanted, ms = 8_000) {
      const fits = typeof wanted === "string" ? (snapshot) => snapshot?.state === wanted : wanted;
      let last;
      try {
        return await eventually(
          String(wanted),
          async () => {
            last = await lab.snapshot();
            return last && fits(last) ? last : undefined;
          },
          ms,
        );
      } catch (error) {
        const log = JSON.stringify(await lab.server.log(), null, 1);
        throw new Error(`${error.message}\nlast snapshot: ${JSON.stringify(last)}\nserver log: ${log}`);
      }
    },

    /** A gesture: `{ ok: snapshot }`, or `{ error }` with its code. */
    call: (name, ...args) =>
      lab.driver.executeAsyncScript(
        `const [name, args, done] = arguments;
        Promise.resolve().then(() => lab.form[name](...args)).then(
          (ok) => done({ ok: ok ?? null }),
          ({ name, code, field, rule, remedy, message }) => done({ error: { name, code, field, rule, remedy, message } }))`,
        name,
        args,
      ),

    /** The answers to the page's submits, in order. */
    outcomes: () => lab.script(() => globalThis.lab.outcomes.map(({ snapshot, ...rest }) => rest)),
    history: () => lab.script(() => globalThis.lab.history),

    /** Without waiting for anything that the document still has out. */
    async reload() {
      await lab.driver.navigate().refresh();
      await lab.bound();
    },

    async newTab() {
      await lab.driver.switchTo().newWindow("tab");
      return lab.driver.getWindowHandle();
    },
    async closeTab() {
      await lab.driver.close();
      const [first] = await lab.driver.getAllWindowHandles();
      await lab.driver.switchTo().window(first);
    },
    switchTo: (handle) => lab.driver.switchTo().window(handle),

    /** Ends the whole browser at once, as a crash or a power loss does. */
    async kill() {
      killProfile(profile);
      await browser.close().catch(() => {});
    },
    /** The same profile in a new browser. */
    async restart() {
      browser = await open();
    },

    /** The distinct keys of all commands that reached the server. */
    async keys() {
      const log = await lab.server.log();
      return [...new Set(log.filter(({ method }) => method === "POST").map(({ key }) => key))];
    },

    /** Every string that the origin keeps on the device. */
    scan: () => lab.driver.executeAsyncScript(SCAN),

    async close() {
      await browser.close().catch(() => {});
      server.stop();
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  await lab.driver.manage().setTimeouts({ script: 20_000 });
  return lab;
}

export { Key };

const asText = (value) => (typeof value === "object" && !Array.isArray(value) ? JSON.stringify(value) : String(value));

/** SIGKILL for every process that names the profile, and for nothing else, until none is left: they start others. */
function killProfile(profile) {
  const mine = () => readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && namesProfile(pid, profile));
  for (let pids = mine(); pids.length > 0; pids = mine()) {
    for (const pid of pids) {
      try {
        process.kill(Number(pid), "SIGKILL");
      } catch {
        // Gone meanwhile.
      }
    }
  }
}

/** A process that is gone or only waits to be collected has no command line. */
function namesProfile(pid, profile) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(`--user-data-dir=${profile}`);
  } catch {
    return false;
  }
}

const SCAN = `
  const done = arguments[0];
  const found = [...Object.entries(localStorage), ...Object.entries(sessionStorage)].flat();
  found.push(JSON.stringify(history.state));
  const walk = (value) => { found.push(JSON.stringify(value)); };
  (async () => {
    for (const { name } of await indexedDB.databases()) {
      const db = await new Promise((ok, no) => { const r = indexedDB.open(name); r.onsuccess = () => ok(r.result); r.onerror = no; });
      for (const store of db.objectStoreNames) {
        await new Promise((ok, no) => { const r = db.transaction(store).objectStore(store).getAll(); r.onsuccess = () => { r.result.forEach(walk); ok(); }; r.onerror = no; });
      }
      db.close();
    }
  })().then(() => done(found), (error) => done([String(error)]));
`;
