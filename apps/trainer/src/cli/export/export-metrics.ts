import { type FileHandle, mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { AgentLightningError, type Run, type Store } from '@agentlightning/core';
import { quantityText, systemClock } from '@agentlightning/core/internal';
import { unfinishedRunStatuses } from '@agentlightning/core/protocol';
import type { MetricPoint } from '@agentlightning/core/store';
import { type MetricSink, metricValues } from '../../metrics-export/metric-sink.ts';
import { configurationEntries, mlflowServer, openMlflowSink } from '../../metrics-export/mlflow-sink.ts';
import { eventRecord, headerRecord } from '../../metrics-export/tensorboard-record.ts';
import { csvSink, openMetricsSink } from '../../metrics-export/text-sinks.ts';
import { openWandbSink } from '../../metrics-export/wandb-sink.ts';
import { writeOutcome } from '../error-text.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { listenToProcess } from '../process/listen-to-process.ts';

/** The flags of `agl export metrics`. */
export interface ExportMetricsFlags {
  readonly to: 'tensorboard' | 'mlflow' | 'wandb' | 'csv' | 'openmetrics';
  readonly out?: string;
  readonly endpoint?: string;
  readonly experiment: string;
  readonly follow?: boolean;
  readonly store: string;
  readonly json?: boolean;
}

/** Polling interval for finished steps of a run, in milliseconds. */
const pollMs = 1000;

/**
 * Writes the metrics of a run.
 *
 * @throws AgentLightningError NOT_FOUND for an unknown run, CONFIG for a wrong address or an
 * output that is used twice, UNREACHABLE without the server
 */
export async function exportMetrics(runId: string, flags: ExportMetricsFlags): Promise<void> {
  if (flags.json === true && isText(flags) && (flags.out ?? '-') === '-') {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `--json and the metrics as ${flags.to} cannot share standard output`,
      remedy: 'Add --out <file>, or remove --json.',
    });
  }
  const store = await openExistingStore(flags.store);
  const stop = listenToProcess({
    close: () => undefined,
    onWarning: (message) => void process.stderr.write(`${message}\n`),
  });
  try {
    const sink = await openSink(await store.getRun(runId), flags);
    const steps = await writeAll(store, { runId, sink, isFollowing: flags.follow === true, signal: stop.signal });
    const place = await sink.close(await store.getRun(runId));
    const text = `Wrote the metrics of ${quantityText(steps, 'step')} of ${runId} to ${place}.`;
    if (flags.json === true) writeOutcome(flags, { record: { run: runId, steps, to: place }, text });
    else process.stderr.write(`${text}\n`);
  } finally {
    stop.release();
    await store.close();
  }
}

function isText({ to }: ExportMetricsFlags): boolean {
  return to === 'csv' || to === 'openmetrics';
}

function openSink(run: Run, { to, out, endpoint, experiment }: ExportMetricsFlags): Promise<MetricSink> | MetricSink {
  switch (to) {
    case 'tensorboard':
      return openTensorBoardSink(out ?? 'runs', run);
    case 'mlflow':
      return openMlflowSink(mlflowServer(process.env, endpoint), experiment, run);
    case 'wandb':
      return openWandbSink(out ?? 'wandb', experiment, run);
    case 'csv':
      return csvSink(out ?? '-');
    case 'openmetrics':
      return openMetricsSink(out ?? '-', run);
  }
}

/** @returns the number of written steps */
async function writeAll(
  store: Store,
  request: {
    readonly runId: string;
    readonly sink: MetricSink;
    readonly isFollowing: boolean;
    readonly signal: AbortSignal;
  },
): Promise<number> {
  const { runId, sink, isFollowing, signal } = request;
  let offset = 0;
  for (;;) {
    // Read before the metrics: all of an ended run are there.
    const isOver = !unfinishedRunStatuses.includes((await store.getRun(runId)).status);
    const { items } = await store.queryMetrics(runId, { offset });
    if (items.length > 0) await sink.write(items);
    offset += items.length;
    if (!isFollowing || isOver || signal.aborted) return offset;
    await systemClock.sleep(pollMs, signal).catch(() => undefined);
  }
}

/** Writes TensorBoard event files into the folder of a run: `<folder>/<run>/events.out.tfevents.…`. */
async function openTensorBoardSink(folder: string, run: Run): Promise<MetricSink> {
  const directory = path.join(folder, run.runId);
  await mkdir(directory, { recursive: true });
  const seconds = Math.floor(run.createTimeMs / 1000);
  // Named by the run, so that another export replaces it: TensorBoard would show both.
  const file = await open(path.join(directory, `events.out.tfevents.${seconds}.agentlightning`), 'w');
  await file.write(headerRecord(run.createTimeMs));
  await writeConfiguration(file, run);
  return {
    write: async (points) => {
      for (const point of points) await writePoint(file, point);
    },
    close: async () => {
      await file.close();
      return directory;
    },
  };
}

async function writePoint(file: FileHandle, point: MetricPoint): Promise<void> {
  const values = metricValues([point]).map(({ name, value }) => ({ tag: name, scalar: value }));
  if (values.length > 0) await file.write(eventRecord({ timeMs: point.timeMs, step: point.step, values }));
}

async function writeConfiguration(file: FileHandle, { config, createTimeMs }: Run): Promise<void> {
  const rows = configurationEntries(config).map(([name, value]) => `| ${name} | ${value.replaceAll('|', '\\|')} |`);
  const text = ['| setting | value |', '|---|---|', ...rows].join('\n');
  await file.write(eventRecord({ timeMs: createTimeMs, step: 0, values: [{ tag: 'configuration', text }] }));
}
