import type { OperationOptions } from "./types.js";
export function checkOptions(_options: OperationOptions): void {}
export function checkHeaders(_headers: Readonly<Record<string, string>>): void {}
export function isSecretControl(element: Element): boolean {
  return (element as HTMLInputElement).type === "password";
}
