// Test pages beside the order page: opening them, and waiting until they say something.
import { eventually } from "../e2e/lab.mjs";

/** Opens `/pages/NAME.html` and waits until its form is bound. */
export async function openPage(lab, name, query = {}) {
  await lab.driver.get(`${lab.server.url}/pages/${name}.html?${new URLSearchParams(query)}`);
  await pageState(lab, () => document.documentElement.dataset.state !== undefined);
}

/** Waits until `condition` is true in the page, whichever document that is by then. */
export async function pageState(lab, condition, ...args) {
  let last = "";
  try {
    await eventually(`the page comes to ${condition}`, async () => {
      try {
        last = await lab.script(() => `${location.pathname} ${JSON.stringify(document.documentElement.dataset)}`);
        return await lab.script(condition, ...args);
      } catch (error) {
        // Between two documents there is none to ask.
        last = String(error);
        return false;
      }
    });
  } catch (error) {
    const log = JSON.stringify(await lab.server.log(), null, 1);
    throw new Error(`${error.message}\nthe page says: ${last}\nserver log: ${log}`);
  }
}
