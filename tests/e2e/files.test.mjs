// Files in a form: known by their content, sent as multipart, read before anything leaves (R14, R16, R17).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands, keysOf } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

const LOST = [{ match: { attempt: 1 }, fault: "lost-answer" }];

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

/** Opens the order page with a file input beside its fields, and one file chosen. */
async function openWithFile(text, { name = "a.txt", ...query } = {}) {
  await lab.open(query);
  await lab.script(() => {
    const input = Object.assign(document.createElement("input"), { type: "file", name: "terms" });
    document.querySelector("#order").append(input);
  });
  await choose(text, name);
}

const choose = (text, name = "a.txt") =>
  lab.script(
    (text, name) => {
      const chosen = new DataTransfer();
      chosen.items.add(new File([text], name, { type: "text/plain" }));
      const input = document.querySelector("[name=terms]");
      input.files = chosen.files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    },
    text,
    name,
  );

test("r14_given_a_file_then_multipart_goes_out_whatever_the_encoding_says_and_there_is_one_effect", async () => {
  await openWithFile("abc", { encoding: "json" });
  await lab.click();
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
  const [{ content_type }] = commands(await lab.server.log());
  assert.match(content_type, /^multipart\/form-data; ?boundary=/);
});

test("r16_f54_a_given_a_lost_answer_then_the_retry_has_another_boundary_and_is_replayed", async () => {
  await openWithFile("abc");
  await lab.server.plan(LOST);
  await lab.click();
  const { replayed } = await lab.until("succeeded");
  assert.equal(replayed, true);
  await assertOneEffect(lab.server);
  const sent = commands(await lab.server.log());
  assert.equal(keysOf(sent).length, 1);
  assert.equal(new Set(sent.map(({ content_type }) => content_type)).size, 2, "the browser chose another boundary");
});

test("r57_given_an_unknown_outcome_then_the_check_finds_the_servers_fingerprint_of_the_file_equal_to_ours", async () => {
  await openWithFile("Unicode äöü\r\nand a second line", { attempts: 1 });
  await lab.server.plan(LOST);
  await lab.click();
  await lab.until("unknown");
  const { ok } = await lab.call("check");
  assert.equal(ok.state, "succeeded", JSON.stringify(ok));
  await assertOneEffect(lab.server);
});

test("r16_f54_b_given_another_content_under_the_same_name_while_the_first_is_unknown_then_a_conflict_and_nothing_is_sent", async () => {
  await openWithFile("abc", { attempts: 1 });
  await lab.server.plan([{ match: { attempt: 1 }, fault: "drop-before" }]);
  await lab.click();
  await lab.until("unknown");
  await choose("abd");
  await lab.click();
  const { why } = await eventually("the press is answered", async () =>
    (await lab.outcomes()).find(({ kind }) => kind === "conflict"),
  );
  assert.equal(why, "fields");
  assert.equal(commands(await lab.server.log()).length, 1);
  // The same bytes chosen again are the same wish, whenever they were written.
  await choose("abc");
  await lab.click();
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
});

test("r17_given_a_file_that_is_gone_before_it_is_read_then_not_sent_the_field_is_named_and_nothing_leaves", async () => {
  await openWithFile("abc");
  await lab.script(() => {
    globalThis.errors = [];
    globalThis.lab.form.addEventListener("error", ({ error }) => globalThis.errors.push([error.code, error.field]));
    File.prototype.slice = function slice() {
      return { arrayBuffer: () => Promise.reject(new DOMException("gone", "NotReadableError")) };
    };
  });
  await lab.click();
  const { why } = await lab.until("not_sent");
  assert.equal(why, "file_unreadable");
  assert.deepEqual(await lab.script(() => globalThis.errors), [["file_unreadable", "terms"]]);
  assert.equal(await lab.script(() => document.querySelector("#order").getAttribute("aria-busy")), "false");
  assert.equal(commands(await lab.server.log()).length, 0);
});

test("r95_given_a_double_click_while_a_file_is_read_then_one_intent_that_is_announced_and_one_effect", async () => {
  await openWithFile("abc");
  const seen = await lab.script(() => {
    const files = [];
    globalThis.lab.form.addEventListener("files", ({ detail }) => files.push(detail));
    const button = document.querySelector("#submit");
    button.click();
    button.click();
    return [files, document.querySelector("#order").getAttribute("aria-busy")];
  });
  assert.deepEqual(seen, [[{ count: 1, bytes: 3 }], "true"]);
  await lab.until("succeeded");
  const heard = await eventually("both presses are answered", async () => {
    const all = await lab.outcomes();
    return all.length === 2 && all;
  });
  assert.deepEqual(
    heard.map(({ kind }) => kind),
    ["settled", "settled"],
  );
  await assertOneEffect(lab.server);
  assert.equal(commands(await lab.server.log()).length, 1);
});

test("r16_given_a_large_file_then_it_is_read_in_portions_and_the_server_agrees", async () => {
  await openWithFile("x".repeat(700_000), { attempts: 1 });
  await lab.server.plan(LOST);
  await lab.click();
  await lab.until("unknown");
  assert.equal((await lab.call("check")).ok.state, "succeeded");
  await assertOneEffect(lab.server);
});
