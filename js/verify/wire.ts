/** One HTTP request over a connection of its own, with header lines exactly as given and a connection it may cut. */
import { type ClientRequest, type IncomingMessage, request as plain, type RequestOptions } from "node:http";
import { request as secure } from "node:https";

/** After the last byte was handed to the system, this long until the cut, so that the server has it. */
const BEFORE_CUT_MS = 60;
/** More of an answer than this is not read. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/** A request as it goes out. */
export interface Outgoing {
  readonly method: string;
  readonly url: URL;
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: string | Uint8Array | undefined;
  /** `at_answer`: cut when the answer begins, unread. `after_sending`: cut as soon as the request is out. */
  readonly cut?: "at_answer" | "after_sending" | undefined;
  readonly answerMs: number;
}

/** What came back. */
export type Reply = Answer | Silence;

/** A whole answer. */
export interface Answer {
  readonly kind: "answer";
  readonly status: number;
  readonly text: string;
  /** Its body when that is JSON, else `undefined`. */
  readonly json: unknown;
  /** Values of a header, each line one; none when it is absent. */
  lines(name: string): readonly string[];
  /** The first line of a header. */
  header(name: string): string | undefined;
}

/** No whole answer. */
export interface Silence {
  readonly kind: "silence";
  readonly why: "cut" | "timeout" | "broken";
  readonly detail: string;
}

/** Sends one request and waits for its end. Never follows a redirect, never repeats. */
export function exchange(outgoing: Outgoing): Promise<Reply> {
  return new Promise((settle) => {
    const silent = (why: Silence["why"], detail: string) => settle({ kind: "silence", why, detail });
    const body = outgoing.body === undefined ? undefined : Buffer.from(outgoing.body);
    const options: RequestOptions = { method: outgoing.method, headers: rawHeaders(outgoing, body), agent: false };
    let request: ClientRequest;
    try {
      request = (outgoing.url.protocol === "https:" ? secure : plain)(outgoing.url, options);
    } catch (error) {
      silent("broken", String(error));
      return;
    }
    const late = setTimeout(() => {
      silent("timeout", `no whole answer within ${outgoing.answerMs} ms`);
      request.destroy();
    }, outgoing.answerMs);
    const cut = () => {
      clearTimeout(late);
      silent("cut", "cut on purpose");
      request.destroy();
    };
    request.on("error", (error) => {
      clearTimeout(late);
      silent("broken", error.message);
    });
    request.on("response", (response) => {
      if (outgoing.cut) {
        cut();
        return;
      }
      read(response).then(
        (answer) => {
          clearTimeout(late);
          settle(answer);
          request.destroy();
        },
        (error: unknown) => {
          clearTimeout(late);
          silent("broken", String(error));
          request.destroy();
        },
      );
    });
    request.end(body, () => {
      if (outgoing.cut === "after_sending") setTimeout(cut, BEFORE_CUT_MS);
    });
  });
}

/** As a flat list, so that a header may have two lines and nothing is added but what every request needs. */
function rawHeaders({ url, headers, method }: Outgoing, body: Buffer | undefined): string[] {
  const lines = ["Host", url.host, "Accept", "application/json", "Connection", "close"];
  for (const [name, value] of headers) lines.push(name, value);
  if (body !== undefined) lines.push("Content-Length", String(body.length));
  else if (method !== "GET" && method !== "OPTIONS") lines.push("Content-Length", "0");
  return lines;
}

async function read(response: IncomingMessage): Promise<Answer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > ANSWER_BYTES_MAX) throw new Error(`the answer is larger than ${ANSWER_BYTES_MAX} bytes`);
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString("utf8");
  const raw = response.rawHeaders;
  const lines = (name: string) =>
    raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name.toLowerCase());
  return {
    kind: "answer",
    status: response.statusCode ?? 0,
    text,
    json: parsed(text),
    lines,
    header: (name) => lines(name)[0],
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A short name of a reply for people. */
export function shown(reply: Reply): string {
  if (reply.kind === "silence") return `no answer (${reply.detail})`;
  const type = member(reply.json, "type");
  const name = typeof type === "string" ? type.split(/[/:]/).at(-1) : undefined;
  return name ? `${reply.status} ${name}` : String(reply.status);
}

/** Whether the reply is a 2xx. */
export function succeeded(reply: Reply): reply is Answer {
  return reply.kind === "answer" && reply.status >= 200 && reply.status < 300;
}

/** The status of an answer. */
export const statusOf = (reply: Reply): number | undefined => (reply.kind === "answer" ? reply.status : undefined);

/** Whether the reply is a 4xx. */
export function refused(reply: Reply): boolean {
  return reply.kind === "answer" && reply.status >= 400 && reply.status < 500;
}

/** One member of a JSON object. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** What a JSON Pointer finds, or `undefined`. */
export function pointed(value: unknown, pointer: string): unknown {
  if (pointer === "") return value;
  const names = pointer.slice(1).split("/");
  return names.reduce((found, name) => member(found, name.replaceAll("~1", "/").replaceAll("~0", "~")), value);
}
