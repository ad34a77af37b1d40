// The stores, and nothing but their handling: what a text is worth, the module judges.

/**
 * What the module says of a text: it sets `version` unless the text is no record. Four times eleven digits (each number plus
 * 10^10, so that texts compare as versions do), then `+` for a later schema (R27) or `-` when nobody will ask for it (R87).
 * @typedef {{ text: string, version: string }} Question
 * @typedef {(question: Question) => void} Judge
 * @typedef {{ slot: string, generation: number, round: number, rev: number, text: string }} Row
 * @typedef {{
 *   name: string,
 *   opening?: Promise<IDBDatabase | undefined> | undefined,
 *   database?: IDBDatabase | undefined,
 * }} Journal
 */

/** Frozen for ever, like the shape of the key and all prefixes (R27). */
const STORE = "intents";
const PREFIX = "postonce:";
const QUARANTINE = "quarantine:";
const RECORD = /^postonce:[\da-f]{32}$/;

/** An open, or a transaction that does not get its turn, is not waited for any longer: some engines are known to hang here. */
const WAIT_MS_MAX = 2_000;
/** So long a database that gave no turn is left alone: one wait for it is enough for a submission. */
const REST_MS = 10_000;

/** How a persist ended, unless a text outran it; `reported` in src/journal.rs. */
const DURABLE = 0;
const WEAK = 1;
const UNAVAILABLE = 2;
const QUOTA = 3;
const MISMATCH = 4;

/** The same for all journals of a page. @type {Judge} */
let answer;

/** Ends each transaction that still waits for this document, to be done again. @type {Set<() => void>} */
const unfinished = new Set();

/** While the document is kept for the way back: until it is shown again. @type {Promise<void> | undefined} */
let away;

/** Begins to open the database of that name. @param {string} name @param {Judge} judge */
export function open(name, judge) {
  answer = judge;
  /** @type {Journal} */
  const journal = { name };
  endWhenLeft();
  connect(journal);
  return journal;
}

/**
 * WebKit keeps a left document together with a transaction that waits for its callbacks, and every other page of the
 * origin waits for that one.
 */
function endWhenLeft() {
  addEventListener("pagehide", ({ persisted }) => {
    if (!persisted) return;
    away = new Promise((resolve) => {
      const back = () => {
        away = undefined;
        resolve();
      };
      addEventListener("pageshow", back, { once: true });
    });
    for (const end of unfinished) end();
  });
}

/** @param {Journal} journal @param {(journal: Journal) => void} done Called when it is open, or known not to open. */
export async function opened(journal, done) {
  await connect(journal);
  done(journal);
}

/**
 * Both copies of the slot as found; for an empty hash, of every slot its hash and the copy that counts.
 * @param {Journal} journal @param {string} hash @param {(found: any[]) => void} done
 */
export async function read(journal, hash, done) {
  /** @type {Row[]} None when they cannot be read. */
  const rows = await transact(journal, hash).catch(() => []);
  if (hash) return done([highest(rows.map(textOf)), localText(PREFIX + hash)]);
  /** @type {Map<string, string | undefined>} */
  const found = new Map(localRecords());
  for (const row of rows) {
    if (RECORD.test(PREFIX + row.slot)) found.set(row.slot, highest([found.get(row.slot), textOf(row)]));
  }
  done([...found]);
}

/**
 * Compares and sets: one transaction awaited to its end, then the copy (R68). `expect` is empty for an empty slot;
 * with `aside` a text that is no record counts as none, and is kept out of the way (R85).
 * @param {Journal} journal @param {string} hash @param {string} text @param {string} version @param {string} expect
 * @param {boolean} aside @param {(report: number | string) => void} done
 */
