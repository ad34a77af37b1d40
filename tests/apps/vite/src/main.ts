import { bindForm, defineOperation, type Snapshot } from "postonce";

const placeOrder = defineOperation({
  name: "order.create",
  url: "/orders",
  effect: "once",
  object: "required",
  significant: ["sku", "quantity"],
  status: { url: "/orders/status" },
});

const form = bindForm("#order", placeOrder, { subject: "demo-user", object: "cart-1" });
form.subscribe((snapshot: Snapshot) => {
  document.documentElement.dataset.state = snapshot.state;
});
