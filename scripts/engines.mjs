// The three browser engines: where their programs are, how each is told to run unattended, and how a session is opened.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CACHE, ROOT } from "./paths.mjs";
import { Stop, which } from "./run.mjs";

/** Pinned: the driver speaks for one Firefox, and building it takes minutes. */
export const GECKODRIVER_VERSION = "0.37.1";
export const GECKODRIVER_FOLDER = join(CACHE, `geckodriver-${GECKODRIVER_VERSION}`);
const GECKODRIVER = join(GECKODRIVER_FOLDER, "bin", "geckodriver");

const DISPLAY_MS_MAX = 10_000;

/** @typedef {"chromium" | "firefox" | "webkit"} Engine */
/** @typedef {{ browser: string, driver: string, display?: string }} Programs */
/** @typedef {{ profile: string, flags: readonly string[], env: Record<string, string | undefined>, programs: Programs }} Session */

/** In the order in which they are tried and shown. @type {readonly Engine[]} */
export const ENGINES = ["chromium", "firefox", "webkit"];

/**
 * What Debian calls the parts of an engine. Firefox's driver is no package there.
 * @type {Record<Engine, readonly string[]>}
 */
export const DEBIAN_PACKAGES = {
  chromium: ["chromium", "chromium-driver"],
  firefox: ["firefox-esr"],
  webkit: ["webkit2gtk-driver", "xvfb"],
};

/** @param {string} name @returns {Engine} */
export function engineNamed(name) {
  const found = ENGINES.find((engine) => engine === name);
  if (!found) throw new Stop(`There is no engine \`${name}\`.`, `Engines: ${ENGINES.join(" ")}`);
  return found;
}

/** The engine that this process drives: `POSTONCE_ENGINE`, else Chromium. */
export const currentEngine = () => engineNamed(process.env.POSTONCE_ENGINE ?? "chromium");

/**
 * An engine's programs: what the environment names, else what PATH or the engine's own folder holds.
 * @param {Engine} engine
 * @returns {Programs | undefined}
 */
export function findEngine(engine) {
  const { browser, driver, display } = LOOK_UP[engine]();
  if (!browser || !driver || display === null) return undefined;
  return { browser, driver, ...(display ? { display } : {}) };
}

/** Firefox itself; its driver is built when missing. */
export const findFirefox = () => firstOf(process.env.FIREFOX, "firefox-esr", "firefox");

/** @type {Record<Engine, () => { browser: string | undefined, driver: string | undefined, display?: string | null }>} */
const LOOK_UP = {
  chromium: () => ({
    browser: firstOf(process.env.CHROME, "chromium", "chromium-browser", "google-chrome"),
    driver: firstOf(process.env.CHROMEDRIVER, "chromedriver"),
  }),
  firefox: () => ({
    browser: findFirefox(),
    driver: firstOf(process.env.GECKODRIVER, "geckodriver") ?? (existsSync(GECKODRIVER) ? GECKODRIVER : undefined),
  }),
  webkit: () => ({
    browser: process.env.MINIBROWSER ?? miniBrowser(),
    driver: firstOf(process.env.WEBKITWEBDRIVER, "WebKitWebDriver"),
    display: which("Xvfb") ?? null,
  }),
};

/**
 * @param {string | undefined} given
 * @param {string[]} names
 * @returns {string | undefined}
 */
function firstOf(given, ...names) {
  return given ?? names.map(which).find((path) => path !== undefined);
}

/** WebKitGTK's own small browser; it is not on PATH but beside the library, whose folder is named after the machine. */
function miniBrowser() {
  const folders = ["/usr/libexec", "/usr/lib"].filter((folder) => existsSync(folder));
  const nested = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  const versions = ["webkitgtk-6.0", "webkit2gtk-4.1", "webkit2gtk-4.0"];
  const places = [...folders, ...nested].flatMap((folder) => versions.map((name) => join(folder, name, "MiniBrowser")));
  return places.find((path) => existsSync(path));
}

/**
 * The flags that the browser tests of the module run with too: as root there is no sandbox, and a browser without
 * internet must not look for it.
 */
export const CHROMIUM_FLAGS = JSON.parse(readFileSync(join(ROOT, "webdriver.json"), "utf8"))["goog:chromeOptions"].args;

/** The same for Firefox: no search for updates, networks or a login page, and after a kill a start like any other. */
const FIREFOX_PREFERENCES = {
  "app.normandy.enabled": false,
  "app.update.disabledForTesting": true,
  "browser.safebrowsing.downloads.enabled": false,
  "browser.safebrowsing.malware.enabled": false,
  "browser.safebrowsing.phishing.enabled": false,
  "browser.sessionstore.resume_from_crash": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.homepage_override.mstone": "ignore",
  "browser.startup.page": 0,
  "datareporting.policy.dataSubmissionEnabled": false,
  "dom.ipc.processPrelaunch.enabled": false,
  "extensions.getAddons.cache.enabled": false,
  "media.gmp-manager.updateEnabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "services.settings.server": "",
  "toolkit.startup.max_resumed_crashes": -1,
};

