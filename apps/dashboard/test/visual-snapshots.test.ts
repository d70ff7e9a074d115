import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openStore, type SqlStore } from '@agentlightning/store';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Dashboard, serveDashboard } from '../src/index.ts';
import { type BrowserPages, chromiumPath, startBrowser } from './browser-pages.ts';
import { fillStore, sampleRunId } from './sample-store.ts';

/** The browser starts and draws slowly on a busy machine. */
vi.setConfig({ testTimeout: 90_000, hookTimeout: 120_000 });

/** Largest mean difference of two images, as a share of the range of a channel: fonts differ by machine. */
const tolerance = 0.02;

/** Views by file name, with the element and a text that appears with its data. */
const views: readonly (readonly [name: string, path: string, selector: string, text: string])[] = [
  ['tokens-advantage', '/rollouts/ro-2-1-1?view=tokens&color=advantage', 'p.tokens', 'made more likely'],
  ['tokens-ratio', '/rollouts/ro-2-1-1?view=tokens&color=ratio', 'p.tokens', 'more likely than when sampled'],
  ['heat-map', `/runs/${sampleRunId}/tasks?task=1&step=2`, '.heat-map canvas', 'Task 1, step 2'],
];

describe.skipIf(chromiumPath === null)('visual snapshots', () => {
  let store: SqlStore;
  let browser: BrowserPages;
  let dashboard: Dashboard;
  let page: Page;

  beforeAll(async () => {
    store = await openStore(':memory:');
    await fillStore(store);
    browser = await startBrowser();
    dashboard = await serveDashboard({ store, webFolder: browser.webFolder });
    ({ page } = await browser.open({ viewport: { width: 900, height: 800 }, colorScheme: 'light' }));
  });

  afterAll(async () => {
    await dashboard?.close();
    await browser?.close();
    await store?.close();
  });

  async function screenshot([name, path, selector, text]: (typeof views)[number]): Promise<Buffer> {
    await page.goto(dashboard.url + path);
    // The first call has an advantage for each token, the second one has scored tokens.
    if (name === 'tokens-advantage') await page.getByLabel('Model call').selectOption({ index: 0 });
    await page.getByText(text).first().waitFor();
    return await page.locator(selector).first().screenshot();
  }

  test.each(views)('%s looks as recorded', async (...view) => {
    const drawn = await screenshot(view);
    const file = join(import.meta.dirname, 'snapshots', `${view[0]}.png`);
    // AGL_UPDATE_SNAPSHOTS=1 records the views anew. Look at them before they are committed.
    if (process.env['AGL_UPDATE_SNAPSHOTS'] === '1') await writeFile(file, drawn);
    expect(await difference(page, drawn, await readFile(file))).toBeLessThan(tolerance);
  });

  test('other colours of the same tokens are a difference', async () => {
    const [first, second] = views;
    if (first === undefined || second === undefined) throw new Error('there are no two views');
    const [one, other] = [await screenshot(first), await screenshot(second)];
    expect(await difference(page, one, other)).toBeGreaterThan(tolerance);
  });
});

/**
 * The mean difference of two images on a grid of 96 by 48 cells, from 0 to 1, over the cells that have something else than the
 * background, which is the colour of the first cell.
 */
async function difference(page: Page, one: Buffer, other: Buffer): Promise<number> {
  const urls = [one, other].map((image) => `data:image/png;base64,${image.toString('base64')}`);
  return Number(
    await page.evaluate(`(async () => {
      const cells = await Promise.all(${JSON.stringify(urls)}.map(async (url) => {
        const image = new Image();
        image.src = url;
        await image.decode();
        const canvas = new OffscreenCanvas(96, 48);
        const context = canvas.getContext('2d');
        context.imageSmoothingQuality = 'high';
        context.drawImage(image, 0, 0, 96, 48);
        return context.getImageData(0, 0, 96, 48).data;
      }));
      const [first, second] = cells;
      const distance = (one, at, other, from) => [0, 1, 2].reduce((sum, channel) => sum + Math.abs(one[at + channel] - other[from + channel]), 0);
      let sum = 0, drawn = 0;
      for (let at = 0; at < first.length; at += 4) {
        if (distance(first, at, first, 0) + distance(second, at, first, 0) < 12) continue;
        sum += distance(first, at, second, at);
        drawn += 1;
      }
      return sum / Math.max(1, drawn) / 3 / 255;
    })()`),
  );
}
