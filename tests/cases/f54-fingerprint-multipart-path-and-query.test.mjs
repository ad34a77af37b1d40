// F54. Given k-1, finished for `POST /carts/cart-7/attach` with a file a.txt that says "abc", sent with boundary X. When
// the same comes with (a) another boundary, then it is a replay; with (b) another file, (c) another cart in the path or
// (d) another query, then it is a 422 and nothing runs. (e), a record with an older fingerprint, is in the server's own
// suite: `f54_e_…` in server/tests/contract/recovery.rs.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { startDemoServer } from "../../scripts/demo-server.mjs";
import { newWish, post } from "./wire.mjs";

const PATH = "/carts/cart-7/attach";

let server;
let wish;
let first;
before(async () => {
  server = await startDemoServer();
});
after(() => server?.stop());
beforeEach(async () => {
  await fetch(`${server.url}/_demo/reset`, { method: "POST" });
  wish = newWish({});
  first = await attach();
  assert.equal(first.status, 201, first.text);
});

/** The file and one field as multipart, byte by byte. */
function attach({ boundary = "XXXX", file = "abc", path = PATH, name = "a.txt", media = "text/plain" } = {}) {
  const body = [
    `--${boundary}`,
    'Content-Disposition: form-data; name="title"',
    "",
    "Terms",
    `--${boundary}`,
    `Content-Disposition: form-data; name="file"; filename="${name}"`,
    `Content-Type: ${media}`,
    "",
    file,
    `--${boundary}--`,
    "",
  ].join("\r\n");
  return post(server.url, { ...wish, body }, { path, type: `multipart/form-data; boundary=${boundary}` });
}

test("f54_a_given_another_boundary_then_the_stored_answer_is_replayed", async () => {
  const again = await attach({ boundary: "----WebKitFormBoundaryYYYY" });
  assert.deepEqual([again.status, again.headers["idempotent-replayed"], again.text], [201, "true", first.text]);
  assert.equal(await server.effects(), 1);
});

for (const [name, changes] of [
  ["b_given_another_file", { file: "abd" }],
  ["b_given_the_same_bytes_under_another_name", { name: "b.txt" }],
  ["c_given_another_cart_in_the_path", { path: "/carts/cart-8/attach" }],
  ["d_given_another_query", { path: `${PATH}?dry=1` }],
]) {
  test(`f54_${name}_then_422_and_nothing_runs`, async () => {
    const other = await attach(changes);
    assert.deepEqual([other.status, JSON.parse(other.text).type], [422, "urn:postonce:problem:key-reused"]);
    assert.equal(await server.effects(), 1);
  });
}
