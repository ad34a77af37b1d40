//! Locks and hints against a real browser.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::panic, reason = "the lint knows `#[test]` only")]

mod eventually;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use eventually::{called_back, eventually};
use postonce::journal::Journal;
use postonce::tabs::{Coordination, Drive, Hold, Tabs};
use wasm_bindgen::prelude::*;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen(inline_js = r#"
export const sleep = (ms, done) => setTimeout(done, ms);
export function replace_locks(how) {
  const refused = { request: () => Promise.reject(new DOMException("opaque", "SecurityError")) };
  Object.defineProperty(navigator, "locks", { configurable: true, value: how === "absent" ? undefined : refused });
}
export const restore_locks = () => delete navigator.locks;
export const storage_event = (key) => dispatchEvent(new StorageEvent("storage", { key }));
export function post(value) { const channel = new BroadcastChannel("postonce"); channel.postMessage(value); channel.close(); }
"#)]
extern "C" {
    fn sleep(ms: u32, done: &JsValue);
    fn replace_locks(how: &str);
    fn restore_locks();
    fn storage_event(key: Option<String>);
    fn post(value: &JsValue);
}

/// Long enough for anything that is going to happen.
const SETTLE_MS: u32 = 100;

enum Waited {
    Granted(Hold),
    TimedOut,
}

async fn settle() {
    called_back(|done| sleep(SETTLE_MS, done)).await;
}

async fn lock(tabs: &Tabs, name: &str, wait_ms: u32) -> Waited {
    eventually(|done: Box<dyn FnOnce(Waited)>| {
        let done = Rc::new(Cell::new(Some(done)));
        let late = Rc::clone(&done);
        let work = move |hold| done.take().expect("ran once")(Waited::Granted(hold));
        let timed_out = move || late.take().expect("ran once")(Waited::TimedOut);
        tabs.under_slot_lock(name, wait_ms, work, timed_out);
    })
    .await
}

async fn held(tabs: &Tabs, name: &str) -> Hold {
    match lock(tabs, name, 1_000).await {
        Waited::Granted(hold) => hold,
        Waited::TimedOut => panic!("the lock was free"),
    }
}

async fn drive(tabs: &Tabs, name: &str) -> Drive {
    let turn = Rc::new(Cell::new(None));
    let kept = Rc::clone(&turn);
    let drive = eventually(move |done| {
        let done = Cell::new(Some(done));
        kept.set(Some(tabs.drive(name, move |drive| {
            if let Some(done) = done.take() {
                done(drive);
            }
        })));
    })
    .await;
    // Nobody waits for a turn any longer.
    drop(turn.take());
    drive
}

#[wasm_bindgen_test]
async fn r70_given_a_driver_that_is_gone_then_the_next_in_turn_drives_and_one_that_gave_up_never_does() {
    let (one, other, third) = (Tabs::new(), Tabs::new(), Tabs::new());
    let Drive::Granted(hold) = drive(&one, "postonce:drive:turn").await else { panic!("nobody else drives") };
    let reports = Rc::new(RefCell::new(Vec::new()));
    let note = |who: &'static str| {
        let reports = Rc::clone(&reports);
        move |drive: Drive| reports.borrow_mut().push((who, drive))
    };
    let gone = other.drive("postonce:drive:turn", note("other"));
    let turn = third.drive("postonce:drive:turn", note("third"));
    settle().await;
    drop(gone);
    drop(hold);
    settle().await;
    let granted: Vec<_> =
        reports.borrow().iter().filter(|(_, it)| matches!(it, Drive::Granted(_))).map(|(who, _)| *who).collect();
    assert_eq!(granted, ["third"]);
    drop(turn);
}

#[wasm_bindgen_test]
async fn r67_given_two_works_then_the_slot_lock_never_lets_them_overlap() {
    let (one, other) = (Tabs::new(), Tabs::new());
    let hold = held(&one, "postonce:serial").await;
    let ran = Rc::new(Cell::new(false));
    let seen = Rc::clone(&ran);
    other.under_slot_lock("postonce:serial", 5_000, move |_hold| seen.set(true), || panic!("timed out"));
    settle().await;
    assert!(!ran.get(), "never while another holds it");
    drop(hold);
    settle().await;
    assert!(ran.get());
}

#[wasm_bindgen_test]
async fn r69_given_a_lock_that_stays_held_then_the_wait_ends_and_nothing_is_stolen() {
    let (one, other) = (Tabs::new(), Tabs::new());
    let hold = held(&one, "postonce:kept").await;
    assert!(matches!(lock(&other, "postonce:kept", 50).await, Waited::TimedOut));
    assert!(matches!(drive(&other, "postonce:kept").await, Drive::Busy), "the first still holds it");
    drop(hold);
    settle().await;
    assert!(matches!(lock(&other, "postonce:kept", 50).await, Waited::Granted(_)));
}

#[wasm_bindgen_test]
async fn r69_given_a_granted_lock_then_the_end_of_the_wait_never_takes_it_away() {
    let tabs = Tabs::new();
    let Waited::Granted(hold) = lock(&tabs, "postonce:granted", 30).await else { panic!("the lock was free") };
    settle().await;
    assert!(matches!(drive(&Tabs::new(), "postonce:granted").await, Drive::Busy));
    drop(hold);
}

#[wasm_bindgen_test]
async fn r70_given_a_driver_then_no_other_drives_until_it_gives_up() {
    let (one, other) = (Tabs::new(), Tabs::new());
    let Drive::Granted(hold) = drive(&one, "postonce:drive:a").await else { panic!("nobody else drives") };
    assert!(matches!(drive(&other, "postonce:drive:a").await, Drive::Busy), "never two drivers");
    drop(hold);
    settle().await;
    assert!(matches!(drive(&other, "postonce:drive:a").await, Drive::Granted(_)));
}

#[wasm_bindgen_test]
async fn r71_given_no_web_locks_then_work_runs_and_the_coordination_says_so() {
    for how in ["absent", "refused"] {
        replace_locks(how);
        let tabs = Tabs::new();
        let waited = lock(&tabs, "postonce:none", 1_000).await;
        let driven = drive(&tabs, "postonce:none").await;
        let journal = eventually(Journal::open).await;
        let coordination = tabs.coordination(&journal);
        restore_locks();
        assert!(matches!(waited, Waited::Granted(_)), "{how}: never left waiting");
        assert!(matches!(driven, Drive::Unsupported), "{how}");
        assert_eq!(coordination, Coordination::Database, "{how}: never silently uncoordinated");
    }
    let journal = eventually(Journal::open).await;
    assert_eq!(Tabs::new().coordination(&journal), Coordination::Locks);
}

#[wasm_bindgen_test]
async fn r72_given_messages_and_storage_events_then_only_names_of_slots_come_through() {
    let (one, other) = (Tabs::new(), Tabs::new());
    let heard: Rc<RefCell<Vec<String>>> = Rc::default();
    let ear = Rc::clone(&heard);
    other.on_hint(move |slot| ear.borrow_mut().push(slot.into()));
    for foreign in [JsValue::NULL, JsValue::UNDEFINED, 7.into(), "text".into()] {
        post(&foreign);
    }
    storage_event(Some("somebody-elses".into()));
    storage_event(Some("postonce:0123".into()));
    storage_event(None);
    one.hint("4567");
    settle().await;
    let mut heard = heard.borrow().clone();
    heard.sort();
    assert_eq!(heard, ["", "0123", "4567"]);
}
