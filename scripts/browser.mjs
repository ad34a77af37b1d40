// The headless Chromium that tests and measurements drive.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./paths.mjs";
import { Stop, which } from "./run.mjs";

const BROWSER_NAMES = ["chromium", "chromium-browser", "google-chrome"];

/**
 * The flags that the browser tests of the module run with too: as root there is no sandbox, and a browser without
 * internet must not look for it.
 */
const { args: CHROMIUM_FLAGS } = JSON.parse(readFileSync(join(ROOT, "webdriver.json"), "utf8"))["goog:chromeOptions"];

/**
 * Chromium and its driver: `CHROME` and `CHROMEDRIVER` when set, else what PATH holds.
 * @returns {{ browser: string, driver: string } | undefined}
 */
export function findBrowser() {
  const browser = process.env.CHROME ?? BROWSER_NAMES.map(which).find((path) => path !== undefined);
  const driver = process.env.CHROMEDRIVER ?? which("chromedriver");
  return browser && driver ? { browser, driver } : undefined;
}

/**
 * Opens a browser, with a profile of its own unless one is given. `close()` ends it and removes its own profile.
 * @param {{ flags?: readonly string[], profile?: string }} [options]
 */
export async function openBrowser({ flags = [], profile: given } = {}) {
  const found = findBrowser();
  if (!found) throw new Stop("Chromium with its driver was not found.", "node scripts/setup.mjs --test");
  const { Builder } = await import("selenium-webdriver");
  const chrome = (await import("selenium-webdriver/chrome.js")).default;
  const profile = given ?? mkdtempSync(join(tmpdir(), "postonce-profile-"));
  const options = new chrome.Options();
  options.setChromeBinaryPath(found.browser);
  options.addArguments(...CHROMIUM_FLAGS, `--user-data-dir=${profile}`, ...flags);
  const driver = await new Builder()
    .forBrowser("chrome")
    .setChromeOptions(options)
    .setChromeService(new chrome.ServiceBuilder(found.driver))
    .build();
  return {
    driver,
    async close() {
      await driver.quit();
      if (!given) rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
