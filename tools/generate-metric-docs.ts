/**
 * Writes `docs/metrics.md` from the catalogue of metrics of `packages/core`.
 *
 * @module
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { canaryMetrics } from '../packages/core/src/telemetry/canary-metric-catalogue.ts';
import { type OperationalMetric, operationalMetrics } from '../packages/core/src/telemetry/operational-metrics.ts';
import { runMetrics } from '../packages/core/src/telemetry/run-metric-catalogue.ts';
import { metricBounds, metricGroups, type RunMetric } from '../packages/core/src/telemetry/run-metrics.ts';
import { runtimeMetrics } from '../packages/core/src/telemetry/runtime-metric-catalogue.ts';
import { repositoryRoot } from './repository-files.ts';

/** Path of the page from the root of the repository. */
export const metricDocument = 'docs/metrics.md';

/** The text of the page, made from the catalogue. */
export function metricDocumentText(): string {
  return `# Metrics

<!-- Made by \`node tools/generate-metric-docs.ts\` from packages/core/src/telemetry. Do not edit. -->

A name with \`<…>\` is a family: the placeholder stands for a part of the reward, a cause or a reason. With several trained policies, the metrics of
a policy have its name before them: \`writer/policy/entropy\`. Custom algorithms can report others. An empty
cell of the range has no bound.

## Metrics of runs

A run records them for each step; the dashboard, \`agl show\`, \`agl export metrics\` and the event \`stepped\` have them. Those of the policy
and of the value head come from the runtime, as means over the training tokens of all passes of the step, or the largest value where the
name ends in \`_max\`.

${groupTables(Object.values(runMetrics))}

## Metrics of deployments

\`agl serve\` records them with a deployment while a candidate is on trial, once a minute at most.

${groupTables(Object.values(canaryMetrics))}

## Measurements of runtimes

A runtime reports them for each pass and each optimizer step, on the stream \`WatchMetrics\`.

${groupTables(Object.values(runtimeMetrics))}

## Metrics of processes

Prometheus metrics at \`/metrics\` of \`agl server\`, \`agl store\`, \`agl gateway\` and \`agl serve\`, and at the address of \`--metrics\` of \`agl train\` and
\`agl runner\`. All export \`process_…\` and \`nodejs_…\` too. Labels have few values; the only id is that of the current run.

| Metric | Type | Exported by | Meaning |
|---|---|---|---|
${Object.values<OperationalMetric>(operationalMetrics).map(operationalRow).join('\n')}
`;
}

/** A table for each group, in the order of the groups. */
function groupTables(metrics: readonly RunMetric[]): string {
  const groupOf = ({ name }: RunMetric): string => name.split('/')[0] ?? '';
  return Object.entries(metricGroups)
    .flatMap(([group, title]) => {
      const members = metrics.filter((metric) => groupOf(metric) === group);
      const head = `### ${title}\n\n| Metric | Unit | Range | Better | Meaning |\n|---|---|---|---|---|`;
      return members.length === 0 ? [] : [[head, ...members.map(runRow)].join('\n')];
    })
    .join('\n\n');
}

function runRow(metric: RunMetric): string {
  const { name, unit, better = '', title, note } = metric;
  const [low, high] = metricBounds(metric);
  const range = low === null && high === null ? '' : `${low ?? '−∞'} to ${high ?? '∞'}`;
  const meaning = note === undefined ? title : `${title}. ${note}`;
  return `| \`${name}\` | ${unit} | ${range} | ${better} | ${cell(meaning)} |`;
}

function operationalRow({ name, type, of, labels, title }: OperationalMetric): string {
  const labelled = labels.length === 0 ? name : `${name}{${labels.join(',')}}`;
  return `| \`${labelled}\` | ${type} | ${of.join(', ')} | ${cell(title)} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

if (import.meta.main) {
  writeFileSync(join(repositoryRoot, metricDocument), metricDocumentText());
  console.log(`Wrote ${metricDocument}`);
}
