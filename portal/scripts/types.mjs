// Writes src/api/schema.d.ts from the committed OpenAPI document. With `--check` it writes nothing and fails when the
// committed types are not what the document gives, so that a changed contract cannot go unnoticed in the portal.
import { readFile, writeFile } from 'node:fs/promises';
import openapiTypescript, { astToString } from 'openapi-typescript';

const document = new URL('../../docs/reference/openapi.json', import.meta.url);
const target = new URL('../src/api/schema.d.ts', import.meta.url);

const head = '// Generated from docs/reference/openapi.json by `npm run types`. Do not edit.\n\n';
const wanted = head + astToString(await openapiTypescript(document, { alphabetize: true, emptyObjectsUnknown: true, defaultNonNullable: false }));

if (process.argv.includes('--check')) {
  const committed = await readFile(target, 'utf8').catch(() => '');
  if (committed !== wanted) {
    console.error('src/api/schema.d.ts is not what docs/reference/openapi.json gives. Run `npm run types` in portal/.');
    process.exit(1);
  }
} else {
  await writeFile(target, wanted);
}
