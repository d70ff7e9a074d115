/**
 * The embedded runtime as a process: `main.js --key-file run.key --dir .agl/checkpoints`. Its first line of output is
 * `{"type":"ready","address":…,"inference":…}`. It ends when its standard input ends, so that it never
 * outlives the process that started it.
 *
 * @module
 */
import { runRuntimeProcess } from '@agentlightning/runtime/internal/serving';
import { readProcessFlags } from './service/process-flags.ts';
import { startCpuRuntime } from './service/start-cpu-runtime.ts';

await runRuntimeProcess((args) => startCpuRuntime(readProcessFlags(args)));
