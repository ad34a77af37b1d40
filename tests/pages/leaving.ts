// An order page that goes on to the order's own page: from success to the new document passes a while in which people
// can still press the button. What each submit was answered travels along in the window's name.
import { bindForm, defineOperation } from "postonce";

const LEAVES_AFTER_MS = 400;

const placeOrder = defineOperation({
  name: "order.create",
  url: "/orders",
  effect: "once",
  contract: "postonce",
  significant: ["sku", "quantity"],
  resultId: "/id",
  status: { url: "/orders/status" },
});

const order = bindForm("#order", placeOrder, {
  subject: "demo-user",
  object: new URLSearchParams(location.search).get("cart") ?? "leaving",
});

const answers: { kind: string; state: string; result: unknown; at: number }[] = [];
let leaving = false;

function listen(): void {
  order.submitted().then(({ kind, snapshot }) => {
    answers.push({
      kind,
      state: snapshot.state,
      result: "result" in snapshot ? snapshot.result : null,
      at: Date.now(),
    });
    listen();
  });
}
listen();

order.subscribe((snapshot) => {
  // What a style sheet or a test may look at.
  document.documentElement.dataset.state = snapshot.state;
  if (snapshot.state !== "succeeded" || leaving) return;
  leaving = true;
  setTimeout(() => {
    window.name = JSON.stringify(answers);
    location.assign(`/orders/${snapshot.resultId}`);
  }, LEAVES_AFTER_MS);
});
