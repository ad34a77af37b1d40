export class PostonceError extends Error {
  readonly code: string;
  readonly field: string | null;
  readonly rule: string | null;
  readonly remedy: string;
  constructor(code: string, field?: string, rule?: string, remedy = "") {
    super(`postonce: ${code} ${field ?? ""}`);
    this.code = code;
    this.field = field ?? null;
    this.rule = rule ?? null;
    this.remedy = remedy;
  }
}
export class OptionError extends PostonceError {
  constructor(field: string, rule: string, item?: string) {
    super("invalid_option", field, rule, item);
  }
}
export class MisuseError extends PostonceError {}
export class ModuleError extends PostonceError {
  constructor(cause: unknown) {
    super("module_unavailable");
    this.cause = cause;
  }
}
