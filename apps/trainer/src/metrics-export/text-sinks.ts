import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Run } from '@agentlightning/core';
import type { MetricPoint } from '@agentlightning/core/store';
import { type MetricSink, metricValues } from './metric-sink.ts';

/** Writes one line per step with a column per metric. */
export function csvSink(file: string): MetricSink {
  return textSink(file, (points) => {
    const names = [...new Set(points.flatMap(({ values }) => Object.keys(values)))].sort();
    const rows = points.map(({ step, timeMs, values }) =>
      [step, new Date(timeMs).toISOString(), ...names.map((name) => values[name] ?? '')].join(','),
    );
    return [['step', 'time', ...names.map(csvText)].join(','), ...rows, ''].join('\n');
  });
}

/** Writes OpenMetrics text with times, which `promtool tsdb create-blocks-from openmetrics` reads. */
export function openMetricsSink(file: string, { runId }: Run): MetricSink {
  return textSink(file, (points) => {
    const label = (text: string): string => JSON.stringify(text);
    const samples = [...metricValues(points)]
      .sort((one, other) => one.name.localeCompare(other.name) || one.timeMs - other.timeMs)
      .map(
        ({ name, value, timeMs }) =>
          `agl_run_metric{run=${label(runId)},name=${label(name)}} ${value} ${timeMs / 1000}`,
      );
    return [
      '# HELP agl_run_metric Metrics of the steps of a run',
      '# TYPE agl_run_metric gauge',
      ...samples,
      '# EOF',
      '',
    ].join('\n');
  });
}

/** Writes all steps at the end. */
function textSink(file: string, text: (points: readonly MetricPoint[]) => string): MetricSink {
  const points: MetricPoint[] = [];
  return {
    write: async (more) => void points.push(...more),
    close: async () => {
      if (file === '-') process.stdout.write(text(points));
      else await writeFile(path.resolve(file), text(points));
      return file === '-' ? 'the standard output' : path.resolve(file);
    },
  };
}

function csvText(text: string): string {
  // A spreadsheet would run it as a formula.
  const safe = /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
