// What the page's address says. The cart is kept there, so that a reload and a second tab mean the same order.

const BUDGET_MS_DEFAULT = 8_000;
const BUDGET_MS_MIN = 500;
const BUDGET_MS_MAX = 60_000;
const CART_DEFAULT = "cart-1";

export interface Address {
  readonly cart: string;
  /** Milliseconds over all attempts. */
  readonly budget: number;
  /** The scenario that was set up before this page was loaded. */
  readonly scenario: string | null;
}

export function readAddress(search: string): Address {
  const query = new URLSearchParams(search);
  const budget = Number(query.get("budget"));
  const valid = Number.isInteger(budget) && budget >= BUDGET_MS_MIN && budget <= BUDGET_MS_MAX;
  return {
    cart: query.get("cart") || CART_DEFAULT,
    budget: valid ? budget : BUDGET_MS_DEFAULT,
    scenario: query.get("scenario"),
  };
}

export function addressOf({ cart, budget, scenario }: Address): string {
  const query = new URLSearchParams({ cart, budget: String(budget) });
  if (scenario) query.set("scenario", scenario);
  return `?${query}`;
}

/** A cart that no earlier order used. */
export function freshCart(): string {
  const random = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  return `cart-${random.toString(36)}`;
}
