/**
 * The embedded runtime as a process: `main.js --key-file run.key --dir .agl/checkpoints`. Its first line of output is
 * `{"type":"ready","address":…,"inference":…}`. It ends when its standard input ends, so that it never
 * outlives the process that started it.
 *
 * @module
 */
import { AgentLightningError } from '@agentlightning/core';
import { readProcessFlags } from './service/process-flags.ts';
import { type CpuRuntime, startCpuRuntime } from './service/start-cpu-runtime.ts';

let isClosing = false;

function close(runtime: CpuRuntime): void {
  if (isClosing) return;
  isClosing = true;
  runtime.close().then(() => process.exit(0), fail);
}

/** Prints errors in one line: the parent process shows it to its user. */
function fail(error: unknown): void {
  const text = AgentLightningError.isInstance(error) ? `${error.message}. ${error.remedy}` : String(error);
  process.stderr.write(`${text}\n`, () => process.exit(1));
}

try {
  const runtime = await startCpuRuntime(readProcessFlags(process.argv.slice(2)));
  const end = (): void => close(runtime);
  process.stdin.resume().once('end', end).once('close', end).once('error', end);
  process.once('SIGINT', end).once('SIGTERM', end);
  const { address, inferenceUrl: inference } = runtime;
  process.stdout.write(`${JSON.stringify({ type: 'ready', address, inference })}\n`);
} catch (error) {
  fail(error);
}
