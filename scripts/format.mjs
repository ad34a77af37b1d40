// `npm run fmt`: formats everything that the step `format` and `biome` of `npm test` look at.
import { npmTool } from "./paths.mjs";
import { main, run } from "./run.mjs";

await main(async () => {
  await run("cargo", ["fmt", "--all"]);
  await run("cargo", ["fmt", "--manifest-path", "tools/wasm-bindgen/Cargo.toml"]);
  await run(npmTool("biome"), ["check", "--write"]);
});
