// Faults of the page's own surroundings: scripts that run in every new document before the page's first one.

/** How to take out what is installed now. */
const installed = new Set();

/**
 * Runs `fault` before any script of the documents to come. `fault` is sent as text: it sees the page's globals and
 * `args`, nothing of the test.
 */
export async function beforeLoad(lab, fault, ...args) {
  const source = `(${fault})(...${JSON.stringify(args)})`;
  installed.add(await lab.beforeLoad(source));
}

/** Takes out every fault: documents loaded from now on are whole again. */
export async function takeFaultsOut() {
  for (const takeOut of installed) await takeOut();
  installed.clear();
}

/** Collects what nobody caught, for `uncaught(lab)`. */
export function collectUncaught() {
  globalThis.uncaughtErrors = [];
  addEventListener("error", (event) => globalThis.uncaughtErrors.push(`error: ${event.message}`));
  addEventListener("unhandledrejection", (event) => globalThis.uncaughtErrors.push(`rejection: ${event.reason}`));
}

export function uncaught(lab) {
  return lab.script(() => globalThis.uncaughtErrors);
}
