/**
 * The embedded runtime as a process: `main.js --port 0 --dir .agl/checkpoints`. Its first line of output
 * is `{"event":"ready","address":…,"inference":…}`. It ends when its standard input ends, so that it never
 * outlives the process that started it.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { startCpuRuntime } from './service/start-cpu-runtime.ts';

const { values: flags } = parseArgs({
  options: { port: { type: 'string', default: '0' }, dir: { type: 'string', default: '.agl/checkpoints' } },
});

const runtime = await startCpuRuntime({ checkpointDir: flags.dir, port: Number(flags.port) });
const { address, inferenceUrl: inference } = runtime;
process.stdout.write(`${JSON.stringify({ event: 'ready', address, inference })}\n`);

let isClosing = false;
const close = (): void => {
  if (isClosing) return;
  isClosing = true;
  runtime.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
};
process.stdin.resume().once('end', close).once('close', close);
process.once('SIGINT', close).once('SIGTERM', close);
