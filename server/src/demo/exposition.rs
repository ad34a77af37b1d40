//! `GET /metrics`: what was counted, as Prometheus reads it.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};

use crate::metrics;
use crate::store::AnyStore;

/// The text format's own media type.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4";

/// Upper bounds of the reconcile histogram, in seconds.
const RECONCILE_BOUNDS: [f64; 6] = [0.01, 0.1, 1.0, 10.0, 60.0, 600.0];

/// This process's metrics. Clones show the same.
#[derive(Clone)]
pub struct Exposition(PrometheusHandle);

impl std::fmt::Debug for Exposition {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Exposition")
    }
}

impl Exposition {
    /// Records from now on what this process counts. Once in a process.
    ///
    /// # Errors
    /// [`BuildError`] when another recorder is there already.
    pub fn install() -> Result<Self, BuildError> {
        let builder = PrometheusBuilder::new().set_buckets(&RECONCILE_BOUNDS)?;
        builder.install_recorder().map(Self)
    }

    pub(super) fn routes(self, store: Arc<AnyStore>, operations: Vec<String>) -> Router {
        Router::new().route(
            "/metrics",
            get(move || {
                let (exposition, store, operations) = (self.clone(), Arc::clone(&store), operations.clone());
                async move { exposition.render(&store, &operations).await }
            }),
        )
    }

    /// The gauges are read from the store at each scrape, so that every process tells the same.
    async fn render(&self, store: &AnyStore, operations: &[String]) -> Response {
        for operation in operations {
            if metrics::watch(store, operation).await.is_err() {
                return (StatusCode::SERVICE_UNAVAILABLE, "the store is away\n").into_response();
            }
        }
        ([(CONTENT_TYPE, TEXT_FORMAT)], self.0.render()).into_response()
    }
}
