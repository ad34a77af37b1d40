// The drawing of one intent: two lanes over time, an arrow for every request and answer, the budget above them.

import { svg } from "./dom.js";
import { duration } from "./format.js";
import { type Scale, type Span, type Stretch, scaleFor, ticks, widthNeeded } from "./scale.js";
import type { Round, Story, Trip } from "./story.js";
import { answerLabel, summary } from "./words.js";

const HEIGHT = 262;
const BUDGET_Y = 30;
const BROWSER_Y = 92;
const SERVER_Y = 196;
const AXIS_Y = 240;
const GUTTER_WIDE = 78;
const GUTTER_NARROW = 14;
const NARROW_BELOW = 560;
const EDGE = 40;
/** An arrow is drawn at least this wide, however fast it was. */
const LEAN = 13;
const CHIP = 10;
const STRETCH_WIDTH_MIN = 74;
const POINT_WIDTH_MIN = 2;
const EFFECT_WIDTH_MIN = 40;
const LABEL_GAP = 6;
const CHARACTER_WIDTH = 6.6;

export function drawTimeline(target: HTMLElement, story: Story | null, now: number): void {
  const room = target.clientWidth;
  if (room === 0) return;
  if (!story || (story.trips.length === 0 && story.rounds.length === 0)) {
    target.replaceChildren(emptyDrawing(room));
    return;
  }
  const stretches = stretchesOf(story, now);
  const gutter = room < NARROW_BELOW ? GUTTER_NARROW : GUTTER_WIDE;
  const lastLabel = story.trips.map(answerLabel).at(-1) ?? "";
  const edge = Math.max(EDGE, lastLabel.length * CHARACTER_WIDTH + LEAN + LABEL_GAP);
  const width = Math.max(room, gutter + widthNeeded(stretches) + edge);
  const sends = story.trips.map(({ sentAt }) => sentAt);
  const scale = scaleFor(stretches, gutter + LEAN, width - edge, sends);
  const drawing = frame(width, summary(story));
  drawing.append(...lanes(width, gutter, room < NARROW_BELOW));
  drawing.append(...scale.folds.map((fold) => foldMark(fold)));
  drawing.append(...axis(scale, story.trips[0]?.sentAt ?? story.rounds[0]?.start ?? now));
  let free = 0;
  for (const round of story.rounds) {
    const { marks, end } = budgetBar(round, scale, now, free);
    drawing.append(...marks);
    free = end;
  }
  const rows = new LabelRows(width);
  for (const trip of story.trips) drawing.append(...tripMarks(trip, scale, now, rows));
  for (const placed of story.placed) drawing.append(effectMark(placed.id, effectX(placed.at, story.trips, scale)));
  const scrolled = target.scrollLeft;
  target.replaceChildren(drawing);
  target.scrollLeft = scrolled;
}

function frame(width: number, label: string): SVGSVGElement {
  const viewBox = `0 0 ${width.toFixed(0)} ${HEIGHT}`;
  return svg("svg", {
    class: "drawing",
    role: "img",
    "aria-label": label,
    viewBox,
    width: width.toFixed(0),
    height: HEIGHT,
  });
}

function emptyDrawing(width: number): SVGSVGElement {
  const narrow = width < NARROW_BELOW;
  const drawing = frame(width, "Nothing has been sent yet.");
  drawing.append(...lanes(width, narrow ? GUTTER_NARROW : GUTTER_WIDE, narrow));
  const middle = { x: width / 2, y: (BROWSER_Y + SERVER_Y) / 2 + 4, class: "drawing-empty", "text-anchor": "middle" };
  drawing.append(svg("text", middle, "Every attempt will be drawn here"));
  return drawing;
}

function lanes(width: number, gutter: number, narrow: boolean): SVGElement[] {
  return [
    { y: BROWSER_Y, name: "Browser" },
    { y: SERVER_Y, name: "Server" },
  ].flatMap(({ y, name }) => [
    svg("line", { class: "lane", x1: narrow ? 0 : gutter, x2: width, y1: y, y2: y }),
    svg("text", { class: "lane-name", x: 0, y: narrow ? (y === BROWSER_Y ? y - 26 : y + 36) : y + 4 }, name),
  ]);
}

/** What must be true to scale: requests while they were out, budgets while they were used. */
function stretchesOf({ trips, rounds, placed }: Story, now: number): Stretch[] {
  const busy = trips.map((trip) => {
    const ends = [
      trip.sentAt,
      trip.leftAt ?? 0,
      trip.fate.kind === "answered" ? trip.fate.backAt : 0,
      trip.listenedUntil,
    ];
    if (trip.fate.kind === "pending") ends.push(now);
    return { from: trip.sentAt, to: Math.max(...ends), widthMin: STRETCH_WIDTH_MIN };
  });
  const budgets = rounds.flatMap(({ start, deadline, settledAt }) => [
    { from: start, to: settledAt ?? deadline, widthMin: STRETCH_WIDTH_MIN },
    { from: deadline, to: deadline, widthMin: POINT_WIDTH_MIN },
  ]);
  const effects = placed.map(({ at }) => ({ from: at, to: at, widthMin: EFFECT_WIDTH_MIN }));
  return [...busy, ...budgets, ...effects];
}

