// The last step of the build: writes a `.gz` beside every text file of dist/, weighs what a browser loads before the first
// page can be used, and fails above the limit. The manifest is read for that and then removed: it is not served.
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { constants, gzipSync } from 'node:zlib';

const dist = new URL('../dist/', import.meta.url).pathname;
const limitBytes = 300 * 1024;

const gzip = (bytes) => gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION });

const manifest = JSON.parse(await readFile(join(dist, 'manifest.json'), 'utf8'));
const initial = new Set();
const visit = (key) => {
  const chunk = manifest[key];
  if (!chunk || initial.has(chunk.file)) return;
  initial.add(chunk.file);
  (chunk.imports ?? []).forEach(visit);
};
visit('index.html');
await rm(join(dist, 'manifest.json'));

const entries = await readdir(dist, { recursive: true, withFileTypes: true });
let all = 0;
for (const entry of entries) {
  if (!entry.isFile() || !/\.(js|css|html|svg|json)$/.test(entry.name)) continue;
  const path = join(entry.parentPath, entry.name);
  const packed = gzip(await readFile(path));
  all += packed.length;
  await writeFile(`${path}.gz`, packed);
}

let script = 0;
for (const file of initial) {
  if (file.endsWith('.js')) script += gzip(await readFile(join(dist, file))).length;
}
const kib = (bytes) => (bytes / 1024).toFixed(1);
console.log(`initial script ${kib(script)} KiB gzip of ${kib(limitBytes)}; everything ${kib(all)} KiB`);
if (script > limitBytes) {
  console.error('The initial script is over its limit: load what the first page does not need with a dynamic import.');
  process.exit(1);
}
