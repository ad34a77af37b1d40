//! Members of JavaScript objects by name. Every typed accessor would be an import of its own, which is three times the
//! bytes of a name; so only calls are declared by type.

use wasm_bindgen::JsCast as _;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    type Object;
    #[wasm_bindgen(constructor)]
    fn new() -> Object;
    #[wasm_bindgen(method, indexing_getter, catch)]
    fn get(this: &Object, name: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, indexing_getter, catch)]
    fn at(this: &Object, index: u32) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, indexing_setter, catch)]
    fn set(this: &Object, name: &str, value: &JsValue) -> Result<(), JsValue>;

    #[wasm_bindgen(method, js_name = call)]
    fn call(this: &Object, receiver: &JsValue, argument: &JsValue);
}

/// `{}`.
pub(crate) fn object() -> JsValue {
    Object::new().into()
}

/// The member's value; `undefined` when there is none, its getter throws, or `of` is no object.
pub(crate) fn get(of: &JsValue, name: &str) -> JsValue {
    of.unchecked_ref::<Object>().get(name).unwrap_or_default()
}

/// Its text; `None` when it is none.
pub(crate) fn text(of: &JsValue, name: &str) -> Option<String> {
    get(of, name).as_string()
}

/// Calls a function.
pub(crate) fn call(function: &JsValue, argument: &JsValue) {
    function.unchecked_ref::<Object>().call(&JsValue::NULL, argument);
}

/// Sets the member. A host object that refuses is left as it is.
pub(crate) fn set(of: &JsValue, name: &str, value: &JsValue) {
    let _ = of.unchecked_ref::<Object>().set(name, value);
}

/// Sets a text.
pub(crate) fn set_text(of: &JsValue, name: &str, value: &str) {
    set(of, name, &value.into());
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = Array, js_name = from, catch)]
    fn array_from(of: &JsValue) -> Result<JsValue, JsValue>;
}

/// The items of anything that can be iterated.
pub(crate) fn items(of: &JsValue) -> Vec<JsValue> {
    let all = array_from(of).unwrap_or_default();
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let item = all.unchecked_ref::<Object>().at(at).unwrap_or_default();
        if item.is_undefined() {
            return found;
        }
        found.push(item);
        at += 1;
    }
}
