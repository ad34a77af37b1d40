// `npm run diagram`: draws docs/transitions.md from sim/transitions.txt, the transitions that the simulator reaches. A test
// fails when the page is stale.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./paths.mjs";
import { isMain, main } from "./run.mjs";

export const PAGE = join(ROOT, "docs", "transitions.md");
/** So many events stand at an arrow; the table has all. */
const EVENTS_AT_ARROW = 3;
/** Where a wish goes when all is well, and where it may end; the rest is drawn beside it. */
const MAIN = ["idle", "sending", "waiting", "checking", "succeeded", "rejected", "refused", "not_sent", "unknown"];

/** Every change of state with its events, in a steady order. */
function changes() {
  const lines = readFileSync(join(ROOT, "sim", "transitions.txt"), "utf8").split("\n");
  const found = new Map();
  for (const line of lines) {
    const [from, event, to] = line.startsWith("#") ? [] : line.split(" ");
    if (!from || !event || !to || from === to) continue;
    const arrow = `${from} ${to}`;
    found.set(arrow, [...(found.get(arrow) ?? []), event]);
  }
  return [...found].map(([arrow, events]) => {
    const [from = "", to = ""] = arrow.split(" ");
    return { from, to, events: events.sort() };
  });
}

/** @param {ReturnType<typeof changes>} arrows */
function drawing(arrows) {
  const lines = arrows.map(({ from, to, events }) => {
    const shown = events.slice(0, EVENTS_AT_ARROW).join(", ");
    const more = events.length - EVENTS_AT_ARROW;
    return `  ${from} --> ${to}: ${shown}${more > 0 ? ` and ${more} more` : ""}`;
  });
  return ["```mermaid", "stateDiagram-v2", "  [*] --> idle", ...lines, "```"].join("\n");
}

/** The page as it has to be. */
export function page() {
  const all = changes();
  const isMainState = (name) => MAIN.includes(name);
  const within = all.filter(({ from, to }) => isMainState(from) && isMainState(to));
  const beside = all.filter(({ from, to }) => !(isMainState(from) && isMainState(to)));
  const states = [...new Set(all.flatMap(({ from, to }) => [from, to]))].sort();
  const rows = states.flatMap((state) =>
    all.filter(({ from }) => from === state).map(({ to, events }) => `| ${state} | ${to} | ${events.join(", ")} |`),
  );
  return `# Transitions

Drawn by \`npm run diagram\` from [sim/transitions.txt](../sim/transitions.txt): ${states.length} states and ${all.length} changes between them that the simulator
reaches. What an event leaves as it is stands only there. Whatever a tab shows may also change because another tab wrote
(\`record_seen\`, \`outrun\`) or because the page was loaded (\`loaded\`).

## A wish and its outcome

${drawing(within)}

## Signing in, disputes, fences and people's rulings

${drawing(beside)}

## All changes

| from | to | by |
| --- | --- | --- |
${rows.join("\n")}
`;
}

if (isMain(import.meta.url)) await main(async () => writeFileSync(PAGE, page()));
