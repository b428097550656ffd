// Compresses each file of the build beside it, so that the server sends `.br` and `.gz` as they lie.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const compressible = /\.(js|css|svg|html|json|map)$/;

for (const entry of await readdir("dist", { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !compressible.test(entry.name)) continue;
  const path = join(entry.parentPath, entry.name);
  const bytes = await readFile(path);
  const parameters = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  await writeFile(`${path}.br`, brotliCompressSync(bytes, { params: parameters }));
  await writeFile(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
