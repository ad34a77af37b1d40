// Small builders for elements; all text goes in as text, never as markup.

type Attributes = Readonly<Record<string, string | number | boolean | null>>;
type Child = Node | string;

const SVG = "http://www.w3.org/2000/svg";

/** The element that the page is known to contain. */
export function byId<T extends Element = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no element with the id ${id}`);
  return found as unknown as T;
}

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, name);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

/** Writes only a text that differs, so that a live region speaks only when there is something new. */
export function setText(target: Element, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

export function setAttributes(target: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) target.removeAttribute(name);
    else target.setAttribute(name, value === true ? "" : String(value));
  }
}
