import { z } from 'zod';
import type { StoreReader } from './store-reader.ts';
import type { Finding } from './tool-result.ts';

const record = z.record(z.string(), z.unknown());
const runs = z.object({ items: z.array(record), hasMore: z.boolean() });
const run = z.looseObject({ runId: z.string(), config: record });
const metrics = z.object({
  steps: z.array(z.number()),
  totalSteps: z.number(),
  bucketSize: z.number(),
  series: z.array(z.looseObject({ name: z.string() })),
});

/** Maximum number of values of the metrics in a result. */
const maxValues = 3000;

/** Schema of a run's id. */
export const runId: z.ZodString = z.string().min(1).max(200).describe('Id of a run, such as run-1a2b3c4d');

/** `list_runs` */
export async function findRuns(reader: StoreReader, { limit }: { readonly limit: number }): Promise<Finding> {
  const data = await reader.read(runs, '/api/runs', { limit });
  return { data, leftOut: data.hasMore ? 'Older runs are omitted; a higher limit shows them.' : null };
}

/** `get_run` */
export async function findRun(reader: StoreReader, { run: id }: { readonly run: string }): Promise<Finding> {
  return { data: await reader.read(run, runPath(id)) };
}

/** Parameters of `get_metrics`. */
export interface MetricsQuestion {
  readonly run: string;
  readonly names: readonly string[];
  readonly points: number;
}

/** `get_metrics` */
export async function findMetrics(reader: StoreReader, { run: id, names, points }: MetricsQuestion): Promise<Finding> {
  const { series, ...read } = await reader.read(metrics, `${runPath(id)}/metrics`, { points });
  const patterns = names.map((name) => name.split(/\*+/));
  const matching = series.filter(({ name }) => patterns.some((parts) => isMatch(name, parts)));
  const valuesPerSeries = Math.max(1, read.steps.length) * (read.bucketSize === 1 ? 1 : 3);
  const shown = matching.slice(0, Math.max(1, Math.floor(maxValues / valuesPerSeries)));
  const left = matching.length - shown.length;
  return {
    data: { ...read, series: shown.map(rounded), otherNames: namesWithout(series, shown) },
    leftOut: left === 0 ? null : `${left} matching metrics are omitted, see otherNames; request fewer points or names.`,
  };
}

/** `compare_runs` */
export async function compareRuns(
  reader: StoreReader,
  { runs: ids }: { readonly runs: readonly string[] },
): Promise<Finding> {
  const read = await Promise.all(ids.map((id) => reader.read(run, runPath(id))));
  const settings = [...new Set(read.flatMap(({ config }) => Object.keys(config)))].sort();
  const differences = settings
    .map((setting) => ({ setting, values: read.map(({ config }) => config[setting] ?? null) }))
    .filter(({ values }) => new Set(values.map((value) => JSON.stringify(value))).size > 1);
  return { data: { runs: read.map(({ config: _, ...rest }) => rest), configurationDifferences: differences } };
}

function runPath(id: string): string {
  return `/api/runs/${encodeURIComponent(id)}`;
}

/** Whether a name is the parts of a pattern, with anything between them. In linear time, unlike a regular expression. */
export function isMatch(name: string, [first = '', ...rest]: readonly string[]): boolean {
  const last = rest.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let position = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, position);
    if (found < 0) return false;
    position = found + part.length;
  }
  return name.endsWith(last) && name.length - last.length >= position;
}

function rounded(series: Readonly<Record<string, unknown>>): unknown {
  return JSON.parse(
    JSON.stringify(series, (_, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(5)) : value)),
  );
}

function namesWithout(
  all: readonly { readonly name: string }[],
  shown: readonly { readonly name: string }[],
): readonly string[] {
  const known = new Set(shown.map(({ name }) => name));
  return all.map(({ name }) => name).filter((name) => !known.has(name));
}
