// Writes one value to one store, or says what it finds there. Told by the address, heard at /report.
const address = new URLSearchParams(location.search);
const store = address.get("store");
const NAME = "durability";

const openDatabase = () =>
  new Promise((settle, fail) => {
    const opening = indexedDB.open(NAME, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(NAME);
    opening.onsuccess = () => settle(opening.result);
    opening.onerror = () => fail(opening.error);
  });

const STORES = {
  localStorage: {
    prepare: async () => localStorage.setItem("another", "written long before"),
    write: async (value) => localStorage.setItem(NAME, value),
    read: async () => localStorage.getItem(NAME),
  },
  relaxed: indexed("relaxed"),
  strict: indexed("strict"),
};

function indexed(durability) {
  let database;
  return {
    async prepare() {
      database = await openDatabase();
    },
    write: (value) =>
      new Promise((settle, fail) => {
        const writing = database.transaction(NAME, "readwrite", { durability });
        writing.objectStore(NAME).put(value, NAME);
        writing.oncomplete = () => settle();
        writing.onabort = () => fail(writing.error);
      }),
    async read() {
      const reading = (await openDatabase()).transaction(NAME).objectStore(NAME).get(NAME);
      return new Promise((settle, fail) => {
        reading.onsuccess = () => settle(reading.result ?? null);
        reading.onerror = () => fail(reading.error);
      });
    },
  };
}

const report = (said) => fetch("/report", { method: "POST", body: JSON.stringify(said) });

async function act() {
  const { prepare, write, read } = STORES[store];
  if (address.get("act") === "read") return report({ found: await read() });
  await prepare();
  await report({ ready: true });
  // The store as a page finds it that has been open for a while.
  await new Promise((settle) => setTimeout(settle, Number(address.get("settle"))));
  const started = performance.now();
  await write(address.get("value"));
  return report({ written: performance.now() - started });
}

act().catch((error) => report({ failure: String(error) }));
