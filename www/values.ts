// The fields of an order, as a person would name them.

type Values = Readonly<Record<string, string | readonly string[]>>;

const LABELS: Readonly<Record<string, string>> = { sku: "Product", quantity: "Quantity", note: "Note" };

export function labelOf(field: string): string {
  return LABELS[field] ?? field;
}

export function shownValue(values: Values, field: string): string | null {
  const value = values[field];
  if (value === undefined) return null;
  const joined = typeof value === "string" ? value : value.join(", ");
  return field === "sku" ? productName(joined) : joined;
}

/** `2 × Field notebook`; empty where nothing is remembered. */
export function describeValues(values: Values): string {
  const product = shownValue(values, "sku");
  const quantity = shownValue(values, "quantity");
  if (product === null) return "";
  return quantity === null ? product : `${quantity} × ${product}`;
}

export function productName(sku: string): string {
  const options = document.querySelectorAll<HTMLOptionElement>("#sku option");
  return [...options].find((option) => option.value === sku)?.dataset.name ?? sku;
}
