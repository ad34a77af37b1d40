// `postonce verify` on our own server: clean where it is sound, and each broken build is named for what it breaks.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startPostgres } from "../../scripts/postgres.mjs";
import { openLab, verify } from "./lab.mjs";

/** Each build that breaks one promise, and checks that see it at least. */
const FAULTS = {
  "no-unique": ["parallel", "parallel-slow"],
  "no-fingerprint": ["other-payload", "other-payload-running"],
  "no-replay": ["replay", "lost-answer", "restart"],
  "cancel-on-disconnect": ["gone-client"],
  "fail-open": ["store-down", "key-missing", "key-invalid"],
  "scope-by-key-only": ["other-subject", "status-other-subject"],
  "status-writes": ["status-unknown"],
  "fence-after-purge": ["fence-old"],
  "expired-as-new": ["old-key"],
};

/** What each database has a part in; the other faults are in front of any store. */
const DATABASES = [
  { name: "SQLite", faults: Object.keys(FAULTS), open: () => undefined },
  { name: "PostgreSQL", faults: ["no-unique", "fail-open"], open: newDatabase },
];

let postgres;
let databases = 0;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres?.stop());

/** One for each lab: they run side by side and count effects. */
async function newDatabase() {
  databases += 1;
  const name = `verify_${databases}`;
  await postgres.psql(`CREATE DATABASE ${name}`);
  return postgres.url.replace(/[^/]+$/, name);
}

const QUICK = ["--answer-ms", "3000"];
const found = (report, kind) => report.findings.filter((finding) => finding.kind === kind);

for (const { name, faults, open } of DATABASES) {
  describe(`records in ${name}`, { concurrency: 4 }, () => {
    test("given_the_sound_server_then_every_check_is_kept_and_nothing_is_found_or_left_out", async () => {
      const lab = await openLab({ database: await open() });
      try {
        const { exit, report, junit, out, err } = await verify([...lab.words, ...QUICK]);
        assert.deepEqual([exit, err], [0, ""], out);
        assert.deepEqual(
          report.findings.filter(({ kind }) => kind !== "kept"),
          [],
        );
        assert.ok(report.findings.length >= 39, `${report.findings.length} checks`);
        assert.deepEqual(report.levels, { 1: "kept", 2: "kept", 3: "kept", 4: "kept" });
        assert.match(junit, /<testsuite name="postonce verify" tests="\d+" failures="0" skipped="0"/);
      } finally {
        await lab.close();
      }
    });

    for (const fault of faults) {
      const checks = FAULTS[fault];
      test(`given_a_build_with_${fault}_then_it_is_named_as_the_cause_and_no_other_is`, async () => {
        const lab = await openLab({ database: await open(), broken: fault });
        try {
          const { exit, report, junit, out } = await verify([...lab.words, ...QUICK]);
          assert.equal(exit, 2, out);
          const broken = found(report, "broken");
          assert.deepEqual([...new Set(broken.map(({ cause }) => cause))], [fault], out);
          for (const id of checks) {
            assert.ok(
              broken.some((finding) => finding.id === id),
              `${id} did not see it\n${out}`,
            );
          }
          for (const part of ["symptom", "likely cause", "check", "action"])
            assert.match(out, new RegExp(`^  ${part} `, "m"));
          assert.match(junit, new RegExp(`<failure type="${fault}"`));
        } finally {
          await lab.close();
        }
      });
    }
  });
}

describe("how it is called", () => {
  let lab;
  before(async () => {
    lab = await openLab();
  });
  after(() => lab.close());

  const sample = () => [
    "--url",
    `${lab.url}/orders`,
    "--payload",
    '{"sku":"A1","quantity":2}',
    "--subject",
    "demo-user",
  ];

  test("given_no_status_route_then_level_3_and_4_are_not_offered_and_never_called_broken", async () => {
    const { exit, report } = await verify([...sample(), "--result-id", "/id"]);
    assert.equal(exit, 1);
    assert.deepEqual(found(report, "broken"), []);
    assert.deepEqual([report.levels[3], report.levels[4]], ["not_offered", "not_offered"]);
    for (const { why } of found(report, "not_tested")) assert.ok(why.length > 0);
  });

  test("given_level_1_and_checks_left_out_by_name_then_only_the_rest_runs_and_decides", async () => {
    const without = [
      "gone-client",
      "parallel-slow",
      "restart",
      "domain-refusal",
      "failure",
      "store-down",
      "late-effects",
    ];
    const words = ["--result-id", "/id", "--level", "1", ...without.flatMap((id) => ["--without", id])];
    const { exit, report } = await verify([...sample(), ...words]);
    assert.equal(exit, 0);
    assert.deepEqual(new Set(report.findings.map(({ level }) => level)), new Set([1]));
    assert.deepEqual(
      found(report, "left_out")
        .map(({ id }) => id)
        .sort(),
      without.toSorted(),
    );
  });

  test("given_a_limit_on_requests_then_not_one_more_is_sent_and_the_rest_is_called_not_tested", async () => {
    const before = (await log()).length;
    const { exit, report } = await verify([...sample(), "--result-id", "/id", "--requests-max", "10"]);
    assert.deepEqual([exit, report.requests], [1, 10]);
    assert.ok((await log()).length - before <= 10);
    assert.ok(found(report, "not_tested").some(({ why }) => why === "10 requests were sent"));
  });

  test("given_words_that_make_no_sense_then_64_and_no_request", async () => {
    const before = (await log()).length;
    for (const words of [
      [],
      ["--url", "shop"],
      [...sample()],
      [...sample(), "--result-id", "id"],
      [...sample(), "--result-id", "/id", "--level", "5"],
      [...sample(), "--result-id", "/id", "--without", "nothing-of-that-name"],
      [...sample(), "--result-id", "/id", "--dialect", "loud"],
      [...sample(), "--result-id", "/id", "--unknown"],
      [...sample(), "--result-id", "/id", "--down-hook", "true"],
    ]) {
      const { exit, out, err } = await verify(words);
      assert.deepEqual([exit, out], [64, ""], words.join(" "));
      assert.match(err, /^postonce verify: \S/);
    }
    assert.equal((await log()).length, before);
  });

  test("given_a_sample_that_is_refused_then_64_because_nothing_could_be_learnt", async () => {
    const { exit, err } = await verify([
      "--url",
      `${lab.url}/orders`,
      "--payload",
      '{"sku":"A1"}',
      "--result-id",
      "/id",
    ]);
    assert.equal(exit, 64);
    assert.match(err, /the sample was answered 4\d\d/);
  });

  test("given_a_form_payload_then_it_is_sent_as_a_form_and_the_same_holds", async () => {
    const words = [
      "--encoding",
      "form",
      "--counter",
      `${lab.url}/_demo/effects`,
      "--counter-pointer",
      "/count",
      "--level",
      "2",
    ];
    const { report, out } = await verify([...sample(), ...words]);
    assert.deepEqual(found(report, "broken"), [], out);
    assert.deepEqual(found(report, "warning"), [], out);
  });

  async function log() {
    return (await fetch(`${lab.url}/_demo/log`)).json();
  }
});
