/**
 * `pnpm bench runtime [--rounds 5] [--trl <python>]`: how many tokens a second the embedded runtime and the GPU runtime
 * train and sample, each over its wire, beside plain PyTorch and Transformers; all with the same model, on one
 * thread each. With a Python that has TRL, what its GRPO trainer does a second. All sides take turns, so that what else
 * the machine does meets them alike.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { environment } from '../../apps/gpu-runtime/test/runtime-process.ts';
import { median } from '../middle.ts';
import { type BenchmarkResult, report, result } from '../report.ts';
import { type Contender, grpoContender, runtimeContender, torchContender, trlContender } from './contenders.ts';
import { startEmbedded, startGpu } from './sides.ts';

const { values: flags } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, trl: { type: 'string' } },
});
const rounds = Number(flags.rounds);

async function openContenders(folder: string): Promise<Contender[]> {
  const embedded = await runtimeContender('embedded runtime', await startEmbedded(folder));
  if (!('python' in environment)) {
    console.error(`Without PyTorch: ${environment.missing}`);
    return [embedded];
  }
  const { python } = environment;
  const gpu = await runtimeContender('gpu runtime, on a CPU', await startGpu(python, path.join(folder, 'gpu')));
  const others = [torchContender(python), gpu, embedded];
  if (flags.trl === undefined) return others;
  const grpo = await grpoContender('gpu runtime, on a CPU', await startGpu(python, path.join(folder, 'grpo')));
  return [...others, trlContender(flags.trl, rounds + 1), grpo];
}

/** The medians of what a contender did, by what it was. The first round makes programs and buffers. */
type Medians = ReadonlyMap<string, number>;

async function measure(contenders: readonly Contender[]): Promise<Map<Contender, Medians>> {
  const found = new Map(contenders.map((one) => [one, new Map<string, number[]>()]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const contender of contenders) {
      for (const [what, run] of Object.entries(contender.runs)) {
        const values = found.get(contender)?.get(what) ?? [];
        values.push(await run(round));
        found.get(contender)?.set(what, values);
      }
    }
  }
  const mediansOf = (each: Map<string, number[]>): Medians =>
    new Map([...each].map(([what, values]) => [what, median(values.slice(1))]));
  return new Map([...found].map(([contender, each]) => [contender, mediansOf(each)]));
}

/** A contender's speeds, and how many times those of the first one that does the same they are. */
function rowsOf(contender: Contender, all: ReadonlyMap<Contender, Medians>): BenchmarkResult[] {
  return [...(all.get(contender) ?? [])].flatMap(([what, value]) => {
    const row = result(`${contender.name}: ${what}`, { value, unit: contender.unit }, null);
    const [peer] = [...all].find(([, medians]) => medians.has(what)) ?? [contender];
    const peerValue = all.get(peer)?.get(what) ?? value;
    if (peer === contender) return [row];
    const times = contender.unit === 's' ? peerValue / value : value / peerValue;
    return [row, result(`${contender.name} to ${peer.name}: ${what}`, { value: times, unit: 'times' }, null)];
  });
}

const folder = await mkdtemp(path.join(tmpdir(), 'agl-bench-'));
let contenders: Contender[] = [];
try {
  contenders = await openContenders(folder);
  const all = await measure(contenders);
  report(
    'runtime',
    contenders.flatMap((contender) => rowsOf(contender, all)),
  );
} finally {
  for (const { close } of contenders) await close();
  await rm(folder, { recursive: true, force: true });
}
