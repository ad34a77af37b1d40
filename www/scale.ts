// Time to pixels. Stretches in which nothing happens are folded, so that a check a minute later still fits.
// Pure: what it returns depends only on what it is given.

export interface Stretch {
  readonly from: number;
  readonly to: number;
  /** Room that it gets however short it is. */
  readonly widthMin: number;
}

export interface Span {
  readonly from: number;
  readonly to: number;
  readonly left: number;
  readonly right: number;
}

export interface Scale {
  readonly x: (at: number) => number;
  /** What is drawn true to scale. */
  readonly spans: readonly Span[];
  /** What is folded. */
  readonly folds: readonly Span[];
  readonly pixelsPerMs: number;
}

const FOLD_MS_MIN = 600;
const FOLD_WIDTH = 46;
const APART_WIDTH = 30;

/** The least width in which these stretches can be drawn. */
export function widthNeeded(stretches: readonly Stretch[]): number {
  const merged = merge(stretches);
  return merged.reduce((sum, { widthMin }) => sum + widthMin, 0) + Math.max(0, merged.length - 1) * FOLD_WIDTH;
}

/** @param apart instants that get room between them even where true to scale they would fall together. */
export function scaleFor(stretches: readonly Stretch[], left: number, right: number, apart: readonly number[]): Scale {
  const merged = merge(stretches);
  const total = merged.reduce((sum, { from, to }) => sum + (to - from), 0);
  const spare = Math.max(0, right - left - widthNeeded(stretches));
  const spans: Span[] = [];
  const folds: Span[] = [];
  let x = left;
  for (const { from, to, widthMin } of merged) {
    const before = spans.at(-1);
    if (before) {
      folds.push({ from: before.to, to: from, left: x, right: x + FOLD_WIDTH });
      x += FOLD_WIDTH;
    }
    const width = widthMin + (total > 0 ? (spare * (to - from)) / total : spare / merged.length);
    spans.push({ from, to, left: x, right: x + width });
    x += width;
  }
  const widest = spans.reduce(
    (best, span) => Math.max(best, (span.right - span.left) / Math.max(1, span.to - span.from)),
    0,
  );
  const pieces = [...spans.flatMap((span) => spread(span, apart)), ...folds].sort((a, b) => a.left - b.left);
  return { x: (at) => place(pieces, at, left), spans, folds, pixelsPerMs: widest };
}

/** Cuts a span at these instants and moves the cuts apart, as far as the span has room. */
function spread(span: Span, apart: readonly number[]): Span[] {
  const inside = [...new Set(apart)].filter((at) => at > span.from && at < span.to).sort((a, b) => a - b);
  const room = Math.min(APART_WIDTH, (span.right - span.left) / (inside.length + 2));
  const pieces: Span[] = [];
  let { from, left } = span;
  inside.forEach((at, index) => {
    const exact = span.left + ((at - span.from) / (span.to - span.from)) * (span.right - span.left);
    const x = Math.min(Math.max(exact, left + room), span.right - room * (inside.length - index));
    pieces.push({ from, to: at, left, right: x });
    from = at;
    left = x;
  });
  return [...pieces, { from, to: span.to, left, right: span.right }];
}

function merge(stretches: readonly Stretch[]): Stretch[] {
  const sorted = [...stretches].sort((a, b) => a.from - b.from);
  const merged: Stretch[] = [];
  for (const next of sorted) {
    const last = merged.at(-1);
    if (last && next.from - last.to < FOLD_MS_MIN) {
      merged[merged.length - 1] = {
        from: last.from,
        to: Math.max(last.to, next.to),
        widthMin: Math.max(last.widthMin, next.widthMin),
      };
    } else {
      merged.push(next);
    }
  }
  return merged;
}

function place(pieces: readonly Span[], at: number, left: number): number {
  const piece = pieces.find(({ to }) => at <= to) ?? pieces.at(-1);
  if (!piece) return left;
  const share = piece.to > piece.from ? (at - piece.from) / (piece.to - piece.from) : 0;
  return piece.left + Math.min(1, Math.max(0, share)) * (piece.right - piece.left);
}

const STEPS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/** Instants worth a label inside a span, counted from `origin`, at least `apart` pixels from each other. */
export function ticks(span: Span, origin: number, apart: number): number[] {
  const perMs = (span.right - span.left) / Math.max(1, span.to - span.from);
  const step = STEPS_MS.find((candidate) => candidate * perMs >= apart);
  if (step === undefined) return [];
  const found: number[] = [];
  for (let at = Math.ceil((span.from - origin) / step) * step; origin + at <= span.to; at += step)
    found.push(origin + at);
  return found;
}