/** @param free where the label of the round before ends; a label that would lie over it is left out. */
function budgetBar(round: Round, scale: Scale, now: number, free: number): { marks: SVGElement[]; end: number } {
  const { start, deadline, settledAt } = round;
  const left = scale.x(start);
  const right = scale.x(deadline);
  const until = Math.min(settledAt ?? now, deadline);
  const over = until >= deadline;
  const spare = over ? "used up" : `${duration(deadline - until)} left`;
  const label = `${duration(deadline - start)} budget, ${spare}`;
  const bar = { y: BUDGET_Y - 4, height: 8, rx: 4 };
  const used = Math.max(4, scale.x(until) - left);
  const marks: SVGElement[] = [
    svg("rect", { ...bar, class: "budget-track", x: left, width: Math.max(0, right - left) }),
    svg("rect", { ...bar, class: "budget-used", "data-over": String(over), x: left, width: used }),
    svg("line", { class: "deadline", x1: right, x2: right, y1: BUDGET_Y - 8, y2: SERVER_Y + 12 }),
  ];
  for (const fold of scale.folds) {
    if (fold.left >= left && fold.right <= right) marks.push(...budgetFold((fold.left + fold.right) / 2));
  }
  if (left < free) return { marks, end: free };
  marks.push(svg("text", { class: "budget-label", x: left, y: BUDGET_Y - 12 }, label));
  return { marks, end: left + label.length * CHARACTER_WIDTH };
}

/** The bar is cut where time is folded, so that what is left of the budget does not look short. */
function budgetFold(middle: number): SVGElement[] {
  return [
    svg("rect", { class: "fold-cut", x: middle - 5, y: BUDGET_Y - 7, width: 10, height: 14 }),
    svg("path", { class: "fold-mark", d: foldPath(middle, BUDGET_Y) }),
  ];
}

function foldPath(middle: number, y: number): string {
  return `M${middle - 7} ${y + 5}l5 -10M${middle + 2} ${y + 5}l5 -10`;
}

function tripMarks(trip: Trip, scale: Scale, now: number, rows: LabelRows): SVGElement[] {
  const sent = scale.x(trip.sentAt);
  const arrived = Math.max(sent + LEAN, scale.x(trip.arrivedAt ?? trip.sentAt));
  const left = Math.max(arrived + 2, scale.x(trip.leftAt ?? (trip.fate.kind === "pending" ? now : trip.sentAt)));
  const back = Math.max(left + LEAN, trip.fate.kind === "answered" ? scale.x(trip.fate.backAt) : left + LEAN);
  const listened = Math.max(trip.fate.kind === "answered" ? back : sent, scale.x(trip.listenedUntil));
  const marks: SVGElement[] = [];
  if (listened > sent)
    marks.push(svg("line", { class: "listening", x1: sent, x2: listened, y1: BROWSER_Y, y2: BROWSER_Y }));

  if (trip.arrivedAt === null && trip.fate.kind !== "pending") {
    marks.push(...brokenArrow(sent, BROWSER_Y + CHIP, arrived, SERVER_Y));
  } else if (trip.arrivedAt === null) {
    marks.push(svg("line", { class: "arrow arrow-faint", x1: sent, y1: BROWSER_Y + CHIP, x2: arrived, y2: SERVER_Y }));
  } else {
    marks.push(svg("line", { class: "working", x1: arrived, x2: left, y1: SERVER_Y, y2: SERVER_Y }));
    marks.push(...arrow(sent, BROWSER_Y + CHIP, arrived, SERVER_Y - 3));
    if (trip.fate.kind === "answered") marks.push(...arrow(left, SERVER_Y, back, BROWSER_Y + 3));
    if (trip.fate.kind === "answer_lost") marks.push(...brokenArrow(left, SERVER_Y, back, BROWSER_Y));
    if (trip.fate.kind === "too_late") marks.push(...lateArrow(left, SERVER_Y, back, BROWSER_Y));
  }
  marks.push(chip(trip, sent));
  const group = svg("g", { class: `trip trip-${trip.kind}`, "data-fate": trip.fate.kind }, ...marks);
  const label = answerLabel(trip);
  const anchor = trip.arrivedAt === null ? arrived : back;
  return label ? [group, rows.place(label, anchor, trip.fate.kind)] : [group];
}

/** Keeps the labels of neighbouring answers from lying over each other. */
class LabelRows {
  readonly #ends: number[] = [];
  readonly #width: number;

  constructor(width: number) {
    this.#width = width;
  }

