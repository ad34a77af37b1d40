/** Files of a form: what they are by content, read once before anything is sent (R16, R17). */
import { PostonceError } from "./errors.js";
import { loadModule } from "./loader.js";

/** Read at a time, so that a large file never lies in memory whole. */
const PORTION_BYTES = 1 << 20;

export const filesOf = (data: FormData): File[] =>
  [...data.values()].filter((value): value is File => typeof value !== "string");

/**
 * The form's pairs for the module: name and value, or name, file name, digest and size.
 *
 * @throws PostonceError `file_unreadable` with the field's name: the file is gone, changed or may not be read.
 */
export async function digested(data: FormData): Promise<string[][]> {
  const module = await loadModule();
  const pairs: string[][] = [];
  for (const [name, value] of data) {
    if (typeof value === "string") {
      pairs.push([name, value]);
      continue;
    }
    const digest = module.digest();
    try {
      for (let at = 0; at < value.size; at += PORTION_BYTES) {
        digest.update(new Uint8Array(await value.slice(at, at + PORTION_BYTES).arrayBuffer()));
      }
    } catch {
      throw new PostonceError("file_unreadable", name);
    }
    pairs.push([name, value.name, digest.finish(), `${value.size}`]);
  }
  return pairs;
}
