//! IndexedDB: the copy that survives a killed browser, and the place where two tabs are told apart (R68).

use std::rc::Rc;

use postonce_core::machine::event::StoreFault;
use postonce_core::slot::Slot;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::prelude::*;

use super::{Claim, Inner, Link, QUARANTINE, Standing, compare, local, standing};
use crate::callback::{First, once};
use crate::member::{get, is_named, object, set, set_timeout, text};

/// Frozen for ever, as is the shape of the key (R27).
const DATABASE: &str = "postonce";
const DATABASE_VERSION: u32 = 1;
const STORE: &str = "intents";

/// An open that takes longer is not waited for: some engines are known to hang here.
const OPEN_MS_MAX: u32 = 2_000;

#[wasm_bindgen]
extern "C" {
    // The getter of `indexedDB` may throw as well; inside this call that is caught (R82).
    #[wasm_bindgen(catch, js_namespace = indexedDB, js_name = open)]
    fn open_database(name: &str, version: u32) -> Result<JsValue, JsValue>;

    #[derive(Clone)]
    pub(super) type Database;
    #[wasm_bindgen(method)]
    fn close(this: &Database);
    #[wasm_bindgen(method, catch, js_name = createObjectStore)]
    fn create_store(this: &Database, name: &str, options: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn transaction(this: &Database, store: &str, mode: &str, options: &JsValue) -> Result<Transaction, JsValue>;

    #[derive(Clone)]
    type Transaction;
    #[wasm_bindgen(method, catch, js_name = objectStore)]
    fn store(this: &Transaction, name: &str) -> Result<Store, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn abort(this: &Transaction) -> Result<(), JsValue>;

    type Store;
    #[wasm_bindgen(method, catch, js_name = getAll)]
    fn get_all(this: &Store, range: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn put(this: &Store, entry: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn delete(this: &Store, key: &JsValue) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(js_namespace = IDBKeyRange, js_name = bound)]
    fn bound(lower: &JsValue, upper: &JsValue) -> JsValue;
    #[wasm_bindgen(js_namespace = Array, js_name = of)]
    fn pair(first: &str, second: &JsValue) -> JsValue;
    #[wasm_bindgen(js_namespace = Array, js_name = from)]
    fn items(list: &JsValue) -> Vec<JsValue>;
}

/// How a compare and set in the database ended.
pub(super) enum Swap {
    /// Written, and the transaction is complete.
    Done,
    /// Another record is stored; its text.
    Outrun(String),
    /// The database could not be read, so nothing was compared.
    Uncompared,
    /// What is stored was as expected, but the new value was not taken.
    Unwritten(StoreFault),
}

/// One entry as found.
pub(super) struct Row {
    entry: JsValue,
    pub(super) slot: String,
    /// Empty when the entry has none, which no reader takes for a record.
    pub(super) text: String,
}

/// Connects and keeps the connection in `inner`; `done` is called once, at the latest after [`OPEN_MS_MAX`].
pub(super) fn connect(inner: &Rc<Inner>, done: Box<dyn FnOnce(Option<Database>)>) {
    let Ok(request) = open_database(DATABASE, DATABASE_VERSION) else {
        inner.link.set(Link::Absent);
        return done(None);
    };
    let done = First::new(done);
    set(
        &request,
        "onupgradeneeded",
        &once({
            let request = request.clone();
            move |_| create(get(&request, "result").unchecked_ref())
        }),
    );

    let give_up = once({
        let (inner, done) = (Rc::clone(inner), done.clone());
        move |_| {
            if let Some(done) = done.take() {
                inner.link.set(Link::Absent);
                done(None);
            }
        }
    });
    set(&request, "onerror", &give_up);
    set(&request, "onblocked", &give_up);
    set_timeout(&give_up, OPEN_MS_MAX);

    let inner = Rc::clone(inner);
    set(
        &request,
        "onsuccess",
        &once({
            let request = request.clone();
            move |_| {
                let database: Database = get(&request, "result").unchecked_into();
                keep(&inner, &database);
                if let Some(done) = done.take() {
                    done(Some(database));
                }
            }
        }),
    );
}

fn create(database: &Database) {
    let options = object();
    set(&options, "keyPath", &pair("slot", &"generation".into()));
    // Should it fail, the open succeeds without the store and every transaction says so.
    let _ = database.create_store(STORE, &options);
}

/// A late connection is welcome too: the higher version wins, whichever store holds it (R65).
fn keep(inner: &Rc<Inner>, database: &Database) {
    let lost = once({
        let (inner, database) = (Rc::clone(inner), database.clone());
        move |_| {
            database.close();
            inner.link.set(Link::Lost);
        }
    });
    set(database, "onversionchange", &lost);
    set(database, "onclose", &lost);
    inner.link.set(Link::Open(database.clone()));
}

/// Reads the entries of one slot, or of all; `None` when that failed. The highest generation of a slot comes last.
pub(super) fn rows(database: &Database, slot: Option<&Slot>, done: Box<dyn FnOnce(Option<Vec<Row>>)>) {
    let range = slot.map_or(JsValue::UNDEFINED, range_of);
    match begin(database, "readonly", "default").and_then(|(_, store)| store.get_all(&range)) {
        Ok(request) => on_rows(&request, done),
        Err(_) => done(None),
    }
}

/// One transaction: reads, compares, writes; `done` is called when it is complete or aborted (R68).
pub(super) fn swap(database: &Database, claim: Rc<Claim>, done: Box<dyn FnOnce(Swap)>) {
    // A reservation is on its way long before the click, so it may wait for the disk; a click may not.
    let durability = if claim.version.round == 0 { "strict" } else { "relaxed" };
    let started = begin(database, "readwrite", durability).and_then(|(transaction, store)| {
        let request = store.get_all(&range_of(&claim.slot))?;
        Ok((transaction, store, request))
    });
    let Ok((transaction, store, request)) = started else { return done(Swap::Uncompared) };

    let decided = First::new(Swap::Uncompared);
    on_rows(&request, {
        let (transaction, decided) = (transaction.clone(), decided.clone());
        Box::new(move |rows| {
            let Some(rows) = rows else { return };
            let local = local::text(&claim.slot.record_name());
            let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).chain(local.as_deref()).collect();
            decided.put(match compare(&texts, claim.expect) {
                Err(outrun) => Swap::Outrun(outrun),
                Ok(()) => {
                    if write(&store, &claim, &rows).is_err() {
                        let _ = transaction.abort();
                    }
                    Swap::Done
                }
            });
        })
    });
    on_end(&transaction, move |ended| {
        done(match (decided.take(), ended) {
            (Some(Swap::Done), Err(fault)) => Swap::Unwritten(fault),
            (Some(swap), _) => swap,
            (None, _) => Swap::Uncompared,
        });
    });
}

/// Moves the entries of a slot that are no records to another name, where they can still be looked at (R85).
pub(super) fn quarantine(database: &Database, slot: &Slot) {
    let started = begin(database, "readwrite", "relaxed").and_then(|(_, store)| {
        let request = store.get_all(&range_of(slot))?;
        Ok((store, request))
    });
    let Ok((store, request)) = started else { return };
    let slot = slot.clone();
    on_rows(
        &request,
        Box::new(move |rows| {
            let _ = set_aside(&store, &slot, rows.as_deref().unwrap_or_default());
        }),
    );
}

fn write(store: &Store, claim: &Claim, rows: &[Row]) -> Result<(), JsValue> {
    let (hash, version) = (claim.slot.hash(), claim.version);
    set_aside(store, &claim.slot, rows)?;
    for row in rows {
        let generation = get(&row.entry, "generation");
        if generation.as_f64() < Some(f64::from(version.generation)) {
            store.delete(&pair(hash, &generation))?;
        }
    }
    let entry = object();
    set(&entry, "slot", &hash.into());
    set(&entry, "generation", &version.generation.into());
    set(&entry, "round", &version.round.into());
    set(&entry, "rev", &version.rev.into());
    set(&entry, "text", &claim.text.as_str().into());
    store.put(&entry).map(drop)
}

fn set_aside(store: &Store, slot: &Slot, rows: &[Row]) -> Result<(), JsValue> {
    for row in rows {
        if standing(&row.text) == Standing::Unreadable {
            store.delete(&pair(slot.hash(), &get(&row.entry, "generation")))?;
            set(&row.entry, "slot", &(String::from(QUARANTINE) + slot.hash()).into());
            store.put(&row.entry)?;
        }
    }
    Ok(())
}

fn begin(database: &Database, mode: &str, durability: &str) -> Result<(Transaction, Store), JsValue> {
    let options = object();
    set(&options, "durability", &durability.into());
    let transaction = database.transaction(STORE, mode, &options)?;
    let store = transaction.store(STORE)?;
    Ok((transaction, store))
}

/// Every numeric generation of the slot: nothing of ours has another.
fn range_of(slot: &Slot) -> JsValue {
    let end = |generation: f64| pair(slot.hash(), &generation.into());
    bound(&end(f64::NEG_INFINITY), &end(f64::INFINITY))
}

fn on_rows(request: &JsValue, done: Box<dyn FnOnce(Option<Vec<Row>>)>) {
    let ended = once({
        let request = request.clone();
        move |_| {
            let result = get(&request, "result");
            done((!result.is_falsy()).then(|| rows_of(&result)));
        }
    });
    set(request, "onsuccess", &ended);
    set(request, "onerror", &ended);
}

fn rows_of(entries: &JsValue) -> Vec<Row> {
    let mut rows = Vec::new();
    for entry in items(entries) {
        let slot = text(&entry, "slot").unwrap_or_default();
        let text = text(&entry, "text").unwrap_or_default();
        rows.push(Row { entry, slot, text });
    }
    rows
}

fn on_end(transaction: &Transaction, done: impl FnOnce(Result<(), StoreFault>) + 'static) {
    let ended = once({
        let transaction = JsValue::from(transaction);
        move |event| {
            done(if get(&event, "type") == *"complete" {
                Ok(())
            } else if is_named(&get(&transaction, "error"), "QuotaExceededError") {
                Err(StoreFault::Quota)
            } else {
                Err(StoreFault::Unavailable)
            });
        }
    });
    set(transaction, "oncomplete", &ended);
    set(transaction, "onabort", &ended);
}
