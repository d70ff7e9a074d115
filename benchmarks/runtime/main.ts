/**
 * `pnpm bench runtime [--rounds 5] [--trl <python>]`: training and sampling throughput of the embedded runtime and the GPU
 * runtime, in tokens per second, beside plain PyTorch and Transformers; all with the same model, on one thread each. With a
 * Python that has TRL, also the duration of a step of its GRPO trainer.
 *
 * @module
 */
import path from 'node:path';
import { environment } from '../../apps/gpu-runtime/test/runtime-process.ts';
import { parseFlags } from '../flags.ts';
import { type BenchmarkResult, report, result } from '../report.ts';
import { measureInTurns } from '../rounds.ts';
import { median } from '../statistics.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import {
  type Contender,
  grpoContender,
  runtimeContender,
  startEmbedded,
  startGpu,
  torchContender,
  trlContender,
} from './contenders.ts';

const { rounds, trl } = parseFlags({ rounds: 5, trl: null });
/** The first round compiles programs and allocates buffers. */
const warmUps = 1;

async function openContenders(folder: string): Promise<Contender[]> {
  const embedded = await runtimeContender('embedded runtime', await startEmbedded(folder));
  if (!('python' in environment)) {
    console.error(`Without PyTorch: ${environment.missing}`);
    return [embedded];
  }
  const { python } = environment;
  const gpu = await runtimeContender('gpu runtime, on a CPU', await startGpu(python, path.join(folder, 'gpu')));
  const others = [torchContender(python), gpu, embedded];
  if (trl === null) return others;
  const grpo = await grpoContender('gpu runtime, on a CPU', await startGpu(python, path.join(folder, 'grpo')));
  return [...others, trlContender(trl, rounds + warmUps), grpo];
}

/** The medians of a contender by measurement. */
type Medians = ReadonlyMap<string, number>;

async function measure(contenders: readonly Contender[]): Promise<ReadonlyMap<Contender, Medians>> {
  const samples = await measureInTurns(contenders, { rounds, warmUps }, async ({ runs }, round) => {
    const values: Record<string, number> = {};
    for (const [what, run] of Object.entries(runs)) values[what] = await run(round);
    return values;
  });
  const mediansOf = ({ runs }: Contender, values: readonly Readonly<Record<string, number>>[]): Medians =>
    new Map(Object.keys(runs).map((what) => [what, median(values.map((each) => each[what] ?? Number.NaN))]));
  return new Map([...samples].map(([contender, values]) => [contender, mediansOf(contender, values)]));
}

/** A contender's figures, and their ratios to the first contender with the same measurement. */
function resultsOf(contender: Contender, all: ReadonlyMap<Contender, Medians>): BenchmarkResult[] {
  return [...(all.get(contender) ?? [])].flatMap(([what, value]) => {
    const row = result(`${contender.name}: ${what}`, { value, unit: contender.unit }, null);
    const [peer] = [...all].find(([, medians]) => medians.has(what)) ?? [contender];
    const peerValue = all.get(peer)?.get(what) ?? value;
    if (peer === contender) return [row];
    const times = contender.unit === 's' ? peerValue / value : value / peerValue;
    return [row, result(`${contender.name} to ${peer.name}: ${what}`, { value: times, unit: 'times' }, null)];
  });
}

using folder = temporaryFolder();
let contenders: Contender[] = [];
try {
  contenders = await openContenders(folder.path);
  const all = await measure(contenders);
  report(
    'runtime',
    contenders.flatMap((contender) => resultsOf(contender, all)),
  );
} finally {
  for (const { close } of contenders) await close();
}
