// Every row of the wire contract against the real server over raw HTTP: what it answers, and what it never does.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { startDemoServer } from "../../scripts/demo-server.mjs";

let server;
before(async () => {
  server = await startDemoServer();
});
after(() => server?.stop());
beforeEach(() => fetch(`${server.url}/_demo/reset`, { method: "POST" }));

const ORDER = { sku: "A1", quantity: "2" };
const DAY_S = 86_400;
const seconds = () => Math.floor(Date.now() / 1_000);
let keys = 0;

/** Headers of a fresh wish; `undefined` leaves one out. */
function wish(changes = {}) {
  keys += 1;
  const headers = {
    "content-type": "application/json",
    "idempotency-key": `"contract-test-key-${String(keys).padStart(8, "0")}"`,
    "idempotency-first-sent": `@${seconds()}`,
    "idempotency-deadline": `@${seconds() + 8}`,
    "idempotency-subject": '"demo-user"',
    ...changes,
  };
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
}

async function request(method, path, headers, body) {
  const answer = await fetch(`${server.url}${path}`, { method, headers, body, redirect: "manual" });
  const text = await answer.text();
  const json = answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined;
  return { status: answer.status, headers: answer.headers, text, json };
}

const post = (headers, payload = ORDER) => request("POST", "/orders", headers, JSON.stringify(payload));
const ask = (headers) => request("GET", "/orders/status", withoutBody(headers));
const fence = (headers) => request("DELETE", "/orders/status", withoutBody(headers));
const withoutBody = ({ "content-type": _, "idempotency-deadline": __, ...rest }) => rest;
const read = async (name) => (await fetch(`${server.url}/_demo/${name}`)).json();
const effects = async () => (await read("effects")).count;

function assertProblem(answer, status, name) {
  assert.deepEqual([answer.status, answer.json?.type], [status, `urn:postonce:problem:${name}`], answer.text);
  assert.match(answer.headers.get("content-type"), /^application\/problem\+json/);
}

test("r113_given_a_repeat_then_status_bytes_and_type_are_the_same_and_only_the_marker_differs", async () => {
  const headers = wish();
  const first = await post(headers);
  const again = await post(headers);
  assert.deepEqual([first.status, again.status], [201, 201]);
  assert.deepEqual([again.text, again.headers.get("content-type")], [first.text, first.headers.get("content-type")]);
  assert.deepEqual(
    [first, again].map((answer) => answer.headers.get("idempotent-replayed")),
    ["false", "true"],
  );
  assert.equal(again.headers.get("idempotency-key"), headers["idempotency-key"]);
  assert.match(again.headers.get("idempotency-first-seen"), /^@\d+$/);
  for (const { headers: sent } of [first, again]) assert.equal(sent.get("cache-control"), "no-store");
  assert.equal(await effects(), 1);
});

test("r103_given_64_parallel_repeats_then_one_handler_runs", async () => {
  const headers = wish();
  await server.plan([{ match: { operation: "order.create" }, fault: "delay-effect", ms: 200 }]);
  const answers = await Promise.all(Array.from({ length: 64 }, () => post(headers)));
  const statuses = new Set(answers.map(({ status }) => status));
  for (const status of statuses) assert.ok([201, 409].includes(status), `${status}`);
  for (const answer of answers.filter(({ status }) => status === 409)) {
    assertProblem(answer, 409, "in-progress");
    assert.ok(answer.headers.get("retry-after") && answer.json.retry_after_ms > 0, "R105");
  }
  assert.equal(await effects(), 1);
});

test("r104_given_another_payload_then_422_even_while_it_runs_and_no_effect", async () => {
  const headers = wish();
  await server.plan([{ match: { operation: "order.create" }, fault: "delay-effect", ms: 400 }]);
  const running = post(headers);
  await new Promise((settle) => setTimeout(settle, 150)); // the situation under test: the first one is in progress
  assertProblem(await post(headers, { ...ORDER, quantity: "3" }), 422, "key-reused");
  assert.equal((await running).status, 201);
  assertProblem(await post(headers, { ...ORDER, quantity: "3" }), 422, "key-reused");
  assertProblem(await request("POST", "/drafts", headers, JSON.stringify(ORDER)), 422, "key-reused");
  assert.equal(await effects(), 1);
});

