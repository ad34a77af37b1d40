//! What all slots of a page share: the stores, the other tabs, and the page's own coming and going.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use postonce_core::json::Writer;
use postonce_core::key::Key;
use postonce_core::machine::event::{Entropy, Event};
use postonce_core::record::{self, OpenEnding, owner_of};
use postonce_core::time::Wall;
use wasm_bindgen::prelude::*;

use crate::callback::repeated;
use crate::clock::now;
use crate::driver::{Driver, Inner, entropy};
use crate::journal::Journal;
use crate::member::{call, get};
use crate::tabs::Tabs;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = addEventListener)]
    fn listen(event: &str, act: &JsValue);
    #[wasm_bindgen(js_namespace = document, js_name = addEventListener)]
    fn listen_to_document(event: &str, act: &JsValue);
    // The object itself: an import of a value would come with a cell for it.
    #[wasm_bindgen(js_namespace = navigator, js_name = valueOf)]
    fn navigator() -> JsValue;
}

/// One for each module instance, and there is one instance in a page.
pub(crate) struct Page {
    pub(crate) journal: Journal,
    pub(crate) tabs: Tabs,
    /// The document is going, perhaps to come back: what its requests say now is its own end, not theirs (F12, R75).
    leaving: Cell<bool>,
    drivers: RefCell<Vec<Weak<Inner>>>,
    /// Who is there, as records say it; empty before the first bind.
    owner: RefCell<String>,
}

thread_local! {
    static PAGE: RefCell<Option<Rc<Page>>> = const { RefCell::new(None) };
}

/// The page, which begins to open its stores at the first call.
pub(crate) fn page() -> Rc<Page> {
    if let Some(page) = PAGE.with_borrow(Clone::clone) {
        return page;
    }
    let page = Rc::new(Page {
        journal: Journal::new(),
        tabs: Tabs::new(),
        leaving: Cell::new(false),
        drivers: RefCell::default(),
        owner: RefCell::default(),
    });
    page.listen();
    PAGE.set(Some(Rc::clone(&page)));
    page
}

/// `navigator.onLine`; unknown counts as online (R37).
pub(crate) fn is_online() -> bool {
    get(&navigator(), "onLine") != JsValue::FALSE
}

impl Page {
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.get()
    }

    pub(crate) fn add(&self, driver: &Driver) {
        self.drivers.borrow_mut().push(driver.downgrade());
    }

    // `dyn`: compiled once, and not for every listener.
    fn each(&self, act: &dyn Fn(&Driver)) {
        let mut at = 0;
        loop {
            // Not borrowed while it acts: it may lead to another driver.
            let next = self.drivers.borrow().get(at).cloned();
            let Some(next) = next else { return };
            if let Some(driver) = Driver::upgrade(&next) {
                act(&driver);
            }
            at += 1;
        }
    }

    fn listen(self: &Rc<Self>) {
        let page = Rc::clone(self);
        self.tabs.on_hint(move |hash| page.each(&|driver| driver.hinted(hash)));

        let page = Rc::clone(self);
        let hidden = repeated(move |_| {
            page.leaving.set(true);
            // A held lock would keep the page out of the back/forward cache; the lease in the record still stands (R70).
            page.each(&|driver| driver.release());
        });
        listen("pagehide", &hidden);

        let page = Rc::clone(self);
        let shown = repeated(move |event| {
            page.leaving.set(false);
            let returned = get(&event, "persisted").is_truthy();
            page.each(&|driver| {
                driver.hinted("");
                // Before a timer could begin another attempt (R63).
                driver.dispatch(if returned { Event::Returned } else { Event::Timer });
                driver.dispatch(Event::Shown);
            });
        });
        listen("pageshow", &shown);
        listen_to_document("visibilitychange", &shown);

        let page = Rc::clone(self);
        let online = repeated(move |_| page.each(&|driver| driver.dispatch(Event::Online(is_online()))));
        listen("online", &online);
        listen("offline", &online);
    }
}

/// That subject is there now: what wishes of anybody else remember goes (R93). Once in a page for whoever stays.
pub(crate) fn enter(subject: &str) {
    let owner = owner_of(subject);
    let page = page();
    if page.owner.replace(owner.clone()) == owner {
        return;
    }
    let journal = page.journal.clone();
    page.journal.records(move |records| {
        let writer = entropy().map_or(0, |Entropy([a, b, c, d, ..])| u32::from_le_bytes([a, b, c, d]));
        for (hash, text) in records {
            let Ok(mut record) = record::read(&text) else { continue };
            let before = record.version;
            if record.erase_unless(&owner, now().wall, writer) {
                journal.replace(&hash, &record.write(), record.version, before);
            }
        }
    });
}

/// Calls `done` with the JSON of every open intent on this device (R88: ids are hashed).
pub(crate) fn pending(done: JsValue) {
    page().journal.records(move |records| call(&done, &open_intents(&records).into()));
}

/// Reference and instant of each open intent among the stored records, as JSON.
fn open_intents(records: &[(String, String)]) -> String {
    let mut w = Writer::array();
    let mut put = |key: &Key, since: Wall| {
        w.item_begin_object();
        w.string("reference", &key.reference());
        w.number("since", since.0);
        w.end();
    };
    for (_, text) in records {
        let Ok(record) = record::read(text) else { continue };
        if let Some(current) = &record.current
            && current.is_open()
        {
            put(&current.key, current.round_started);
        }
        for open in &record.open {
            if open.ending == OpenEnding::Unknown {
                put(&open.key, open.left_at);
            }
        }
    }
    w.finish()
}