export function writeFirefoxPreferences(profile) {
  const line = ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`;
  writeFileSync(join(profile, "user.js"), Object.entries(FIREFOX_PREFERENCES).map(line).join(""));
}

/** WebKitGTK keeps its data where the desktop's variables point. */
export const webkitFolders = (profile) => ({
  XDG_DATA_HOME: join(profile, "data"),
  XDG_CACHE_HOME: join(profile, "cache"),
  XDG_CONFIG_HOME: join(profile, "config"),
});

/** How each engine's session is opened; answers the driver, and how to end what was started besides. */
export const OPEN = {
  /** @param {Session} session */
  async chromium({ profile, flags, env, programs }) {
    const { Builder } = await import("selenium-webdriver");
    const chrome = (await import("selenium-webdriver/chrome.js")).default;
    const options = new chrome.Options();
    options.setChromeBinaryPath(programs.browser);
    options.addArguments(...CHROMIUM_FLAGS, `--user-data-dir=${profile}`, ...flags);
    const service = new chrome.ServiceBuilder(programs.driver).setEnvironment(env);
    const driver = await new Builder().forBrowser("chrome").setChromeOptions(options).setChromeService(service).build();
    return { driver, end: async () => {} };
  },

  /** @param {Session} session */
  async firefox({ profile, env, programs }) {
    const { Builder } = await import("selenium-webdriver");
    const firefox = (await import("selenium-webdriver/firefox.js")).default;
    writeFirefoxPreferences(profile);
    const options = new firefox.Options().setBinary(programs.browser);
    options.addArguments("-headless", "-profile", profile);
    const service = new firefox.ServiceBuilder(programs.driver).setEnvironment(env);
    const driver = await new Builder()
      .forBrowser("firefox")
      .setFirefoxOptions(options)
      .setFirefoxService(service)
      .build();
    return { driver, end: async () => {} };
  },

  /** @param {Session} session */
  async webkit({ profile, env, programs }) {
    const { Builder } = await import("selenium-webdriver");
    const remote = (await import("selenium-webdriver/remote/index.js")).default;
    const display = await startDisplay(programs.display);
    const service = new remote.DriverService.Builder(programs.driver)
      .setLoopback(true)
      .setEnvironment({ ...env, ...webkitFolders(profile), DISPLAY: display.name })
      .build();
    const end = async () => {
      await service.kill();
      display.stop();
    };
    try {
      const browserOptions = { binary: programs.browser, args: ["--automation"] };
      const driver = await new Builder()
        .usingServer(await service.start())
        .withCapabilities({ browserName: "MiniBrowser", "webkitgtk:browserOptions": browserOptions })
        .build();
      return { driver, end };
    } catch (error) {
      await end();
      throw error;
    }
  },
};

/**
 * How each engine opens one address with nobody driving it, so with a profile that it keeps: under automation WebKitGTK
 * keeps nothing. `end()` ends what was started besides.
 */
export const LAUNCH = {
  /** @param {{ profile: string, url: string, programs: Programs }} start */
  chromium: async ({ profile, url, programs }) => ({
    command: programs.browser,
    args: [...CHROMIUM_FLAGS, `--user-data-dir=${profile}`, "--remote-debugging-port=0", url],
    env: {},
    end: () => {},
  }),

  /** @param {{ profile: string, url: string, programs: Programs }} start */
  async firefox({ profile, url, programs }) {
    writeFirefoxPreferences(profile);
    return {
      command: programs.browser,
      args: ["-headless", "-no-remote", "-profile", profile, url],
      env: {},
      end: () => {},
    };
  },

  /** @param {{ profile: string, url: string, programs: Programs }} start */
  async webkit({ profile, url, programs }) {
    const display = await startDisplay(programs.display);
    const env = { ...webkitFolders(profile), DISPLAY: display.name };
    return { command: programs.browser, args: [url], env, end: () => display.stop() };
  },
};

/** An X server of our own without a screen, on a display number that it chooses itself. It ends with this process. */
export async function startDisplay(program) {
  const chosen = 3;
  const args = ["-displayfd", String(chosen), "-screen", "0", "1280x1000x24", "-nolisten", "tcp"];
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "ignore", "pipe"] });
  const stop = () => child.kill();
  process.once("exit", stop);
  const number = await new Promise((settle, fail) => {
    const late = setTimeout(() => fail(new Stop("Xvfb did not start in time.")), DISPLAY_MS_MAX);
    child.once("error", fail);
    child.once("exit", (code) => fail(new Stop(`Xvfb ended with ${code}.`)));
    child.stdio[chosen]?.once("data", (text) => {
      clearTimeout(late);
      settle(String(text).trim());
    });
  });
  return {
    name: `:${number}`,
    stop() {
      process.removeListener("exit", stop);
      stop();
    },
  };
}