test("r106_given_the_quoted_key_with_parameters_then_it_is_the_same_key", async () => {
  const headers = wish();
  await post(headers);
  const again = await post({ ...headers, "idempotency-key": `${headers["idempotency-key"]};v=1` });
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal(await effects(), 1);
});

const BAD_ENVELOPES = [
  ["no key", { "idempotency-key": undefined }, 400, "key-missing"],
  ["a short key", { "idempotency-key": '"short"' }, 400, "key-invalid"],
  ["a key of 10 kB", { "idempotency-key": `"${"k".repeat(10_000)}"` }, 400, "key-invalid"],
  ["a key with a foreign character", { "idempotency-key": '"0123456789012345678901/+"' }, 400, "key-invalid"],
  ["no first-sent", { "idempotency-first-sent": undefined }, 400, "first-sent-missing"],
  ["no subject", { "idempotency-subject": undefined }, 400, "subject-missing"],
  ["another subject", { "idempotency-subject": '"somebody-else"' }, 403, "wrong-subject"],
  ["a first-sent older than the retention", { "idempotency-first-sent": `@${seconds() - 2 * DAY_S}` }, 410, "expired"],
  ["a first-sent far ahead", { "idempotency-first-sent": `@${seconds() + DAY_S}` }, 412, "clock-skew"],
  ["a deadline that has passed", { "idempotency-deadline": `@${seconds() - 60}` }, 412, "deadline-passed"],
];

for (const [name, changes, status, problem] of BAD_ENVELOPES) {
  test(`r102_given_${name}_then_${status}_${problem}_and_nothing_is_kept_or_run`, async () => {
    const answer = await post(wish(changes));
    assertProblem(answer, status, problem);
    assert.equal(answer.headers.get("idempotent-replayed"), null, "R127: no record gave it");
    if (status === 410 || status === 412) assert.ok(Math.abs(answer.json.now - Date.now()) < 60_000);
    assert.deepEqual([await effects(), (await read("records")).length], [0, 0]);
  });
}

test("r102_given_two_key_lines_then_400_and_nothing_runs", async () => {
  const headers = wish();
  const { hostname, port } = new URL(server.url);
  const body = JSON.stringify(ORDER);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const text = ["POST /orders HTTP/1.1", `Host: ${hostname}`, ...lines, 'Idempotency-Key: "another-key-0123456789012"'];
  const answer = await new Promise((settle, fail) => {
    let seen = "";
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${text.join("\r\n")}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
    });
    socket.setEncoding("utf8").on("data", (part) => {
      seen += part;
    });
    socket.on("end", () => settle(seen)).on("error", fail);
  });
  assert.match(answer, /^HTTP\/1\.1 400 /);
  assert.equal(await effects(), 0);
});

const BAD_BODIES = [
  ["deep JSON", `${"[".repeat(5_000)}${"]".repeat(5_000)}`],
  ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ["a member twice", '{"sku":"A1","sku":"B2","quantity":"2"}'],
  ["an integer beyond 2^53", '{"sku":"A1","quantity":9007199254740993}'],
  ["half a surrogate pair", '{"sku":"\\ud800","quantity":"2"}'],
];

