import type { Browser, Page } from 'playwright-core';
import { type BenchmarkResult, progress, result } from '../report.ts';
import { median } from '../statistics.ts';
import { longTokens } from './fill.ts';

const rounds = 5;

/** Tokens that the page draws at first; a button adds as many. */
const firstTokens = 4000;

/** The time from the choice of the token view of a call of 10,000 tokens until they are drawn, with the request to the server. */
export async function tokenResults(browser: Browser, url: string): Promise<readonly BenchmarkResult[]> {
  progress('draw tokens');
  const page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
  await page.goto(`${url}/rollouts?mode=test`);
  const address = await page.locator('table.rollouts a[data-row]').first().getAttribute('href');
  const first: number[] = [];
  const whole: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await page.goto(url + address);
    await page.getByText('A long text, please').first().waitFor();
    first.push(
      await drawn(page, "[...document.querySelectorAll('nav.tabs a')].find((a) => a.text === 'Tokens')", firstTokens),
    );
    let sum = first.at(-1) ?? 0;
    for (let shown = 2 * firstTokens; shown < longTokens + firstTokens; shown += firstTokens) {
      const more = "[...document.querySelectorAll('button')].find((b) => b.textContent.startsWith('Show more'))";
      sum += await drawn(page, more, Math.min(shown, longTokens));
    }
    whole.push(sum);
  }
  await page.context().close();
  return [
    result('rollout of 10,000 tokens: first 4,000, median', { value: median(first), unit: 'ms' }, { atMost: 300 }),
    result('rollout of 10,000 tokens: all of them, median', { value: median(whole), unit: 'ms' }, { atMost: 300 }),
  ];
}

/** The time in milliseconds from a click on an element until this number of tokens is drawn. */
async function drawn(page: Page, element: string, tokens: number): Promise<number> {
  const script = `new Promise((resolve) => {
    const start = performance.now();
    const check = () => {
      if (document.querySelectorAll('p.tokens .token').length < ${tokens}) requestAnimationFrame(check);
      else requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
    };
    ${element}.click();
    check();
  })`;
  return Number(await page.evaluate(script));
}
