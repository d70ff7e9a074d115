import { type FileHandle, mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import type { Run } from '@agentlightning/core';
import type { MetricPoint } from '@agentlightning/core/store';
import { configurationEntries } from './configuration-entries.ts';
import { type MetricSink, metricValues } from './metric-sink.ts';
import { eventRecord, headerRecord } from './tensorboard-record.ts';

/** Writes TensorBoard event files into the folder of a run: `<folder>/<run>/events.out.tfevents.…`. */
export async function openTensorBoardSink(folder: string, run: Run): Promise<MetricSink> {
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
