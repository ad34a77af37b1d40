// What the form holds, against the order that it last sent or showed.

type Values = Readonly<Record<string, string | readonly string[]>>;

export class Draft {
  readonly #form: HTMLFormElement;
  #known: Values;

  constructor(form: HTMLFormElement) {
    this.#form = form;
    this.#known = fieldsOf(form);
  }

  /** The form differs from the order it belongs to. */
  get changed(): boolean {
    return JSON.stringify(fieldsOf(this.#form)) !== JSON.stringify(this.#known);
  }

  /** What the form holds now is the order. Returns the way back, should it turn out not to be. */
  adopt(): () => void {
    const before = this.#known;
    this.#known = fieldsOf(this.#form);
    return () => {
      this.#known = before;
    };
  }

  /** Puts the order's values back: those given, and what else this page knew of it. */
  restore(values: Values): void {
    for (const [field, value] of Object.entries({ ...this.#known, ...values })) {
      const control = this.#form.elements.namedItem(field);
      const text = typeof value === "string" ? value : (value[0] ?? "");
      if (control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement) control.value = text;
      else if (control instanceof HTMLSelectElement) control.value = text;
    }
    this.adopt();
  }
}

function fieldsOf(form: HTMLFormElement): Values {
  const fields: Record<string, string> = {};
  for (const [name, value] of new FormData(form)) {
    if (typeof value === "string" && !name.startsWith("_")) fields[name] = value;
  }
  return fields;
}
