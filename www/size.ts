// A form page with the package and nothing else: what an application downloads for it is measured here.
import { bindForm, defineOperation, type FormIntent } from "postonce";

declare global {
  var postonceDemo: { readonly form: FormIntent };
}

const placeOrder = defineOperation({
  name: "order.create",
  url: "/orders",
  contract: "postonce",
  effect: "once",
  budget: 2_000,
  attempts: 1,
  significant: ["sku", "quantity", "note"],
  status: { url: "/orders/status" },
  resultId: "/id",
});

const object = new URLSearchParams(location.search).get("cart") ?? "cart-1";
globalThis.postonceDemo = { form: bindForm("#order", placeOrder, { subject: "demo-user", object }) };
