// Measures how long the fleet map takes to redraw 2,000 nodes with 16,000 slots in a real browser, all of them on the screen, and
// prints it as one line of JSON. Fails above the limit: a map that stutters is of no use.
//
//   node scripts/bench-fleet.mjs [NODES]
/* global performance, requestAnimationFrame -- what is given to the page runs there */
import { chromium } from 'playwright-core';
import { createServer } from 'vite';

const nodes = Number(process.argv[2] ?? '2000');
const redraws = 40;
const limitMs = 100;

const server = await createServer({ server: { port: 0, host: '127.0.0.1' }, logLevel: 'error' });
await server.listen();
const base = server.resolvedUrls.local[0];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  // A 4K screen, on which the whole fleet is drawn at once.
  const page = await browser.newPage({ viewport: { width: 3840, height: 2160 } });
  await page.goto(`${base}bench/fleet.html?nodes=${nodes}&density=small`);
  await page.locator('canvas').waitFor();
  const measured = await page.evaluate(async (times) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    await frame();
    window.measured.redraws.length = 0;
    const frames = [];
    for (let at = 0; at < times; at += 1) {
      const begun = performance.now();
      window.measured.change();
      await frame();
      await frame();
      frames.push(performance.now() - begun);
    }
    return { redraws: window.measured.redraws, frames };
  }, redraws);
  const sorted = (list) => [...list].sort((a, b) => a - b);
  const at = (list, part) => Number(sorted(list)[Math.min(list.length - 1, Math.floor(list.length * part))].toFixed(2));
  const ms = measured.redraws.map((each) => each.ms);
  const line = { nodes, cells: Math.max(...measured.redraws.map((each) => each.cells)), redraws: ms.length, p50_ms: at(ms, 0.5), p95_ms: at(ms, 0.95), max_ms: at(ms, 1), change_to_frame_p95_ms: at(measured.frames, 0.95) };
  console.log(JSON.stringify(line));
  if (line.p95_ms > limitMs) {
    console.error(`The map takes longer than ${limitMs} ms to redraw.`);
    process.exitCode = 1;
  }
} finally {
  await browser.close();
  await server.close();
}
