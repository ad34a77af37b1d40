// `npm start`: everything a newcomer needs, from nothing to a page that can be opened.
import { createServer } from "node:net";
import { build } from "./build.mjs";
import { buildDemoServer, startDemoServer } from "./demo-server.mjs";
import { main, Stop } from "./run.mjs";
import { setUp } from "./setup.mjs";

const PORT_DEFAULT = 4173;

await main(async () => {
  const port = Number(process.env.PORT ?? PORT_DEFAULT);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Stop(`PORT is no port number: ${process.env.PORT}`, "PORT=4173 npm start");
  await refuseBusyPort(port);
  await setUp();
  await build();
  await buildDemoServer();
  const server = await startDemoServer({ port });
  console.log(`\n  postonce demo   ${server.url}\n  stop with       Ctrl+C\n`);
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => server.stop());
  await server.ended;
});

async function refuseBusyPort(port) {
  const probe = createServer();
  await new Promise((settle, fail) => {
    probe.once("error", fail);
    probe.listen(port, "127.0.0.1", () => probe.close(settle));
  }).catch((error) => {
    throw new Stop(`127.0.0.1:${port} cannot be used (${error.code}).`, `PORT=${port + 1} npm start`);
  });
}
