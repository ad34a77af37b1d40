// Locks that keep tabs apart and hints that make them look again.

/**
 * `locks` falls when a request is refused for another reason than time: an opaque origin has locks it may not use.
 * @typedef {{ channel: BroadcastChannel | undefined, locks: boolean }} Tabs
 */

/** What this browser offers. @param {string} name Of the channel. @returns {Tabs} */
export function tabs(name) {
  let channel;
  try {
    channel = new BroadcastChannel(name);
  } catch {}
  return { channel, locks: !!navigator.locks };
}

/**
 * Calls `run` once: with what gives the lock back; with `null` when another document holds it, after waiting at most
 * `waitMs` (0: not at all); with `undefined` when locks cannot be used.
 * @param {Tabs} tabs @param {string} name @param {number} waitMs
 * @param {(release?: ((value?: unknown) => void) | null) => void} run
 */
export async function lock(tabs, name, waitMs, run) {
  try {
    /** @type {LockOptions} */
    const options = { ifAvailable: !waitMs };
    if (waitMs) {
      const controller = new AbortController();
      options.signal = controller.signal;
      // Of no effect once the lock is granted: nothing is ever taken away (R69).
      setTimeout(() => controller.abort(), waitMs);
    }
    await navigator.locks.request(name, options, (lock) => (lock ? new Promise((release) => run(release)) : run(null)));
  } catch (thrown) {
    if (/** @type {any} */ (thrown)?.name === "AbortError") return run(null);
    tabs.locks = false;
    run();
  }
}

/**
 * Asks for a lock and reports as `lock` does, without waiting; when another document holds it, waits its turn and reports
 * again: whoever held it may be gone (R70). What is returned ends the wait.
 * @param {Tabs} tabs @param {string} name @param {(release?: ((value?: unknown) => void) | null) => void} run
 */
export function drive(tabs, name, run) {
  const wait = new AbortController();
  lock(tabs, name, 0, (release) => {
    run(release);
    if (release !== null) return;
    const { signal } = wait;
    navigator.locks.request(name, { signal }, () => new Promise((release) => run(release))).catch(() => {});
  });
  return () => wait.abort();
}

/** @param {Tabs} tabs @param {string} slot */
export function hint(tabs, slot) {
  // Other tabs look again when they are shown; a lost hint is only slower.
  try {
    tabs.channel?.postMessage({ slot });
  } catch {}
}

/**
 * Calls `act` with the slot of a hint or of a stored name with that prefix; with an empty text if it may be any slot.
 * @param {Tabs} tabs @param {string} prefix @param {(slot: string) => void} act
 */
export function onHint(tabs, prefix, act) {
  if (tabs.channel) {
    tabs.channel.onmessage = ({ data }) => {
      if (typeof data?.slot === "string") act(data.slot);
    };
  }
  addEventListener("storage", ({ key }) => {
    // None: the whole storage was cleared.
    if (key === null) act("");
    else if (key.startsWith(prefix)) act(key.slice(prefix.length));
  });
}