export async function persist(journal, hash, text, version, expect, aside, done) {
  const [generation = 0, round, rev] = version.match(/.{11}/g)?.map((digits) => Number(digits) - 1e10) ?? [];
  const name = PREFIX + hash;
  /** @type {string | false | undefined} */
  let outrun;
  let fault = DURABLE;
  try {
    // A key that was never stored waits for the disk: else a power loss would forget it (R121). As a rule that is a
    // reservation, long before the click; what a click adds to a stored key does not wait.
    const known = expect.startsWith(version.slice(0, 11));
    await transact(journal, hash, known ? "relaxed" : "strict", (rows, store) => {
      outrun = rival([...rows.map(textOf), localText(name)], expect, aside);
      if (outrun !== false) return;
      setAside(store, hash, rows);
      for (const row of rows) if (row.generation < generation) store.delete([hash, row.generation]);
      store.put({ slot: hash, generation, round, rev, text });
    });
  } catch (thrown) {
    fault = faultOf(thrown);
  }
  const compared = outrun !== undefined;
  if (!compared) {
    if (journal.database) lose(journal);
    // Other tabs are kept out by the slot lock alone (R67).
    outrun = rival([localText(name)], expect, aside);
  }
  if (typeof outrun === "string") return done(outrun);
  const copied = putCopy(hash, text, version);
  // Where the database took it, the copy is for a quick start only.
  done(fault && (copied ? (compared ? fault : copied) : WEAK));
}

/** `undefined` when there is none or the storage is blocked: its very getter may throw (R82). @param {string} name */
export function localText(name) {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {}
}

/**
 * Writes, reads back and compares (R84). With the quota full, own finished records make room, once (R83).
 * @param {string} name @param {string} text
 */
export function putLocal(name, text) {
  for (let pruned = false; ; pruned = true) {
    try {
      localStorage.setItem(name, text);
      return localStorage.getItem(name) === text ? DURABLE : MISMATCH;
    } catch (thrown) {
      const fault = faultOf(thrown);
      if (pruned || fault !== QUOTA) return fault;
      prune();
    }
  }
}

/** @param {string} text */
function judge(text) {
  const question = { text, version: "" };
  answer(question);
  return question.version;
}

function prune() {
  for (const [hash, text] of localRecords()) {
    if (judge(text).endsWith("-")) localStorage.removeItem(PREFIX + hash);
  }
}

/** Never fails: where it does not work or takes too long, there is no database (R82). @param {Journal} journal */
function connect(journal) {
  journal.opening ??= new Promise((resolve) => {
    const giveUp = () => resolve(undefined);
    try {
      const request = indexedDB.open(journal.name, 1);
      // Should it fail, the open succeeds without the store, and every transaction says so.
      request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: ["slot", "generation"] });
      request.onerror = request.onblocked = giveUp;
      request.onsuccess = () => {
        const database = request.result;
        database.onversionchange = database.onclose = () => lose(journal);
        // A late connection is welcome too: the higher version wins, whichever store holds it (R65).
        journal.database = database;
        journal.opening = Promise.resolve(database);
        resolve(database);
      };
      setTimeout(giveUp, WAIT_MS_MAX);
    } catch {
      giveUp();
    }
  });
  return journal.opening;
}

/** The next use opens it again. @param {Journal} journal */
function lose(journal) {
  journal.database?.close();
  journal.database = journal.opening = undefined;
}

/** For a while there is no database. @param {Journal} journal */
function rest(journal) {
  lose(journal);
  journal.opening = Promise.resolve(undefined);
  setTimeout(() => lose(journal), REST_MS);
}

/**
 * One transaction: reads the rows of the slot, or of all, and with a `durability` lets `act` write. Rejects unless it
 * completes; one that the document's leaving ended is done again when it is back.
 * @param {Journal} journal @param {string} hash @param {IDBTransactionDurability} [durability]
 * @param {(rows: Row[], store: IDBObjectStore) => void} [act] @returns {Promise<Row[]>}
 */