  place(text: string, anchor: number, fate: string): SVGElement {
    const length = text.length * CHARACTER_WIDTH;
    const x = Math.min(anchor + LABEL_GAP, this.#width - length);
    let row = this.#ends.findIndex((end) => end <= x);
    if (row < 0) row = this.#ends.length;
    this.#ends[row] = x + length + LABEL_GAP;
    const y = BROWSER_Y + 30 + (row % 4) * 17;
    return svg("text", { class: "answer-label", "data-fate": fate, x: x.toFixed(1), y }, text);
  }
}

function chip({ kind, attempt }: Trip, x: number): SVGElement {
  const label = kind === "command" ? String(attempt) : kind === "status" ? "?" : "V";
  const shape =
    kind === "fence"
      ? svg("rect", {
          class: "chip",
          x: x - CHIP + 1,
          y: BROWSER_Y - CHIP + 1,
          width: 2 * CHIP - 2,
          height: 2 * CHIP - 2,
          rx: 3,
        })
      : svg("circle", { class: "chip", cx: x, cy: BROWSER_Y, r: CHIP });
  return svg("g", {}, shape, svg("text", { class: "chip-text", x, y: BROWSER_Y + 4, "text-anchor": "middle" }, label));
}

function arrow(x1: number, y1: number, x2: number, y2: number): SVGElement[] {
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const corner = (turn: number) =>
    `${(x2 - 9 * Math.cos(angle + turn)).toFixed(1)},${(y2 - 9 * Math.sin(angle + turn)).toFixed(1)}`;
  return [
    svg("line", { class: "arrow", x1, y1, x2, y2 }),
    svg("polygon", { class: "arrow-head", points: `${x2.toFixed(1)},${y2} ${corner(0.42)} ${corner(-0.42)}` }),
  ];
}

/** Goes some of the way, then a cross, then a gap: nobody at the other end saw it. */
function brokenArrow(x1: number, y1: number, x2: number, y2: number): SVGElement[] {
  const at = (share: number) => ({ x: x1 + (x2 - x1) * share, y: y1 + (y2 - y1) * share });
  const stop = at(0.46);
  const mark = at(0.56);
  const after = at(0.66);
  return [
    svg("line", { class: "arrow arrow-broken", x1, y1, x2: stop.x, y2: stop.y }),
    svg("line", { class: "arrow arrow-ghost", x1: after.x, y1: after.y, x2, y2 }),
    cross(mark.x, mark.y),
  ];
}

/** Gets all the way to a page that no longer listens. */
function lateArrow(x1: number, y1: number, x2: number, y2: number): SVGElement[] {
  return [svg("line", { class: "arrow arrow-ghost", x1, y1, x2, y2: y2 + 10 }), cross(x2, y2 + 4)];
}

function cross(x: number, y: number): SVGElement {
  const size = 5;
  const d = `M${x - size} ${y - size}L${x + size} ${y + size}M${x - size} ${y + size}L${x + size} ${y - size}`;
  return svg("path", { class: "cross", d });
}

function effectX(at: number, trips: readonly Trip[], scale: Scale): number {
  const x = scale.x(at);
  const ran = trips
    .filter(({ kind, arrivedAt }) => kind === "command" && arrivedAt !== null && arrivedAt <= at + 1)
    .at(-1);
  return ran ? Math.max(x, scale.x(ran.sentAt) + LEAN + 1) : x;
}

function effectMark(id: string, x: number): SVGElement {
  return svg(
    "g",
    { class: "effect", "data-order": id },
    svg("circle", { class: "effect-dot", cx: x, cy: SERVER_Y, r: 7 }),
    svg("text", { class: "effect-label", x, y: SERVER_Y + 23, "text-anchor": "middle" }, id),
  );
}

function axis(scale: Scale, origin: number): SVGElement[] {
  const marks: SVGElement[] = [];
  let free = Number.NEGATIVE_INFINITY;
  let shown = "";
  for (const span of scale.spans) {
    for (const at of ticks(span, origin, 62)) {
      const x = scale.x(at);
      const label = duration(at - origin);
      if (x < free || label === shown) continue;
      free = x + 52;
      shown = label;
      marks.push(
        svg("line", { class: "tick", x1: x, x2: x, y1: AXIS_Y - 6, y2: AXIS_Y - 2 }),
        svg("text", { class: "tick-label", x, y: AXIS_Y + 12, "text-anchor": "middle" }, label),
      );
    }
  }
  return marks;
}

function foldMark({ from, to, left, right }: Span): SVGElement {
  const middle = (left + right) / 2;
  return svg(
    "g",
    { class: "fold" },
    ...[BROWSER_Y, SERVER_Y].map((y) => svg("path", { class: "fold-mark", d: foldPath(middle, y) })),
    svg("text", { class: "fold-label", x: middle, y: BROWSER_Y - 14, "text-anchor": "middle" }, duration(to - from)),
  );
}
