/** Errors name the field or rule concerned and what to do; `code` is stable, the wording is not. */

/** What to do, by code or by rule. */
const REMEDIES: Readonly<Record<string, string>> = {
  open_unknown: "Check or fence the open intent first, or let the person choose leaveOpen.",
  not_now: "Look at snapshot.may for what this state allows.",
  not_offered: "Declare status and contract in the operation.",
  too_soon: "Wait until snapshot.notBefore.",
  too_old: "The server may have forgotten the key: check instead of sending again.",
  other_fields: "Restore the fields that were sent, or begin a new intent.",
  no_such: "Use a reference listed in snapshot.open.",
  not_an_operation: "Pass what defineOperation returned.",
  subject_missing: "Pass subject: an opaque tag of the person, or declare the operation anonymous.",
  object_missing: 'Pass object: what this is done to, or declare object: "singleton".',
  form_not_found: "Pass a form element, or a selector that finds one.",
  invalid_payload: "Use finite numbers up to 2^53-1 and well-formed text.",
  file_unsupported: "Leave files out of this form; they are not supported yet.",
  no_secure_random: "Use a browser with crypto.getRandomValues.",
  unknown_outcome: "Use applied, not_applied or left_open.",
  module_unavailable:
    "Serve postonce_bg.wasm beside the script, or say where with configure(), and allow wasm-unsafe-eval.",
  "unknown-option": "Use the documented options, in their exact spelling.",
  "wrong-type": "Give a value of the documented type.",
  missing: "Give a text that is not empty.",
  "over-limit": "Shorten it.",
  "malformed-name": "Use letters, digits, dots, dashes and underscores.",
  "unknown-value": "Use one of the documented words.",
  "safe-method-with-effect": "Use POST for anything that changes something.",
  "relative-url-without-base": "Give an absolute URL, or define the operation in a document.",
  "unsupported-scheme": "Use http or https.",
  "malformed-url": "Encode blanks and backslashes, and name a host after the two slashes.",
  "url-with-credentials": "Take the user name and password out of the URL.",
  "out-of-range": "Give a finite number within the documented limits.",
  "not-an-integer": "Give a whole number.",
  "cap-above-budget": "Lower attemptCap or raise budget.",
  "significant-and-volatile": "List the field once.",
  "volatile-name": "Take the field out here, or out of volatile.",
  "sensitive-remember": "Take the field out: secrets and card data are never stored on the device.",
  "reserved-name": "Rename the field or header; this prefix belongs to the contract.",
  "malformed-pointer": "Write a JSON Pointer, for example /id.",
  "status-url-missing": "Give status: { url }, or choose manual.",
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

  constructor(code: string, field?: string | null, rule?: string | null, item?: string) {
    const remedy = REMEDIES[rule ?? code] ?? "";
    const about = [field, item && `(${item})`, rule ?? code].filter(Boolean).join(" ");
    super(`postonce: ${about}. ${remedy}`);
    this.code = code;
    this.field = field || null;
    this.rule = rule ?? null;
    this.remedy = remedy;
  }
}

/** An option that breaks a rule, found when the operation is defined or bound. */
export class OptionError extends PostonceError {
  override readonly name = "OptionError";
  /** The form field or word concerned, where the option holds several. */
  readonly item: string | null;

  constructor(field: string, rule: string, item?: string) {
    super("invalid_option", field, rule, item);
    this.item = item ?? null;
  }
}

/** A call that makes no sense here; nothing changed. */
export class MisuseError extends PostonceError {
  override readonly name = "MisuseError";
}

/** The module could not be loaded; nothing was sent (R80). */
export class ModuleError extends PostonceError {
  override readonly name = "ModuleError";

  constructor(cause: unknown) {
    super("module_unavailable");
    this.cause = cause;
  }
}
