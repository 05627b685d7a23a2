// Measures what the portal promises, in a real browser: how soon the first page can be used, how much script it loads for that, and
// how long the fleet map takes to redraw. Prints a line `BENCH name value unit limit ratio` for each, the median of five runs, and
// writes all runs to target/bench/portal.json. Measures, and fails for nothing but a measurement that cannot be made.
//
//   GPUAAS=target/release/gpuaas node scripts/bench.mjs
/* global performance, requestAnimationFrame -- what is given to the page runs there */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { createServer } from 'vite';
import { readCatalogue, startPlatform } from '../e2e/platform.mjs';

const runs = 5;
const nodes = 2000;
const figures = [];

/** Prints a figure and keeps it. Whole numbers, as everywhere in the bench; a ratio has three digits. */
function figure(name, values, unit, limit) {
  const whole = values.map((value) => Math.ceil(value));
  const value = [...whole].sort((a, b) => a - b)[Math.floor(whole.length / 2)];
  const thousandths = Math.floor((value * 1000) / limit);
  const ratio = `${Math.floor(thousandths / 1000)}.${String(thousandths % 1000).padStart(3, '0')}`;
  console.log(`BENCH ${name} ${value} ${unit} ${limit} ${ratio}`);
  figures.push({ name, value, unit, limit: String(limit), ratio, runs: whole });
}

/** The home page of a project, signed in, with nothing of it in the browser yet: until it shows what is for sale, and what was loaded. */
async function firstPage(platform, path) {
  const window = await platform.windowOf('project_member');
  try {
    const page = await window.newPage();
    await page.goto(platform.url + path, { waitUntil: 'commit' });
    const usable = await page.waitForFunction(() => {
      const there = document.querySelector('main h1') && document.querySelector('main table') && !document.querySelector('main .skeleton');
      return there ? performance.now() : false;
    });
    const ms = await usable.jsonValue();
    const bytes = await page.evaluate(
      (until) =>
        performance
          .getEntriesByType('resource')
          .filter((each) => each.name.endsWith('.js') && each.startTime < until)
          .reduce((sum, each) => sum + each.encodedBodySize, 0),
      ms,
    );
    return { ms, bytes };
  } finally {
    await window.close();
  }
}

/** The slowest of many redraws of one map: every kind of change, then every step of a scroll. From the change until the frame that shows it. */
async function slowestRedraw(platform, base) {
  const window = await platform.window();
  try {
    const page = await window.newPage();
    const worst = async (size, density) => {
      await page.setViewportSize(size);
      await page.goto(`${base}bench/fleet.html?nodes=${nodes}&density=${density}`);
      await page.waitForFunction(() => window.measured?.redraws.length > 0);
      return page.evaluate(async () => {
        const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
        const { change, filter, scroll } = window.measured;
        let slowest = 0;
        for (let at = 0; at < 24; at += 1) {
          await frame();
          const begun = performance.now();
          [() => change(), () => filter(at), () => scroll(at)][at % 3]();
          await frame();
          slowest = Math.max(slowest, performance.now() - begun);
        }
        return slowest;
      });
    };
    // All of it at once on a large screen, and a part of it on a small one, through which one scrolls.
    return Math.max(await worst({ width: 3840, height: 2160 }, 'small'), await worst({ width: 1440, height: 900 }, 'large'));
  } finally {
    await window.close();
  }
}

async function write() {
  const cpu = /^model name\s*:\s*(.+)$/m.exec(await readFile('/proc/cpuinfo', 'utf8').catch(() => ''))?.[1] ?? '';
  const folder = new URL('../../target/bench/', import.meta.url);
  await mkdir(folder, { recursive: true });
  await writeFile(new URL('portal.json', folder), `${JSON.stringify({ machine: { cpu, cores: availableParallelism() }, figures }, null, 2)}\n`);
}

const repeated = async (once) => {
  const taken = [];
  for (let run = 0; run < runs; run += 1) taken.push(await once());
  return taken;
};

const platform = await startPlatform();
try {
  const { projects } = await readCatalogue(platform);
  const opened = await repeated(() => firstPage(platform, `/projects/${projects['aurora/vision'].id}`));
  figure('portal_first_page', opened.map((each) => each.ms), 'ms', 1000);
  figure('portal_initial_script', opened.map((each) => each.bytes), 'bytes', 300 * 1024);
  const server = await createServer({ server: { port: 0, host: '127.0.0.1' }, logLevel: 'error' });
  try {
    await server.listen();
    const base = server.resolvedUrls.local[0];
    figure('portal_fleet_redraw', await repeated(() => slowestRedraw(platform, base)), 'ms', 100);
  } finally {
    await server.close();
  }
  await write();
} finally {
  await platform.end();
}