async function transact(journal, hash, durability, act) {
  for (;;) {
    await away;
    const database = await connect(journal);
    /** @type {Row[] | undefined} */
    const rows = await new Promise((resolve, reject) => {
      // Without a database this throws, which rejects like everything else here.
      const transaction = /** @type {IDBDatabase} */ (database).transaction(STORE, act ? "readwrite" : "readonly", {
        durability: durability ?? "default",
      });
      const store = transaction.objectStore(STORE);
      // Every numeric generation of the slot: nothing of ours has another.
      const request = store.getAll(hash ? IDBKeyRange.bound([hash, -Infinity], [hash, Infinity]) : null);
      let left = false;
      const end = () => {
        left = true;
        abort(transaction);
      };
      request.onsuccess = () => {
        try {
          act?.(request.result, store);
          // From here on it needs no callback of this document, and nothing ends it.
          transaction.commit?.();
        } catch {
          abort(transaction);
        }
      };
      transaction.oncomplete = () => {
        unfinished.delete(end);
        resolve(request.result);
      };
      transaction.onabort = () => {
        unfinished.delete(end);
        if (left) resolve(undefined);
        else reject(transaction.error);
      };
      unfinished.add(end);
      setTimeout(() => {
        if (!unfinished.has(end) || !abort(transaction)) return;
        // It will never count; some engines say so only when its turn would have come.
        unfinished.delete(end);
        rest(journal);
        reject();
      }, WAIT_MS_MAX);
    });
    if (rows) return rows;
  }
}

/** Unless it commits already or is over. @param {IDBTransaction} transaction */
function abort(transaction) {
  try {
    transaction.abort();
    return true;
  } catch {
    return false;
  }
}

/** Empty when the row has none, which nobody takes for a record. @param {Row} row */
function textOf(row) {
  return String(row.text ?? "");
}

/**
 * The copy that counts: the higher version wins, the first of equal ones, and any record over what is none (R65, R85).
 * @param {(string | undefined)[]} texts
 */
function highest(texts) {
  /** @type {string | undefined} */
  let best;
  for (const text of texts) {
    if (text !== undefined && (best === undefined || versionOf(text) > versionOf(best))) best = text;
  }
  return best;
}

/** @param {string} text */
function versionOf(text) {
  return judge(text).replace("-", "");
}

/**
 * The text that is stored instead of what was expected.
 * @param {(string | undefined)[]} texts @param {string} expect @param {boolean} aside Texts that are no record do not count.
 */
function rival(texts, expect, aside) {
  const best = highest(aside ? texts.filter((text) => text && judge(text)) : texts);
  if (best === undefined) return expect ? "" : false;
  return expect && versionOf(best) === expect ? false : best;
}

/** @param {IDBObjectStore} store @param {string} hash @param {Row[]} rows */
function setAside(store, hash, rows) {
  for (const row of rows) {
    if (judge(textOf(row))) continue;
    store.delete([hash, row.generation]);
    store.put({ ...row, slot: QUARANTINE + hash });
  }
}

/** @param {string} hash */
function setLocalAside(hash) {
  const name = PREFIX + hash;
  const text = localText(name);
  if (text === undefined || judge(text)) return;
  try {
    localStorage.removeItem(name);
    // With the quota full, the room just freed may be short by the longer name: rather back than lost.
    if (putLocal(PREFIX + QUARANTINE + hash, text)) putLocal(name, text);
  } catch {}
}

/**
 * Writes the copy, unless a newer one is there already: without locks a slower tab may come last (R65).
 * @param {string} hash @param {string} text @param {string} version
 */
function putCopy(hash, text, version) {
  setLocalAside(hash);
  const name = PREFIX + hash;
  const stored = localText(name);
  if (stored !== undefined) {
    const found = versionOf(stored);
    if (!found || found.endsWith("+")) return MISMATCH;
    if (found > version) return DURABLE;
  }
  return putLocal(name, text);
}

/** Hash and text of every record. @returns {[string, string][]} */
function localRecords() {
  try {
    const names = Object.keys(localStorage).filter((name) => RECORD.test(name));
    return names.map((name) => [name.slice(PREFIX.length), localText(name) ?? ""]);
  } catch {
    return [];
  }
}

/** @param {any} thrown Whatever: `undefined` can be thrown too. */
function faultOf(thrown) {
  return thrown?.name === "QuotaExceededError" ? QUOTA : UNAVAILABLE;
}
