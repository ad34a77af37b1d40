import { openBrowser } from "./browser.mjs"; import { startDemoServer } from "./demo-server.mjs";
const s = await startDemoServer(); const b = await openBrowser();
try {
  await b.driver.get(s.url + "/"); await new Promise(r => setTimeout(r, 1500));
  console.log(await b.driver.executeScript("return JSON.stringify(globalThis.postonceDemo?.form?.snapshot ?? 'none')"));
  await s.plan(JSON.parse(process.argv[2] ?? "[]"));
  await b.driver.executeScript("document.querySelector('#order').requestSubmit()");
  for (let i = 0; i < Number(process.argv[3] ?? 6); i++) { await new Promise(r => setTimeout(r, 700)); console.log(await b.driver.executeScript("const s=globalThis.postonceDemo.form.snapshot; return JSON.stringify([s.state,s.why,s.attempt,s.resultId,s.durable,s.coordination,s.driving,s.may,s.doubt])")); }
  console.log(await (await fetch(s.url + "/_demo/effects")).text());
  const logs = await b.driver.manage().logs().get("browser"); for (const l of logs) console.log(l.level.name, l.message);
  const png = await b.driver.takeScreenshot(); (await import("node:fs")).writeFileSync("/tmp/smoke.png", Buffer.from(png, "base64"));
} finally { await b.close(); s.stop(); }
