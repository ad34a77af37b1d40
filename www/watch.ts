// Follows the server while the page is visible, and draws what it and this page saw.
import type { Snapshot } from "postonce";
import { showCounters } from "./counters.js";
import { type Diary, referenceOf } from "./diary.js";
import { byId, element, setText } from "./dom.js";
import { type Observed, observe } from "./server.js";
import { isBusy } from "./status.js";
import { storyOf } from "./story.js";
import { drawTimeline } from "./timeline.js";
import { lines } from "./words.js";

const POLL_MS_BUSY = 350;
const POLL_MS_CALM = 1_500;
const POLL_MS_TIMEOUT = 5_000;
const NOTHING: Observed = { at: 0, log: [], records: [], effects: { count: 0, perKeyMax: 0, orders: [] } };

export interface ServerWatch {
  /** Something happened here: look at the server soon. */
  hurry(): void;
  draw(): void;
}

export function watchServer(diary: Diary, snapshot: () => Snapshot): ServerWatch {
  const target = byId("timeline");
  let observed = NOTHING;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let looking = false;

  function draw(): void {
    const now = Date.now();
    const current = snapshot();
    const reference = referenceOf(current);
    const told = reference === null ? null : storyOf(reference, observed, diary.of(reference), current, now);
    const story = told && (told.trips.length > 0 || current.state !== "idle") ? told : null;
    drawTimeline(target, story, now);
    setText(byId("watch-subject"), story ? story.reference : "");
    showLines(story ? lines(story, now) : []);
  }

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    try {
      observed = await observe(AbortSignal.timeout(POLL_MS_TIMEOUT));
      showCounters(observed);
      draw();
    } catch {
      // The drawing keeps what it last knew; the next look tries again.
    } finally {
      looking = false;
      schedule();
    }
  }

  function schedule(): void {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") return;
    const working = observed.log.some(({ answered }) => answered === null);
    timer = setTimeout(() => void look(), isBusy(snapshot()) || working ? POLL_MS_BUSY : POLL_MS_CALM);
  }

  new ResizeObserver(() => draw()).observe(target);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") void look();
  });
  void look();
  return {
    hurry() {
      clearTimeout(timer);
      timer = setTimeout(() => void look(), 60);
    },
    draw,
  };
}

function showLines(wanted: readonly string[]): void {
  const list = byId("events");
  while (list.children.length > wanted.length) list.lastElementChild?.remove();
  wanted.forEach((text, index) => {
    const item = list.children[index] ?? list.appendChild(element("li"));
    setText(item, text);
  });
}
