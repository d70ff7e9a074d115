import { type BenchmarkResult, progress, result } from '../report.ts';
import { median } from '../statistics.ts';
import type { HttpLoad } from './http-load.ts';

const rounds = 3;

/** The used fields of a search's response. */
interface SearchPage {
  readonly items: readonly unknown[];
  readonly next_cursor: string | null;
}

/** A search over all rollouts of a filled store, and whether all pages are read. */
interface Search {
  readonly query: object;
  readonly isWhole: boolean;
  /** Target in milliseconds; null for none. */
  readonly atMostMs: number | null;
}

const searches: Readonly<Record<string, Search>> = {
  'first page of spans by a frequent name': {
    query: { name: 'chat.completion' },
    isWhole: false,
    atMostMs: 20,
  },
  'first page of spans by a frequent attribute': {
    query: { attributes: { 'gen_ai.request.model': 'small' } },
    isWhole: false,
    atMostMs: 20,
  },
  'all spans of a rare name': { query: { name: 'rare.tool' }, isWhole: true, atMostMs: 20 },
  'all spans that failed, which are rare': { query: { status_in: ['ERROR'] }, isWhole: true, atMostMs: 20 },
  'all spans of a rare attribute': { query: { attributes: { tool: 'rare' } }, isWhole: true, atMostMs: null },
};

/** Measures searches for spans over all rollouts. */
export async function measureSearches(load: HttpLoad, rollouts: number): Promise<readonly BenchmarkResult[]> {
  const results: BenchmarkResult[] = [];
  for (const [name, search] of Object.entries(searches)) {
    progress(`search: ${name}`);
    const timesMs: number[] = [];
    let outcome = { calls: 0, spans: 0 };
    // Slow searches are not repeated.
    while (timesMs.length === 0 || (timesMs.length < rounds && (timesMs[0] ?? 0) < 1000)) {
      const beganMs = performance.now();
      outcome = await run(load, search);
      timesMs.push(performance.now() - beganMs);
    }
    const what = `${name} at ${rollouts} rollouts: ${outcome.spans} spans in ${outcome.calls} calls`;
    const bound = search.atMostMs === null ? null : { atMost: search.atMostMs };
    results.push(result(what, { value: median(timesMs), unit: 'ms' }, bound));
  }
  return results;
}

async function run(load: HttpLoad, { query, isWhole }: Search): Promise<{ calls: number; spans: number }> {
  let cursor: string | null = null;
  let calls = 0;
  let spans = 0;
  do {
    const body = JSON.stringify({ limit: 100, ...query, ...(cursor === null ? {} : { cursor }) });
    const page: SearchPage = await load.json({ method: 'POST', path: '/v1/agl/searches/spans', body });
    calls += 1;
    spans += page.items.length;
    cursor = page.next_cursor;
  } while (isWhole && cursor !== null);
  return { calls, spans };
}
