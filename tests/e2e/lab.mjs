// One demo server and one browser for the tests of a file, and the few words they are written in. What happened is
// read from the server; what a person would see, from the page. Which engine it is, `POSTONCE_ENGINE` says; the words
// are the same in all.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Key } from "selenium-webdriver";
import { killBrowser, openBrowser } from "../../scripts/browser.mjs";
import { startDemoServer } from "../../scripts/demo-server.mjs";
import { currentEngine } from "../../scripts/engines.mjs";
import { AGENT, startDriverless } from "./driverless.mjs";
import { BLANK, copyPages } from "./pages.mjs";

const PAGE = "/pages/order.html";
const SCRIPT_MS_MAX = 20_000;
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

/**
 * `flags` are Chromium's own and reach no other engine. `front` says where the pages are opened instead of at the
 * server's own address. A lab that is to be killed says so with `killed`: WebKitGTK keeps nothing while a WebDriver
 * drives it, so there it goes without.
 * @param {{
 *   engine?: import("../../scripts/engines.mjs").Engine,
 *   flags?: string[],
 *   front?: (url: string) => string,
 *   killed?: boolean,
 * }} [options]
 */
export async function openLab({ engine = currentEngine(), flags = [], front = (url) => url, killed = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "postonce-lab-"));
  const profile = mkdtempSync(join(folder, "profile-"));
  const pages = copyPages(join(folder, "www"));
  const server = await startDemoServer({ www: pages.folder });
  const driverless = killed && engine === "webkit" ? await startDriverless(server.url) : undefined;
  if (driverless) pages.beforeLoad(AGENT);
  const origin = driverless?.url ?? front(server.url);
  const get = async (path) => (await fetch(`${server.url}${path}`)).json();
  const open = async () => {
    const opened = await (driverless?.open(profile) ?? openBrowser({ engine, flags, profile }));
    await opened.driver.manage().setTimeouts({ script: SCRIPT_MS_MAX });
    return opened;
  };
  let browser = await open();

  const lab = {
    engine,
    /** Where its pages are opened. */
    origin,
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
      await lab.driver.get(`${origin}${BLANK}`);
      await lab.driver.manage().deleteAllCookies();
      const failure = await lab.driver.executeAsyncScript(EMPTY_THE_ORIGIN);
      if (failure) throw new Error(`the origin could not be emptied: ${failure}`);
      await lab.server.reset();
    },

    /** Opens the order page and waits until it is bound and its record was read. */
    async open(query = {}) {
      const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, asText(value)]));
      await lab.driver.get(`${origin}${PAGE}?${text}`);
      await lab.bound();
    },

    /** The module is there and the record was read: what the page says from now on is meant. */
    bound: () =>
      eventually(
        "the page is bound",
        () => lab.script(() => (globalThis.lab?.form.snapshot.attemptsMax ?? 0) > 0),
        BOUND_MS_MAX,
      ),

    /** Runs the function in the page. Firefox runs it beside the page's own global object, so that one is named. */
    script: (act, ...args) =>
      lab.driver.executeScript(`const globalThis = window; return (${act}).apply(null, arguments)`, ...args),

    /** Runs the source in every page of the server to come, before its first script; answers the way to stop. */
    beforeLoad: async (source) => pages.beforeLoad(source),

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
      if (engine === "webkit" && !driverless) throw new Error("this lab was not opened with `killed`");
      killBrowser(profile);
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
      // Whatever did not end by itself.
      killBrowser(profile);
      driverless?.stop();
      server.stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return lab;
}

export { Key };

const asText = (value) => (typeof value === "object" && !Array.isArray(value) ? JSON.stringify(value) : String(value));

/** From a page of the origin that uses none of it: nothing is left of what an earlier test kept. */
const EMPTY_THE_ORIGIN = `
  const done = arguments[0];
  localStorage.clear();
  sessionStorage.clear();
  (async () => {
    for (const { name } of await indexedDB.databases()) {
      await new Promise((ok, no) => { const r = indexedDB.deleteDatabase(name); r.onsuccess = ok; r.onerror = () => no(r.error); });
    }
  })().then(() => done(), (error) => done(String(error)));
`;

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
