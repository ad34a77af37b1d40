//! What a search starts from: the shared vectors, in the form that each target reads.

use serde_json::Value;

const FINGERPRINTS: &str = include_str!("../../tests/vectors/fingerprint.json");
const OPTIONS: &str = include_str!("../../tests/vectors/options.json");
const RECORDS: &str = include_str!("../../tests/vectors/records.json");
const STATUS: &str = include_str!("../../tests/vectors/status.json");
const VERDICTS: &str = include_str!("../../tests/vectors/verdicts.json");
const WAITS: &str = include_str!("../../tests/vectors/retry_after.json");

/// Inputs for the target of that name.
#[must_use]
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let texts: Vec<String> = match target {
        "json" | "fingerprint" => vectors(FINGERPRINTS).iter().filter_map(|vector| text(vector, "json")).collect(),
        "form" => vectors(FINGERPRINTS).iter().filter_map(form).collect(),
        "options" => vectors(OPTIONS).iter().map(|vector| vector["input"].to_string()).collect(),
        "record" => vectors(RECORDS).iter().map(record).collect(),
        "status" => vectors(STATUS).iter().map(|vector| answer(vector, "")).collect(),
        "verdict" => vectors(VERDICTS).iter().map(|vector| answer(vector, &words(vector))).collect(),
        "retry_after" => vectors(WAITS).iter().map(wait).collect(),
        "http_date" => vectors(WAITS).iter().map(|vector| [now(vector), said(vector, "value")].join("\n")).collect(),
        "structured" => structured(),
        _ => Vec::new(),
    };
    texts.into_iter().map(String::into_bytes).collect()
}

fn vectors(file: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(file).unwrap_or_default();
    file["vectors"].as_array().cloned().unwrap_or_default()
}

fn text(vector: &Value, name: &str) -> Option<String> {
    vector[name].as_str().map(str::to_owned)
}

fn said(vector: &Value, name: &str) -> String {
    text(vector, name).unwrap_or_default()
}

fn now(vector: &Value) -> String {
    vector["now"].to_string()
}

fn wait(vector: &Value) -> String {
    [now(vector), said(vector, "value"), said(vector, "date")].join("\n")
}

fn record(vector: &Value) -> String {
    let local = text(vector, "local").map(|local| ["\n---\n", &local].concat());
    [said(vector, "database"), local.unwrap_or_default()].concat()
}

fn form(vector: &Value) -> Option<String> {
    let pair = |pair: &Value| {
        let name = pair[0].as_str().unwrap_or_default();
        pair[1].as_str().map_or_else(
            || format!("@{name}={}", pair[1]["file"]["name"].as_str().unwrap_or_default()),
            |text| format!("{name}={text}"),
        )
    };
    let pairs: Vec<String> = vector["form"].as_array()?.iter().map(pair).collect();
    Some(pairs.join("\u{1e}"))
}

fn words(vector: &Value) -> String {
    let options = &vector["options"];
    let flags = [("empty", &options["confirm"]), ("final", &options["refusals"]), ("silent", &options["echo"])];
    let flags = flags.iter().filter(|(_, value)| !value.is_null()).map(|(word, _)| *word);
    flags.chain(vector["dialect"].as_str()).collect::<Vec<_>>().join(" ")
}

fn answer(vector: &Value, words: &str) -> String {
    let answer = &vector["answer"];
    let kind = match answer["kind"].as_str() {
        Some("opaque_redirect") => " opaque",
        Some("redirected") => " redirected",
        Some("redirected_as_declared") => " declared",
        _ => "",
    };
    let mut out = format!("{}{kind} {words}", answer["status"]);
    for (name, value) in answer["headers"].as_object().into_iter().flatten() {
        out.push_str(&format!("\n{name}: {}", value.as_str().unwrap_or_default()));
    }
    if let Some(body) = answer["body"].as_str() {
        out.push_str("\n\n");
        out.push_str(body);
    }
    out
}

fn structured() -> Vec<String> {
    let key = "0123456789abcdef0123456789abcdef";
    [
        format!("\"{key}\""),
        format!("\"{key}\";a=1;b=\"x\""),
        format!("\"{key}\", \"{key}\""),
        key.to_owned(),
        "@1769817600".to_owned(),
        "1769817600001".to_owned(),
        r#""a \"quoted\" \\ tag""#.to_owned(),
    ]
    .into()
}
