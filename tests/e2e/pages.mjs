// The pages as they were built, copied for one lab, so that a test can put a script before a page's first one without
// the tools of any engine.
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { WWW } from "../../scripts/paths.mjs";

/** A page that loads nothing and keeps nothing. */
export const BLANK = "/blank.html";
const BEFORE = "before-load.js";

/**
 * Fills the folder and answers how to put scripts before those of its pages.
 * @param {string} folder
 */
export function copyPages(folder) {
  cpSync(WWW, folder, { recursive: true });
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const page of names.filter((name) => name.endsWith(".html")).map((name) => join(folder, name))) {
    const html = readFileSync(page, "utf8");
    const changed = html.replace("<head>", `<head><script src="/${BEFORE}"></script>`);
    if (changed === html) throw new Error(`${page} has no <head>`);
    writeFileSync(page, changed);
  }
  writeFileSync(join(folder, BLANK), `<!doctype html><head><script src="/${BEFORE}"></script><title>blank</title>`);

  const sources = new Set();
  const write = () => writeFileSync(join(folder, BEFORE), [...sources].map(({ text }) => `{${text}\n}\n`).join(""));
  write();
  return {
    folder,
    /** Answers the way to stop it. */
    beforeLoad(text) {
      const source = { text };
      sources.add(source);
      write();
      return async () => {
        sources.delete(source);
        write();
      };
    },
  };
}
