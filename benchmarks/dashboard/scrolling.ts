import type { Page } from 'playwright-core';

/** The longest task, in milliseconds, while the table is scrolled through 3,000 rows; 0 when none exceeds 50 ms. */
export async function longestTaskWhileScrolling(page: Page): Promise<number> {
  await page.evaluate(`
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
    }).observe({ type: 'longtask' });`);
  await scrollRows(page, 120);
  return Number(await page.evaluate('window.longest'));
}

/** Scrolls the table of rollouts by 25 rows a turn. */
export async function scrollRows(page: Page, turns: number): Promise<void> {
  await page.locator('table.rollouts tbody tr').nth(3).hover();
  for (let turn = 0; turn < turns; turn += 1) {
    await page.mouse.wheel(0, 1000);
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))');
  }
}
