import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { type BenchmarkResult, progress } from '../report.ts';
import type { FillSize } from './fill.ts';

/** Writes the results as a Markdown document. */
export function writeReport(file: string, results: readonly BenchmarkResult[], size: FillSize): void {
  const rows = results.map(
    ({ name, value, unit, target, met }) =>
      `| ${name} | ${Number(value.toPrecision(3))} ${unit} | ${target === null ? '' : `${target} ${unit}`} | ${target === null ? '' : met ? 'yes' : 'no'} |`,
  );
  const processors = cpus();
  const { rollouts, spansPerRollout } = size;
  writeFileSync(
    file,
    `# Pages of the dashboard

Written by the [dashboard benchmark](../../../benchmarks/README.md#dashboard) on ${new Date().toISOString().slice(0, 10)}, with
${processors.length} × ${processors[0]?.model.trim() ?? 'an unknown processor'}, Node ${process.versions.node} and headless Chromium, on a store with ${rollouts.toLocaleString('en')} rollouts and ${(rollouts * spansPerRollout).toLocaleString('en')} spans.

| | value | target | met |
|---|---|---|---|
${rows.join('\n')}
`,
  );
  progress(`wrote ${file}`);
}
