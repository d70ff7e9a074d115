import { type FileHandle, mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import type { JsonValue, Run } from '@agentlightning/core';
import type { MetricPoint } from '@agentlightning/core/store';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type MetricSink, metricValues } from './metric-sink.ts';
import { WandbLog } from './wandb-log.ts';

/**
 * Writes an offline run of Weights & Biases, as its SDK does without a network: `<folder>/offline-run-<time>-<run>/run-<run>.wandb`.
 * `wandb sync <folder>/offline-run-…` uploads it. The records are those of `wandb_internal.proto`.
 *
 * @param project - the project that the run is uploaded to
 */
export async function openWandbSink(folder: string, project: string, run: Run): Promise<MetricSink> {
  const time = new Date(run.createTimeMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '_');
  const directory = path.join(folder, `offline-run-${time}-${run.runId}`);
  await mkdir(directory, { recursive: true });
  const file = await open(path.join(directory, `run-${run.runId}.wandb`), 'w');
  const records = new RecordFile(file);
  await records.write(fields.header, new BinaryWriter());
  await records.write(fields.run, runRecord(run, project));
  return {
    write: async (points) => {
      for (const point of points) await records.write(fields.history, historyRecord(point, run.createTimeMs));
    },
    close: async ({ status, updateTimeMs }) => {
      const exit = new BinaryWriter().tag(1, WireType.Varint).int32(status === 'failed' ? 1 : 0);
      exit.tag(2, WireType.Varint).int32(Math.round((updateTimeMs - run.createTimeMs) / 1000));
      await records.write(fields.exit, exit);
      await file.close();
      return directory;
    },
  };
}

/** The field of each kind of `Record`. */
const fields = { history: 2, run: 17, exit: 18, header: 21 } as const;

/** The records of a run, numbered. */
class RecordFile {
  readonly #file: FileHandle;
  readonly #log: WandbLog = new WandbLog();
  #count = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async write(field: number, record: BinaryWriter): Promise<void> {
    const isFirst = this.#count === 0;
    this.#count += 1;
    const writer = new BinaryWriter().tag(1, WireType.Varint).int64(this.#count);
    const bytes = writer.tag(field, WireType.LengthDelimited).bytes(record.finish()).finish();
    if (isFirst) await this.#file.write(this.#log.header());
    await this.#file.write(this.#log.frame(bytes));
  }
}

function runRecord({ runId, name, config, createTimeMs }: Run, project: string): BinaryWriter {
  const configuration = new BinaryWriter();
  for (const [key, value] of Object.entries(config)) {
    configuration.tag(1, WireType.LengthDelimited).bytes(itemOf(key, value));
  }
  const start = new BinaryWriter().tag(1, WireType.Varint).int64(Math.floor(createTimeMs / 1000));
  return new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string(runId)
    .tag(3, WireType.LengthDelimited)
    .string(project)
    .tag(4, WireType.LengthDelimited)
    .bytes(configuration.finish())
    .tag(8, WireType.LengthDelimited)
    .string(name)
    .tag(17, WireType.LengthDelimited)
    .bytes(start.finish());
}

function historyRecord(point: MetricPoint, startMs: number): BinaryWriter {
  const writer = new BinaryWriter();
  const values = metricValues([point]).map(({ name, value }): [string, number] => [name, value]);
  const own: readonly [string, number][] = [
    ['_step', point.step],
    ['_timestamp', point.timeMs / 1000],
    ['_runtime', (point.timeMs - startMs) / 1000],
  ];
  for (const [key, value] of [...values, ...own]) {
    writer.tag(1, WireType.LengthDelimited).bytes(itemOf(key, value));
  }
  const step = new BinaryWriter().tag(1, WireType.Varint).int64(point.step).finish();
  return writer.tag(2, WireType.LengthDelimited).bytes(step);
}

/** A `ConfigItem` or `HistoryItem`. */
function itemOf(key: string, value: JsonValue): Uint8Array {
  return new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string(key)
    .tag(16, WireType.LengthDelimited)
    .string(JSON.stringify(value))
    .finish();
}
