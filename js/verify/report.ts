/** Findings for people, for programs, and for continuous integration. */
import { CAUSES } from "./causes.js";
import type { Report } from "./run.js";
import { type Finding, LEVELS, type Level, type Verdict } from "./verdict.js";

const MARKS: Record<Verdict["kind"], string> = {
  kept: "kept",
  broken: "BROKEN",
  warning: "warning",
  not_offered: "not offered",
  not_tested: "not tested",
  left_out: "left out",
};

/** 0 clean; 1 warnings, parts not offered or not tested; 2 broken. */
export function exitStatus({ findings }: Report): 0 | 1 | 2 {
  const kinds = new Set(findings.map(({ verdict }) => verdict.kind));
  if (kinds.has("broken")) return 2;
  return kinds.has("warning") || kinds.has("not_offered") || kinds.has("not_tested") ? 1 : 0;
}

/** The table: a line for each check, then symptom, cause, check and action of each finding. */
export function textOf(report: Report): string {
  const lines: string[] = [];
  for (const [number, about] of Object.entries(LEVELS)) {
    const findings = report.findings.filter(({ level }) => String(level) === number);
    if (findings.length === 0) continue;
    lines.push(`level ${number}: ${about}`, ...findings.map(lineOf), "");
  }
  for (const finding of report.findings) lines.push(...explained(finding));
  const counted = Object.entries(MARKS).map(([kind, mark]) => [number(report, kind), mark] as const);
  const summary = counted.filter(([count]) => count > 0).map(([count, mark]) => `${count} ${mark}`);
  lines.push(`${summary.join(", ")}; ${report.requests} requests in ${(report.ms / 1_000).toFixed(1)} s`);
  return `${lines.join("\n")}\n`;
}

const number = ({ findings }: Report, kind: string): number =>
  findings.filter(({ verdict }) => verdict.kind === kind).length;

function lineOf({ id, title, verdict }: Finding): string {
  const detail = "why" in verdict ? ` (${verdict.why})` : "note" in verdict && verdict.note ? ` (${verdict.note})` : "";
  return `  ${MARKS[verdict.kind].padEnd(11)} ${id.padEnd(21)} ${title}${detail}`;
}

function explained({ id, verdict }: Finding): string[] {
  if (!("cause" in verdict)) return [];
  const { cause, look, action, rules } = CAUSES[verdict.cause];
  return [
    `${MARKS[verdict.kind]}: ${id}`,
    `  symptom       ${verdict.symptom}`,
    `  likely cause  ${cause} [${verdict.cause}]`,
    `  check         ${look}`,
    `  action        ${action} (${rules})`,
    "",
  ];
}

/** Findings as plain data, causes spelt out. */
export function jsonOf(report: Report): string {
  const findings = report.findings.map(({ verdict, ...rest }) => ({
    ...rest,
    ...verdict,
    ...("cause" in verdict ? { explained: CAUSES[verdict.cause] } : {}),
  }));
  const levels = Object.fromEntries(
    Object.keys(LEVELS).map((level) => [level, verdictOf(report, Number(level) as Level)]),
  );
  return `${JSON.stringify({ exit: exitStatus(report), levels, requests: report.requests, ms: report.ms, findings }, null, 2)}\n`;
}

/** The worst that was found at one level; `left_out` when nothing of it was tried. */
export function verdictOf({ findings }: Report, level: Level): Verdict["kind"] {
  const kinds = new Set(findings.filter((finding) => finding.level === level).map(({ verdict }) => verdict.kind));
  const order: readonly Verdict["kind"][] = ["broken", "warning", "not_offered", "not_tested", "kept"];
  return order.find((kind) => kinds.has(kind)) ?? "left_out";
}

/** One test case a check; warnings pass, what could not be tried is skipped with its reason. */
export function junitOf(report: Report): string {
  const cases = report.findings.map(({ id, level, title, verdict, ms }) => {
    const open = `  <testcase classname="level ${level}" name="${escaped(`${id}: ${title}`)}" time="${(ms / 1_000).toFixed(3)}"`;
    const inner = innerOf(verdict);
    return inner ? `${open}>${inner}</testcase>` : `${open}/>`;
  });
  const failures = number(report, "broken");
  const skipped = number(report, "not_tested") + number(report, "left_out") + number(report, "not_offered");
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="postonce verify" tests="${cases.length}" failures="${failures}" skipped="${skipped}" time="${(report.ms / 1_000).toFixed(3)}">`,
    ...cases,
    "</testsuite>",
    "",
  ].join("\n");
}

function innerOf(verdict: Verdict): string {
  switch (verdict.kind) {
    case "broken":
      return `<failure type="${verdict.cause}" message="${escaped(verdict.symptom)}">${escaped(CAUSES[verdict.cause].action)}</failure>`;
    case "warning":
      return `<system-out>${escaped(`warning: ${verdict.symptom} [${verdict.cause}]`)}</system-out>`;
    case "not_offered":
      return `<skipped message="${escaped(`not offered: ${verdict.symptom}`)}"/>`;
    case "not_tested":
    case "left_out":
      return `<skipped message="${escaped(verdict.why)}"/>`;
    case "kept":
      return "";
  }
}

/** Text inside XML; characters that XML cannot hold are left out. */
function escaped(text: string): string {
  const named: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, "").replace(/[&<>"]/g, (sign) => named[sign] ?? "");
}
