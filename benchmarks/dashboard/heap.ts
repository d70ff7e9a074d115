import type { Browser } from 'playwright-core';
import { type BenchmarkResult, progress, result } from '../report.ts';
import { filledRunId } from './fill.ts';
import { scrollRows } from './scrolling.ts';

/** The heap of a page after use without a reload: pages, filters and scrolling in turns. */
export async function heapResults(
  browser: Browser,
  { url, minutes }: { readonly url: string; readonly minutes: number },
): Promise<readonly BenchmarkResult[]> {
  progress(`use the pages for ${minutes} minutes`);
  const page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
  await page.goto(url);
  const endMs = performance.now() + minutes * 60_000;
  for (let turn = 0; performance.now() < endMs; turn += 1) {
    for (const path of ['/', `/runs/${filledRunId}`, `/runs/${filledRunId}/tasks`, `/rollouts?task=${turn % 100}`]) {
      await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
      await page.waitForLoadState('networkidle');
    }
    await page.locator('table.rollouts tbody tr').nth(5).waitFor();
    await scrollRows(page, 60);
    await page.locator('table.rollouts a[data-row]').first().click();
    await page.getByRole('heading', { level: 1, name: /^ro-/ }).waitFor();
  }
  const heap = Number(await page.evaluate('(gc(), performance.memory.usedJSHeapSize)'));
  await page.context().close();
  return [result(`heap after ${minutes} minutes of use`, { value: heap / 1e6, unit: 'MB' }, { atMost: 150 })];
}
