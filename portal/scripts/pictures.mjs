// Takes a picture of pages of a running portal, in both themes, wide and narrow, and reports what the browser complained
// about (errors of scripts, breaches of the content security policy, requests that went elsewhere), what does not fit the
// window, and what axe finds against WCAG 2.2 AA.
//
//   PORTAL_URL=http://127.0.0.1:4173 node scripts/pictures.mjs OUT PATH…
//
// A path may be `name=/path`, which names the file. Exits with 1 when there was a complaint.
import { mkdir } from 'node:fs/promises';

import { join } from 'node:path';
import axe from 'axe-core';
import { chromium } from 'playwright-core';

const base = process.env.PORTAL_URL ?? 'http://127.0.0.1:4173';
const [out = 'pictures', ...paths] = process.argv.slice(2);
const themes = (process.env.THEMES ?? 'light,dark').split(',');
const widths = (process.env.WIDTHS ?? '1440,360').split(',').map(Number);

await mkdir(out, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
let complaints = 0;
const complain = (text) => {
  complaints += 1;
  console.error(text);
};
try {
  for (const theme of themes) {
    for (const width of widths) {
      const context = await browser.newContext({ viewport: { width, height: width < 600 ? 780 : 900 }, colorScheme: theme });
      const page = await context.newPage();
      page.on('pageerror', (error) => complain(`${page.url()}: ${error.message}`));
      page.on('console', (message) => message.type() === 'error' && complain(`${page.url()}: ${message.text()}`));
      page.on('request', (request) => !request.url().startsWith(base) && !request.url().startsWith('blob:') && complain(`request to ${request.url()}`));
      for (const each of paths) {
        const [, name, path] = /^(?:([\w-]+)=)?(.*)$/.exec(each);
        await page.goto(base + path);
        await page.locator('h1').first().waitFor();
        await page.waitForFunction(() => !document.querySelector('.skeleton'), undefined, { timeout: 15_000 }).catch(() => complain(`${path}: still loading`));
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
        if (wide) complain(`${path} at ${width}: wider than the window`);
        await page.evaluate(axe.source);
        const found = await page.evaluate(() =>
          window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }),
        );
        for (const violation of found.violations) {
          complain(`${path} at ${width}, ${theme}: ${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
        }
        const file = `${name ?? (path.replaceAll(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '') || 'start')}-${width}-${theme}.png`;
        await page.screenshot({ path: join(out, file), fullPage: true });
      }
      await context.close();
    }
  }
} finally {
  await browser.close();
}
if (complaints > 0) process.exit(1);
