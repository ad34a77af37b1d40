// What every Node shim sells: an order counts as one effect, and takes as long as a row in a near database.
const ROW_MS = 20;
const SLOW_MS = 600;

let count = 0;

/** How many effects there were. */
export const effects = () => count;

/**
 * Carries out one command.
 * @param {"ord" | "drf"} kind
 * @param {{ sku?: string, quantity?: number }} payload
 */
export async function place(kind, { sku, quantity }) {
  if (!sku || !quantity) return { status: 422, body: { error: "sku and quantity are needed" } };
  if (sku === "DECLINED") return { status: 402, body: { error: "declined" } };
  await new Promise((settle) => setTimeout(settle, sku === "SLOW" ? SLOW_MS : ROW_MS));
  count += 1;
  // After its row, as a failing mail or a failing next step would.
  if (sku === "BROKEN") throw new Error("broken after the effect");
  return { status: 201, body: { id: `${kind}_${count}`, sku, quantity } };
}

/** Listens on any free port and says where, as the runner expects it. */
export function listen(app) {
  const server = app.listen(0, "127.0.0.1", () => {
    console.log(`listening on http://127.0.0.1:${server.address().port}`);
  });
}
