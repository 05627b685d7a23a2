// A platform on its first day: an operator who sees what there is to do first, people who come through their identity provider, and a
// tenant in which nothing has happened yet. The provider is a real one, in a process of its own.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startEmptyPlatform } from './platform.mjs';
import { operatorPages, pathOf, tenantPages } from './routes.mjs';

let platform;
before(async () => {
  platform = await startEmptyPlatform([{ group: 'first-leads', tenant: 'first', role: 'tenant_admin' }]);
});
after(() => platform?.end());

/** Says that a list is empty: what it is called then, and a sentence about what belongs there or what to do. */
async function saysEmpty(page, route, about, ids) {
  await page.goto(platform.url + pathOf(route, ids));
  const blank = page.locator('main .blank').filter({ hasText: about.empty });
  await blank.first().waitFor().catch((cause) => assert.fail(`${route}: ${cause.message}`));
  const words = await blank.first().locator('p').first().innerText();
  assert.ok(words.trim().split(/\s+/).length >= 4, `${route} says what to do: ${words}`);
}

test('an operator of a new platform reads on every page what belongs there', async () => {
  const window = await platform.windowOf('platform_operator');
  try {
    const page = await window.newPage();
    for (const [route, about] of operatorPages) if (about.empty) await saysEmpty(page, route, about, { kind: 'skus' });
  } finally {
    await window.close();
  }
});

test('somebody comes through the identity provider, finds a project with nothing in it yet, and leaves', async () => {
  const { id: tenantId } = await platform.call('platform_operator', 'POST', '/api/v1/tenants', { slug: 'first', name: 'First' });
  const { id: projectId } = await platform.call('platform_operator', 'POST', `/api/v1/tenants/${tenantId}/projects`, { slug: 'begin', name: 'Begin', gpu_cap: 8 });
  await platform.person('ada', { email: 'ada@first.example', email_verified: true, name: 'Ada', groups: ['first-leads'] });
  const window = await platform.window();
  try {
    const page = await window.newPage();
    // Nobody is signed in, so the page leads to where one signs in, and back.
    await page.goto(`${platform.url}/projects/${projectId}`);
    await page.getByRole('button', { name: 'Sign in with Example ID' }).click();
    await page.getByPlaceholder('Enter any login').fill('ada');
    await page.getByPlaceholder('and password').fill('any will do here');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(`${platform.url}/projects/${projectId}`);
    await page.getByText('Nothing runs').waitFor();
    const cookie = (await window.cookies()).find((each) => each.name === 'gpuaas_session');
    assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict');

    for (const [route, about] of tenantPages) if (about.empty) await saysEmpty(page, route, about, { projectId, tenantId });
    await page.goto(`${platform.url}/settings`);
    await page.getByText('ada@first.example').first().waitFor();

    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: /Sign out/ }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.goto(`${platform.url}/projects/${projectId}`);
    await page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor();
  } finally {
    await window.close();
  }
});

test('somebody whom no rule gives a role reads that they were refused', async () => {
  await platform.person('eve', { email: 'eve@elsewhere.example', email_verified: true, name: 'Eve', groups: ['strangers'] });
  const window = await platform.window();
  try {
    const page = await window.newPage();
    await page.goto(platform.url);
    await page.getByRole('button', { name: 'Sign in with Example ID' }).click();
    await page.getByPlaceholder('Enter any login').fill('eve');
    await page.getByPlaceholder('and password').fill('any will do here');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('sign_in_refused').first().waitFor();
  } finally {
    await window.close();
  }
});
