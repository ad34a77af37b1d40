//! Static files of the demo page.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::payload::urlencoded_pairs;

/// No inline script, no other host; WebAssembly may be compiled.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'";

/// Everything no other route took is a file below `www`.
pub(super) fn routes(www: PathBuf) -> Router {
    Router::new().fallback(serve).with_state(Arc::new(www))
}

async fn serve(State(www): State<Arc<PathBuf>>, request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let Some(path) = below(&www, request.uri().path()) else { return StatusCode::NOT_FOUND.into_response() };
    let path = match tokio::fs::metadata(&path).await {
        Ok(found) if found.is_dir() => path.join("index.html"),
        Ok(_) => path,
        Err(_) => return StatusCode::NOT_FOUND.into_response(),
    };
    match tokio::fs::read(&path).await {
        Ok(bytes) => (
            [
                (CONTENT_TYPE, media_type(&path)),
                (CACHE_CONTROL, "no-store"),
                (X_CONTENT_TYPE_OPTIONS, "nosniff"),
                (CONTENT_SECURITY_POLICY, POLICY),
            ],
            bytes,
        )
            .into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The file a request path names; `None` for one that would leave the folder.
fn below(www: &Path, request_path: &str) -> Option<PathBuf> {
    // A literal plus is a plus in a path; only `%XX` is decoded here.
    let literal = request_path.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    let decoded = match urlencoded_pairs(literal.as_bytes()).ok()?.as_slice() {
        [] => String::new(),
        [(name, _)] => name.clone(),
        [_, _, ..] => return None,
    };
    let relative = Path::new(decoded.trim_start_matches('/'));
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    (plain && !decoded.contains('\0')).then(|| www.join(relative))
}

fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("json" | "map") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        Some("woff2") => "font/woff2",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_a_path_that_climbs_then_it_never_leaves_the_folder() {
        let www = Path::new("www");
        for path in ["/../secret", "/a/../../secret", "/%2e%2e/secret", "/a/%2e%2e%2f%2e%2e/secret", "/\0", "/%00"] {
            assert_eq!(below(www, path), None, "{path}");
        }
        assert_eq!(below(www, "/"), Some(PathBuf::from("www/")));
        assert_eq!(below(www, "/a/b%20c+d.js"), Some(PathBuf::from("www/a/b c+d.js")));
    }
}
