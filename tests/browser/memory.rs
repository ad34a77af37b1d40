//! The module's memory over many wishes: what is freed is used again.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::panic, reason = "the lint knows `#[test]` only")]

use core::arch::wasm32::memory_size;

use postonce as _;
use postonce_core::fingerprint::{Field, Target, canonical_pairs};
use postonce_core::json;
use postonce_core::machine::effect::{Effect, Effects};
use postonce_core::machine::event::{Durability, Entropy, Event, Wish};
use postonce_core::machine::{Machine, Setting};
use postonce_core::operation::Operation;
use postonce_core::structured::string_item;
use postonce_core::time::{Mono, Now, Wall};
use postonce_core::verdict::{Answer, Body};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

const WISHES: u32 = 3_000;
/// Long enough for every size of block to have been asked for.
const SETTLED: u32 = 100;

fn wish(of: u32) -> Wish {
    let value = "x".repeat(1 + of as usize % 700);
    let pairs = [("sku".into(), Field::Text(value.clone())), ("quantity".into(), Field::Text("2".into()))];
    let target = Target { operation: "order.create", method: "POST", path: &[], query: &[] };
    let Ok(canonical) = canonical_pairs(&target, &pairs, &[]) else { panic!("a form has canonical bytes") };
    Wish { canonical, remembered: vec![("sku".into(), value)], expected: vec![] }
}

/// Performs the effects of a store that takes everything and a server that answers at once.
fn run(machine: &mut Machine, now: Now, effects: Effects) {
    for effect in effects {
        let report = if let Effect::Persist { ticket, .. } = effect {
            Event::Persisted(ticket, Durability::Durable)
        } else if let Effect::Send { headers, attempt, .. } = effect {
            let answer = Answer {
                status: 201,
                content_type: Some("application/json".into()),
                key_echo: string_item(headers.key.as_str()),
                replayed: Some("false".into()),
                body: Body::Text(r#"{"id":"ord_1"}"#.into()),
                ..Answer::default()
            };
            Event::Answered { attempt, answer }
        } else if let Effect::Drive = effect {
            Event::DriveGranted
        } else {
            continue;
        };
        let more = machine.step(now, report);
        run(machine, now, more);
    }
}

#[wasm_bindgen_test]
fn given_thousands_of_wishes_then_the_memory_never_grows_after_the_first_hundred() {
    let options = json::parse(r#"{"name":"order.create","url":"/orders","status":{"url":"/orders/status"}}"#);
    let Ok(options) = options else { panic!("valid JSON") };
    let mut machine = Machine::new(Operation::from_checked(&options), Setting { online: true, ..Setting::default() });
    let at = |of: u32| Now { mono: Mono(u64::from(of) * 1_000), wall: Wall(1_800_000_000_000 + u64::from(of) * 1_000) };
    let loaded = machine.step(at(0), Event::Loaded { database: None, local: None });
    run(&mut machine, at(0), loaded);
    let mut pages = 0;
    for of in 1..=WISHES {
        let entropy = |salt: u8| {
            let [a, b, c, d] = of.to_be_bytes();
            let mut bytes = [salt; 16];
            bytes[..4].copy_from_slice(&[a, b, c, d]);
            Entropy(bytes)
        };
        let effects = machine.step(at(of), Event::Submit(wish(of), entropy(1)));
        run(&mut machine, at(of), effects);
        assert_eq!(machine.state().name(), "succeeded");
        let effects = machine.step(at(of), Event::BeginNew { leave_open: false, entropy: entropy(2) });
        run(&mut machine, at(of), effects);
        if of == SETTLED {
            pages = memory_size(0);
        }
    }
    assert!(pages > 0);
    assert_eq!(memory_size(0), pages, "pages of 64 KiB after {WISHES} wishes");
}
