/** Errors name the field or rule concerned and what to do; `code` is stable, the wording is not. */

/** What to do, by code or by rule; where that depends on the option, the check says it itself. */
const REMEDIES: Readonly<Record<string, string>> = {
  open_unknown: "Check or fence the open intent first, or leaveOpen.",
  not_now: "See snapshot.may.",
  not_offered: "Declare status and contract.",
  too_soon: "Wait until snapshot.notBefore.",
  too_old: "Check: the server may have forgotten the key.",
  not_volatile: "List the field under volatile.",
  other_fields: "Restore the fields that were sent, or beginNew.",
  no_such: "Take a reference from snapshot.open.",
  not_an_operation: "Pass what defineOperation returned.",
  subject_missing: "Pass subject, a tag of the person, or declare anonymous.",
  object_missing: 'Pass object, or declare object: "singleton".',
  form_not_found: "Pass a form or its selector.",
  invalid_payload: "Use finite numbers up to 2^53-1 and well-formed text.",
  unsupported_headers: "Return a plain object, not Headers or a promise.",
  unbound: "Bind the form again.",
  file_unsupported: "Submit files in a form.",
  file_unreadable: "Choose the file again: nothing was sent.",
  no_secure_random: "Use a browser with crypto.getRandomValues.",
  unknown_outcome: "Use applied, not_applied or left_open.",
  module_unavailable: "Serve postonce_bg.wasm beside the script or configure() it, and allow wasm-unsafe-eval.",
  module_trapped: "Reload the page: it looks what became of it.",
  missing: "Pass a text that is not empty.",
  "malformed-name": "Use letters, digits, dots, dashes and underscores.",
  "safe-method-with-effect": "Use POST.",
  "relative-url-without-base": "Pass an absolute URL.",
  "unsupported-scheme": "Use http or https.",
  "malformed-url": "Name a host after //, and encode blanks and backslashes.",
  "url-with-credentials": "Leave user and password out.",
  "not-an-integer": "Use a whole number.",
  "cap-above-budget": "Lower it or raise budget.",
  "significant-and-volatile": "Leave it out of one.",
  "volatile-name": "Leave it out here or of volatile.",
  "sensitive-remember": "Leave it out: no secrets or card data on the device.",
  "reserved-name": "Rename it: the prefix is reserved.",
  "malformed-pointer": "Use a JSON Pointer like /id.",
  "status-url-missing": "Pass status: { url }, or use manual.",
};

/** Any error of the library. */
export class PostonceError extends Error {
  override readonly name: string = "PostonceError";
  /** Stable name of what went wrong. */
  readonly code: string;
  /** The option, field or place concerned. */
  readonly field: string | null;
  /** The rule that an option breaks. */
  readonly rule: string | null;
  /** What to do about it. */
  readonly remedy: string;

  constructor(code: string, field?: string | null, rule?: string | null, item?: string | null, remedy?: string) {
    const what = rule ?? code;
    const advice = remedy ?? REMEDIES[what] ?? "";
    super(`postonce: ${field ? `${field}${item ? ` (${item})` : ""}: ` : ""}${what}. ${advice}`);
    this.code = code;
    this.field = field || null;
    this.rule = rule ?? null;
    this.remedy = advice;
  }
}

/** An option that breaks a rule, found when the operation is defined or bound. */
export class OptionError extends PostonceError {
  override readonly name = "OptionError";
  /** The form field or word concerned, where the option holds several. */
  readonly item: string | null;

  constructor(field: string, rule: string, item: string | null = null, remedy?: string) {
    super("invalid_option", field, rule, item, remedy);
    this.item = item;
  }
}

/** A call that makes no sense here; nothing changed. */
export class MisuseError extends PostonceError {
  override readonly name = "MisuseError";
}

/**
 * The module could not be loaded, and nothing was sent; or it trapped (`module_trapped`), and what was under way is `unknown`
 * (R80).
 */
export class ModuleError extends PostonceError {
  override readonly name = "ModuleError";

  constructor(cause: unknown) {
    super(cause instanceof WebAssembly.RuntimeError ? "module_trapped" : "module_unavailable");
    this.cause = cause;
  }
}
