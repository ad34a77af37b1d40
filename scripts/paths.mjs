// Where things are. Every folder that a script reads or writes is named here once.
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, "");
export const DIST = join(ROOT, "dist");
export const WWW = join(DIST, "www");
export const TARGET = process.env.CARGO_TARGET_DIR ?? join(ROOT, "target");
export const CARGO_HOME = process.env.CARGO_HOME ?? join(homedir(), ".cargo");
export const RUSTUP_HOME = process.env.RUSTUP_HOME ?? join(homedir(), ".rustup");

/** Tools built from source live here, per user, so that a clean checkout does not build them again. */
export const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "postonce");

/** A program that `npm ci` put into the checkout. */
export const npmTool = (name) => join(ROOT, "node_modules", ".bin", name);
