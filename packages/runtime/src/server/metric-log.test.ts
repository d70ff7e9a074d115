import { describe, expect, it } from 'vitest';
import { type MetricEntry, MetricLog } from './metric-log.ts';

const metric = (value: number) => ({ modelId: 'model', name: 'train/loss', value, step: 1, timeMs: 0 });

async function take(log: MetricLog, count: number, afterCursor = ''): Promise<readonly MetricEntry[]> {
  const entries: MetricEntry[] = [];
  for await (const entry of log.follow(afterCursor, AbortSignal.timeout(60_000))) {
    entries.push(entry);
    if (entries.length === count) break;
  }
  return entries;
}

const valuesOf = (entries: readonly MetricEntry[]) => entries.map(({ metrics }) => metrics[0]?.value);

describe('measurements', () => {
  it('are streamed from the beginning, then live, and after a cursor without earlier ones', async () => {
    const log = new MetricLog();
    log.add([metric(1)]);
    log.add([metric(2)]);
    const reading = take(log, 3);
    log.add([metric(3)]);
    const seen = await reading;
    expect(valuesOf(seen)).toEqual([1, 2, 3]);
    expect(valuesOf(await take(log, 1, seen[1]?.cursor))).toEqual([3]);
    expect(valuesOf(await take(log, 1, 'another-life:2'))).toEqual([1]);
  });

  it('are bounded, keeping the newest', async () => {
    const log = new MetricLog();
    for (let value = 1; value <= 5_000; value += 1) log.add([metric(value)]);
    const [first, second] = await take(log, 4_096);
    expect(valuesOf([first, second].flatMap((entry) => entry ?? []))).toEqual([905, 906]);
  });

  it('omit values that are not finite', async () => {
    const log = new MetricLog();
    log.add([metric(Number.NaN)]);
    log.add([metric(Number.POSITIVE_INFINITY), metric(7)]);
    const [entry] = await take(log, 1);
    expect(entry?.metrics).toEqual([metric(7)]);
  });

  it('stop when the reader is aborted', async () => {
    const gone = new AbortController();
    const entries = new MetricLog().follow('', gone.signal);
    const next = entries.next();
    gone.abort();
    expect(await next).toMatchObject({ done: true });
  });
});