for (const [name, body] of BAD_BODIES) {
  test(`r12_given_${name}_then_it_is_refused_before_any_record`, async () => {
    const answer = await request("POST", "/orders", wish(), body);
    assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status}`);
    assert.equal(answer.headers.get("idempotent-replayed"), null);
    assert.deepEqual([await effects(), (await read("records")).length], [0, 0]);
  });
}

test("given_a_body_above_its_limit_then_413_and_nothing_runs", async () => {
  const answer = await post(wish(), { ...ORDER, note: "x".repeat(2 * 1024 * 1024) });
  assert.equal(answer.status, 413);
  assert.equal(await effects(), 0);
});

test("r14_given_one_form_in_three_encodings_then_it_is_one_wish", async () => {
  const { "content-type": _, ...headers } = wish();
  const form = new FormData();
  for (const [name, value] of Object.entries(ORDER)) form.append(name, value);
  const answers = [
    await request("POST", "/orders", headers, new URLSearchParams(ORDER)),
    await request("POST", "/orders", headers, form),
    await post({ ...headers, "content-type": "application/json" }),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201, 201],
  );
  assert.equal(await effects(), 1);
});

test("r112_f46_given_a_domain_refusal_then_it_is_on_record_and_replayed", async () => {
  const headers = wish();
  const declined = { ...ORDER, sku: "DECLINED" };
  const [first, again] = [await post(headers, declined), await post(headers, declined)];
  assert.deepEqual([first.status, again.status], [402, 402]);
  assert.deepEqual(
    [first, again].map((answer) => answer.headers.get("idempotent-replayed")),
    ["false", "true"],
  );
  assert.equal((await ask(headers)).json.state, "rejected");
  assert.equal(await effects(), 0);
});

test("r118_given_a_status_check_then_it_tells_everything_and_changes_nothing", async () => {
  const headers = wish();
  const unseen = await ask(headers);
  assert.deepEqual([unseen.status, unseen.json.state], [200, "not_found"]);
  assert.equal((await read("records")).length, 0, "a look leaves no record");
  const { text, json } = await post(headers);
  const before = JSON.stringify(await read("records"));
  const { json: seen, headers: answered } = await ask(headers);
  assert.equal(seen.state, "completed");
  assert.deepEqual([seen.response.status, seen.response.body, seen.response.result_id], [201, text, json.id]);
  assert.deepEqual([seen.operation, seen.subject], ["order.create", "demo-user"]);
  assert.equal(answered.get("cache-control"), "no-store");
  assert.equal(JSON.stringify(await read("records")), before);
});

test("r89_r123_given_another_subject_then_nothing_is_read_written_or_told", async () => {
  const headers = wish();
  await post(headers);
  for (const act of [post, ask, fence]) {
    const answer = await act({ ...headers, "idempotency-subject": '"somebody-else"' });
    assertProblem(answer, 403, "wrong-subject");
    assert.ok(!answer.text.includes("ord_"));
  }
  // The other person, under the same key: an unused one.
  const other = { ...headers, "idempotency-subject": '"other-user"', cookie: "demo_subject=other-user" };
  assert.equal((await ask(other)).json.state, "not_found");
  assert.equal((await post(other, { ...ORDER, quantity: "9" })).status, 201, "F48: no 422 for strangers");
  assert.equal(await effects(), 2);
});

test("r61_given_a_fence_then_the_late_command_is_refused_for_ever", async () => {
  const headers = wish();
  assert.equal((await fence(headers)).json.state, "fenced");
  assertProblem(await post(headers), 410, "fenced");
  assertProblem(await post(headers, { ...ORDER, quantity: "5" }), 410, "fenced");
  assert.equal((await ask(headers)).json.state, "fenced");
  assert.equal(await effects(), 0);
});

test("r61_given_a_record_then_a_fence_changes_nothing_and_tells_its_state", async () => {
  const headers = wish();
  await post(headers);
  assert.equal((await fence(headers)).json.state, "completed");
  assert.equal((await post(headers)).headers.get("idempotent-replayed"), "true");
  assert.equal(await effects(), 1);
});

test("r61_given_a_key_older_than_the_retention_then_a_fence_writes_nothing", async () => {
  const headers = wish({ "idempotency-first-sent": `@${seconds() - 3 * DAY_S}` });
  assert.equal((await fence(headers)).json.state, "expired");
  assert.equal((await read("records")).length, 0);
});

test("r92_given_a_log_then_keys_are_named_by_reference_and_never_in_an_address", async () => {
  const headers = wish();
  await post(headers);
  await ask(headers);
  for (const { path } of await read("log")) assert.ok(!path.includes("contract-test-key"), path);
});
