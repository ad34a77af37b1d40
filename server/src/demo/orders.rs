//! The shop's two operations. An order is `sku`, `quantity` and perhaps a `note`; it costs the same whatever it is.
//!
//! Some products answer in a way of their own, for tests and the fault lab:
//!
//! | sku | answer |
//! | --- | --- |
//! | `SOLD-OUT` | 409 of the shop, stored |
//! | `DECLINED` | 402 of the shop, stored |
//! | `NOT-APPLIED` | the effect fails and says that nothing happened: the key is given back |
//! | `PANIC` | the effect panics after it wrote its row |
//! | `DOUBT` | the effect cannot tell: the record becomes `uncertain` |
//! | `BROKEN` | the effect answers 500, which is never stored |
//! | `HUGE` | an answer larger than what is kept for replays |
//!
//! `captcha=wrong` is a one-time token that is refused. `cart=…` names an object that only one key may order (R103).

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use postonce_core::contract::Policy;
use serde_json::{Value, json};

use super::inject::EffectDelay;
use super::tables::{self, NewOrder};
use crate::operation::{Answer, Authenticated, Command, EffectError, Operation, Outcome, TokenRefused};
use crate::payload::Payload;
use crate::run::STORED_BODY_MAX;
use crate::store::{AnyStore, AnyTx, RecordId};

/// What one piece costs, in cents.
const PRICE_CENTS: i64 = 1_990;
/// Most pieces of one order.
const QUANTITY_MAX: i64 = 99;

/// What an operation makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Order,
    Draft,
    /// A file or a note beside a cart that the path names.
    Attachment,
}

impl Kind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Order => "ord",
            Self::Draft => "drf",
            Self::Attachment => "att",
        }
    }
}

/// One operation of the shop.
#[derive(Debug)]
pub(crate) struct Shop {
    name: &'static str,
    kind: Kind,
    policy: Policy,
    volatile: [String; 1],
}

impl Shop {
    pub(crate) fn new(name: &'static str, kind: Kind, policy: Policy) -> Self {
        Self { name, kind, policy, volatile: [String::from("captcha")] }
    }
}

#[async_trait]
impl Operation<AnyStore> for Shop {
    fn name(&self) -> &str {
        self.name
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn volatile(&self) -> &[String] {
        &self.volatile
    }

    fn result_id(&self) -> &str {
        "/id"
    }

    fn accepts_bare_keys(&self) -> bool {
        match self.kind {
            Kind::Order | Kind::Attachment => false,
            Kind::Draft => true,
        }
    }

    fn object(&self, payload: &Payload) -> Option<String> {
        payload.text("cart").filter(|cart| !cart.is_empty()).map(str::to_owned)
    }

    fn admit(&self, _who: &Authenticated, payload: &Payload) -> Result<(), Answer> {
        let required: &[&str] = match self.kind {
            Kind::Order | Kind::Draft => &["sku", "quantity"],
            Kind::Attachment => &[],
        };
        for field in required {
            if payload.text(field).is_none_or(str::is_empty) {
                let title = format!("{field} is missing");
                return Err(Answer::problem(422, "urn:shop:field-missing", &title));
            }
        }
        Ok(())
    }

    async fn check_once(&self, command: &Command) -> Result<(), TokenRefused> {
        if let Some(EffectDelay(pause)) = command.extensions.get() {
            tokio::time::sleep(*pause).await;
        }
        match command.payload.text("captcha") {
            Some("wrong") => Err(TokenRefused { field: String::from("captcha") }),
            Some(_) | None => Ok(()),
        }
    }

    async fn execute(&self, tx: &mut AnyTx, _record: RecordId, command: &Command) -> Result<Outcome, EffectError> {
        let sku = command.payload.text("sku").unwrap_or_default();
        let quantity = match self.kind {
            Kind::Order | Kind::Draft => command.payload.text("quantity"),
            Kind::Attachment => Some("1"),
        };
        let quantity = quantity.and_then(|text| text.trim().parse::<i64>().ok());
        let Some(quantity) = quantity.filter(|quantity| (1..=QUANTITY_MAX).contains(quantity)) else {
            return Ok(refusal(422, "quantity", "The quantity must be between 1 and 99"));
        };
        match sku {
            "SOLD-OUT" => return Ok(refusal(409, "sold-out", "This product is sold out")),
            "DECLINED" => return Ok(refusal(402, "declined", "The card was declined")),
            _ => {}
        }
        let total = PRICE_CENTS * quantity;
        let new = NewOrder {
            operation: self.name,
            key: command.key.as_str(),
            subject: &command.who.subject,
            sku,
            quantity,
            note: command.payload.text("note"),
            total,
        };
        let placed = tables::place(tx, &new).await?;
        let id = format!("{}_{placed}", self.kind.prefix());
        let mut order = json!({ "id": id, "sku": sku, "quantity": quantity, "total": total });
        match sku {
            "NOT-APPLIED" => return Err(EffectError::NotApplied(String::from("asked for"))),
            "DOUBT" => return Err(EffectError::Unknown(String::from("asked for"))),
            "BROKEN" => return Ok(Outcome::Applied(Answer::problem(500, "about:blank", "Broken"))),
            "PANIC" => std::panic::resume_unwind(Box::new("asked for")),
            "HUGE" => {
                if let Some(members) = order.as_object_mut() {
                    members.insert(String::from("padding"), Value::from("x".repeat(STORED_BODY_MAX)));
                }
            }
            _ => {}
        }
        Ok(Outcome::Applied(Answer::json(201, &order).at(format!("/orders/{id}"))))
    }
}

fn refusal(status: u16, name: &str, title: &str) -> Outcome {
    Outcome::Refused(Answer::problem(status, &format!("urn:shop:{name}"), title))
}

/// `GET /orders/{id}`, and the page a login wall leads to.
pub(super) fn pages(store: Arc<AnyStore>) -> Router {
    Router::new()
        .route("/orders/{id}", get(show))
        .route("/login", get(|| async { Html(super::LOGIN_PAGE) }))
        .with_state(store)
}

async fn show(State(store): State<Arc<AnyStore>>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let number = id.split_once('_').and_then(|(_, number)| number.parse::<i64>().ok());
    let Ok(found) = tables::read(&store, &tables::ORDERS, Some(number.or(Some(0)))).await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let order = found
        .first()
        .map(|row| json!({ "id": id, "sku": row["sku"], "quantity": row["quantity"], "total": row["total"] }));
    let Some(order) = order else { return StatusCode::NOT_FOUND.into_response() };
    let wants_page =
        headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).is_some_and(|accept| accept.contains("text/html"));
    let body = order.to_string();
    let no_store = [(CACHE_CONTROL, "no-store")];
    if wants_page {
        let text = body.replace('&', "&amp;").replace('<', "&lt;");
        let page = format!(
            "<!doctype html><html lang=\"en\"><title>Your order</title><h1>Your order</h1><pre id=\"order\">{text}</pre></html>"
        );
        (no_store, Html(page)).into_response()
    } else {
        (no_store, [(axum::http::header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}
